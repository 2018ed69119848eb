import csv
import dataclasses
import json
import re

import pytest

from pairmend.datasets.catalogue import CatalogueEntry, catalogue, find_entry

NOT_FOUND = {
    "azotobacter", "caenorhabditis", "drosophila", "geobacter", "pyrococcus", "saccharomyces",
}  # fmt: skip
ENTRIES = [pytest.param(entry, id=name) for name, entry in catalogue().items()]


def test_every_set_of_the_study_occurs_once():
    numbers = [number for entry in catalogue().values() for number in entry.paper_numbers]
    assert sorted(numbers) == list(range(1, 30))
    assert {n for n, entry in catalogue().items() if entry.status == "not found"} == NOT_FOUND


def test_cannot_be_changed():
    with pytest.raises(TypeError):
        catalogue()["yeast"] = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        catalogue()["yeast"].rows = 1


@pytest.mark.parametrize("entry", ENTRIES)
def test_facts_are_complete(entry: CatalogueEntry):
    assert entry.title
    assert re.search(r"\((19|20)\d\d\)", entry.citation), "a citation has a year"
    assert min(entry.rows, entry.features, entry.labels) > 0
    assert (entry.status == "files") == bool(entry.files)
    assert (entry.format == "multitarget") == (entry.targets > 0)
    if entry.status == "files":
        assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", entry.repository)
        assert re.fullmatch(r"[0-9a-f]{40}", entry.commit)
        assert entry.licence
    for file in entry.files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.bytes > 0
        assert file.path.endswith(file.name)


@pytest.mark.parametrize("entry", ENTRIES)
def test_mulan_files_end_with_the_xml(entry: CatalogueEntry):
    if entry.format == "mulan":  # `load` reads the labels from the last file
        kinds = [".xml" in file.name for file in entry.files]
        assert kinds == [False] * (len(kinds) - 1) + [True]


@pytest.mark.parametrize(("part", "whole"), [("imdb1", "imdb"), ("tmc2007_0", "tmc2007-500")])
def test_a_subset_has_the_files_of_the_whole(part, whole):
    part, whole = catalogue()[part], catalogue()[whole]
    assert part.files == whole.files
    assert part.folder == whole.folder == whole.name
    assert part.features == whole.features
    assert part.rows < whole.rows
    assert part.seed is not None


def test_subsets_of_a_set_differ():
    assert catalogue()["imdb0"].seed != catalogue()["imdb1"].seed
    assert catalogue()["tmc2007_0"].seed != catalogue()["tmc2007_1"].seed


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("yeast", "yeast"),
        ("YEAST", "yeast"),
        ("IMDB0", "imdb0"),
        ("Tmc2007_0", "tmc2007_0"),
        ("tmc2007-0", "tmc2007_0"),
        ("tmc2007", "tmc2007-500"),
        ("SimpleHC", "simplehc"),
        ("Water-quality", "water-quality"),
        ("MimlImg", "mimlimg"),
        ("solar flare", "flare2"),
    ],
)
def test_names_in_any_case(name, found):
    assert find_entry(name).name == found


def test_plain_names_are_unique():
    names = [name for entry in catalogue().values() for name in (entry.name, *entry.aliases)]
    plain = [re.sub(r"\W|_", "", name.casefold()) for name in names]
    assert len(set(plain)) == len(plain)


def test_unknown_names():
    with pytest.raises(ValueError, match=r"'yeats'; did you mean 'yeast' or 'arts'\?"):
        find_entry("yeats")
    with pytest.raises(ValueError, match=r"did you mean 'flare2' or 'flare1'\?"):
        find_entry("flare")
    with pytest.raises(
        ValueError, match=r"'!'; expected one of arts, azotobacter, .*, tmc2007-500"
    ):
        find_entry("!")


def test_agrees_with_the_collected_facts(shared):
    facts = json.loads((shared / "data/catalogue.json").read_text())
    assert len(facts) == 20
    for fact in facts:
        entry = catalogue()[fact["name"]]
        assert (entry.repository, entry.commit) == (fact["repository"], fact["commit"])
        assert (entry.rows, entry.labels) == (fact["rows"], fact["labels_count"])
        assert entry.cardinality == fact["cardinality"]
        assert [dataclasses.astuple(file) for file in entry.files] == [
            (file["file"], file["sha256"], file["bytes"], file["path"]) for file in fact["files"]
        ]


def test_agrees_with_the_published_table(shared):
    with (shared / "paper/published_datasets.csv").open(newline="") as file:
        published = list(csv.DictReader(file))
    for row in published:
        entry = find_entry(row["name"])
        assert entry.paper_numbers == (int(row["set"]),)
        assert (entry.rows, entry.labels) == (int(row["N"]), int(row["L"]))
        # The file of arts has other features; the identifier of genbase is none.
        missing = {"arts": 1233, "genbase": 1}.get(entry.name, 0)
        assert entry.features + entry.labels == int(row["d"]) - missing
        if entry.cardinality is not None:
            assert entry.cardinality == pytest.approx(float(row["LC"]), abs=6e-4)
