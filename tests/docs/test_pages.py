"""The pages and examples of the site, without building it."""

import importlib.util
import re
from importlib import import_module
from pathlib import Path

import pytest

import pairmend

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GALLERY = ROOT / "examples" / "gallery"
EXAMPLES = sorted(GALLERY.glob("*/plot_*.py"))
# What sphinx-gallery and the extensions write is not in a fresh checkout.
WRITTEN = ("auto_examples/", "generated/")


def load(path):
    """Import a module of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GROUPS = load(DOCS / "api_groups.py").GROUPS


def names_in_toctrees():
    """Return the pages in all toctrees of docs/*.rst."""
    found = set()
    for page in DOCS.glob("*.rst"):
        for block in re.findall(r"\.\. toctree::\n((?:   .*\n|\n)+)", page.read_text("utf-8")):
            lines = [line.strip() for line in block.splitlines()]
            entries = [line for line in lines if line and not line.startswith(":")]
            found.update(re.sub(r".*<(.*)>", r"\1", entry) for entry in entries)
    return found


def test_every_page_is_in_a_toctree():
    pages = {page.stem for page in [*DOCS.glob("*.md"), *DOCS.glob("*.rst")]} - {"index"}
    listed = {name for name in names_in_toctrees() if not name.startswith(WRITTEN)}
    assert listed == pages


@pytest.mark.parametrize("module", ["pairmend", *pairmend._SUBMODULES])
def test_the_api_reference_has_every_public_name_once(module):
    public = import_module(f"pairmend.{module}".replace("pairmend.pairmend", "pairmend")).__all__
    listed = [name for names in GROUPS[module].values() for name in names]
    assert sorted(listed) == sorted(public)
    assert set(GROUPS) == {"pairmend", *pairmend._SUBMODULES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_needs_neither_network_nor_other_files(path):
    text = path.read_text("utf-8")
    assert not re.search(r"\bfetch|http|download|shared|\.\./|open\(|read_csv\(", text)


@pytest.mark.parametrize("folder", sorted({path.parent for path in EXAMPLES}), ids=lambda p: p.name)
def test_a_section_of_the_gallery_has_a_title_and_a_place(folder):
    assert (folder / "GALLERY_HEADER.rst").is_file()
    assert f'"{folder.name}"' in (DOCS / "conf.py").read_text("utf-8")


def test_the_ranks_of_the_readme_are_those_of_the_results():
    text = (ROOT / "README.md").read_text("utf-8").partition("## Results")[2]
    ranks = re.findall(r"^\|.*\d\.\d.*$", text, re.MULTILINE)
    assert len(ranks) >= 5
    assert set(ranks) <= set((DOCS / "results.md").read_text("utf-8").splitlines())


def links(path):
    """Return the files that a page links to, and the anchors in them."""
    found = re.findall(r"(?<=\]\()(?![a-z]+:)([^)#\s]*)#?([^)\s]*)(?=\))", path.read_text("utf-8"))
    return [(path.parent / name if name else path, anchor) for name, anchor in found]


def anchors(path):
    """Return the anchors of the headings of a page, as code hosts make them."""
    titles = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *DOCS.glob("*.md")], ids=lambda p: p.name)
def test_links_of_a_page_lead_somewhere(path):
    for target, anchor in links(path):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), f"{target}#{anchor}"
