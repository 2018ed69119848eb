"""pairmend fit, predict and evaluate, from file to file."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, hamming_loss, precision_score, recall_score

import odd_classifiers
from pairmend import PairwiseClassifier
from pairmend.datasets import load_file, make_shapes, save_file
from pairmend.persistence import load_model, save_model
from public_classifiers import CLASSIFIERS, ONE_DIMENSIONAL

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")

N_ROWS = 60
LABELS = ["sea", "sun", "sand"]
FIT = ("fit", "photos.csv", "--ignore", "id", "--model", "photos.model", "--labels")
QUICK = ("--method", "BinaryRelevance", "--quiet")


# fit


def test_fit_saves_features_categories_and_labels(run, photos):
    ran = run(*FIT, "3")
    assert (ran.status, ran.err) == (0, "")
    assert "wrote photos.model: MendedClassifier, 60 rows, 2 features, 3 labels" in ran.out
    saved = load_model("photos.model", sha256=ran.out.split("SHA-256: ")[1].strip())
    assert (saved.feature_names, saved.kinds) == (("size", "hue"), ("number", "category"))
    assert saved.label_names == tuple(LABELS)
    assert sorted(os.listdir()) == ["new.csv", "photos.csv", "photos.model"]


def test_fit_reports_how_columns_are_read(run, photos):
    columns = photos.table(0)
    columns |= {
        "when": [f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}" for n in range(N_ROWS)],
        "due": [f"{n % 2 + 1}.12.2024" for n in range(N_ROWS)],
        "title": [f"{'waves' if n % 2 else 'streets'} and water number {n}" for n in range(N_ROWS)],
        "nothing": [""] * N_ROWS,
    }
    photos.write("photos.csv", columns)
    ran = run("fit", "photos.csv", "--labels", *LABELS, "--model", "m.model", "--json", "fit.json",
              "--method", "BinaryRelevance")  # fmt: skip
    found = json.loads(Path("fit.json").read_text())
    kinds = {"size": "number", "hue": "category", "when": "date", "due": "category",
             "title": "text", "nothing": "empty"}  # fmt: skip
    found_kinds = {each["name"]: each["kind"] for each in found["columns"]}
    assert kinds.items() <= found_kinds.items()
    assert found["columns"][2]["n_missing"] == sum(not hue for hue in columns["hue"])
    assert "nothing" in ran.out
    assert "due: its dates, such as '1.12.2024', are strings" in ran.out
    # Columns that were left out are not needed to predict, and not in the way.
    assert "nothing" not in load_model("m.model").feature_names
    for name in ("photos.csv", "fewer.csv"):
        photos.write("fewer.csv", {name: columns[name] for name in list(columns)[:-1]})
        assert run("predict", "m.model", name, "--out", "p.csv").status == 0


def test_wide_tables_are_reported_in_part(run, photos):
    columns = {f"f{n}": [(row * n) % 11 for row in range(30)] for n in range(60)}
    columns |= {"hue": ["red", "blue"] * 15, "sea": [0, 1] * 15, "sun": [0, 0, 1] * 10}
    photos.write("wide.csv", columns)
    out = run("fit", "wide.csv", "--labels", "2", "--model", "m.model", *QUICK[:2]).out
    assert ("1 of 61 columns" in out, "hue" in out, "f17" in out) == (True, True, False)


BASES = {
    "ThresholdedClassifier": "BinaryRelevance",
    "MendedClassifier": "auto",
    "ClassifierChainEnsemble": "sklearn.tree.DecisionTreeClassifier",
}


@pytest.mark.parametrize("method", sorted(CLASSIFIERS.keys() - set(ONE_DIMENSIONAL)))
def test_every_method_takes_every_kind_of_column(run, photos, method):
    columns = photos.table(0)
    columns["title"] = [f"{'waves' if n % 2 else 'cars'} and photo {n % 9}" for n in range(N_ROWS)]
    photos.write("photos.csv", columns)
    options = ["--method", method, *(["--estimator", BASES[method]] if method in BASES else [])]
    words = ("fit", "photos.csv", "--labels", "sea,sun", "sand", "--model", "photos.model")
    ran = run(*words, *options)
    assert ran.status == 0, ran.err
    assert run("predict", "photos.model", "photos.csv", "--out", "p.csv", "--proba").status == 0
    assert pd.read_csv("p.csv").shape == (N_ROWS, 3)


@pytest.mark.parametrize("options", [
    ["--recall", "0.8"], ["--precision", "0.5"], ["--threshold", "0.2"],
    ["--threshold", "CardinalityThreshold"],
])  # fmt: skip
def test_thresholds_and_guarantees(run, photos, options):
    photos.write("photos.csv", {k: v * 4 for k, v in photos.table(0).items()})
    assert run(*FIT, "3", *QUICK, *options).status == 0
    threshold = load_model("photos.model").estimator.threshold
    assert str(getattr(threshold, "target", threshold)) in (options[1], "CardinalityThreshold()")
    assert run("predict", "photos.model", "new.csv", "--out", "p.csv").status == 0
    words = (*FIT, "3", *QUICK, "--recall", "0.9", *options[:1], "0.5", "--threshold", "0.5")
    assert "are different thresholds" in run(*words).err


def test_metric_seed_and_categorical_columns_can_be_chosen(run, photos):
    photos.write("photos.csv", {**photos.table(0), "size": [n % 3 for n in range(N_ROWS)]})
    words = (*FIT, "3", "--criterion", "zero_one", "--categorical", "size", "--quiet")
    assert run(*words).status == 0
    assert load_model("photos.model").estimator.criterion == "zero_one"
    assert load_model("photos.model").kinds[0] == "category"
    scores = []
    for seed in ("1", "1", "2"):
        words = (*FIT, "3", "--estimator", "RandomSubspaceNB", "--method", "PairwiseClassifier")
        assert run(*words, "--seed", seed).status == 0
        assert run("predict", "photos.model", "new.csv", "--proba", "--out", "p.csv").status == 0
        scores.append(Path("p.csv").read_text())
    assert scores[0] == scores[1] != scores[2]


def test_arff_needs_no_labels(run, photos):
    data = make_shapes(40, n_labels=3, n_relevant=4, n_irrelevant=1, n_redundant=0,
                           random_state=0)  # fmt: skip
    save_file(data, "meka.arff")
    save_file(data, "mulan.arff", xml="mulan.xml")
    save_file(data, "apart.arff", xml="names.xml")
    for file, *labels in (["meka.arff"], ["mulan.arff"], ["apart.arff", "--labels", "names.xml"]):
        ran = run("fit", file, "--model", "a.model", *QUICK, *labels, "--json", "-")
        assert json.loads(ran.out)
        assert load_model("a.model").label_names == data.label_names
    assert run("evaluate", "a.model", "meka.arff", "--json", "a.json").status == 0


# predict


def test_predictions_do_not_depend_on_further_columns_or_the_format(run, photos, model):
    ran = run("predict", model, "new.csv", "--out", "all.csv")
    assert ran == (0, "wrote all.csv: 60 rows, 2 features\n", "")
    expected = pd.read_csv("all.csv")
    assert list(expected) == LABELS
    saved = load_model(model)
    rows = pd.read_csv("new.csv")[["size", "hue"]]
    np.testing.assert_array_equal(expected, saved.predict(rows))
    fewer = {name: photos.table(1)[name] for name in ("size", "id", "hue")}
    photos.write("fewer.csv", fewer)
    assert run("predict", model, "fewer.csv", "--out", "p.csv.gz", "--keep", "id").status == 0
    found = pd.read_csv("p.csv.gz", dtype={"id": str})
    assert found.pop("id").tolist() == fewer["id"]
    pd.testing.assert_frame_equal(found, expected)
    save_file(load_file("new.csv", 3), "new.arff")
    assert run("predict", model, "new.arff", "--out", "arff.csv").status == 0
    pd.testing.assert_frame_equal(pd.read_csv("arff.csv"), expected)
    assert run("predict", model, "new.csv", "--proba", "--out", "scores.csv").status == 0
    np.testing.assert_allclose(pd.read_csv("scores.csv"), saved.predict_proba(rows), rtol=1e-12)
    pytest.importorskip("pyarrow", reason="needs pip install 'pairmend[parquet]'")
    rows.assign(id=fewer["id"]).to_parquet("new.parquet")
    assert run("predict", model, "new.parquet", "--out", "p.csv", "--keep", "id").status == 0
    found = pd.read_csv("p.csv", dtype={"id": str})
    assert found.pop("id").tolist() == fewer["id"]
    pd.testing.assert_frame_equal(found, expected)


def test_standard_output(run, photos, model):
    words = ("predict", model, "photos.csv", "--out", "-", "--keep", "id")
    ran = run(*words)
    assert ran.out.splitlines()[0] == "id,sea,sun,sand"
    assert len(ran.out.splitlines()) == N_ROWS + 1
    # and through a pipe
    command = [sys.executable, "-m", "pairmend", *words]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == ran.out.splitlines()


def tagged(photos, seed, separator, name="genres"):
    """Return a table with a column of tags in place of label columns."""
    columns = photos.table(seed)
    Y = zip(columns.pop("sea"), columns.pop("sun"), columns.pop("sand"), strict=True)
    cells = [separator.join(np.array(LABELS)[np.array(row) > 0]) for row in Y]
    return {"size": columns["size"], "hue": columns["hue"], name: cells}


def test_tags_from_file_to_predictions(run, photos, model):
    photos.write("tags.csv", tagged(photos, 0, "|"))
    columns = {name: [*cells, ""] for name, cells in tagged(photos, 1, "|").items()}
    columns["genres"][-1] = "fog"
    photos.write("more.csv", columns)
    words = ("--tags", "genres", "--separator", "|", "--model", "m.model", *QUICK)
    assert run("fit", "tags.csv", *words).status == 0
    assert load_model("m.model").label_names == ("sand", "sea", "sun")
    words = ("evaluate", "m.model", "more.csv", "--separator", "|", "--json", "e.json")
    assert "fog" in run(*words).err
    labels = {each["label"]: each for each in json.loads(Path("e.json").read_text())["labels"]}
    assert labels["sun"]["rows"] == sum(photos.table(1)["sun"])
    # The output has names of tags.
    assert run("predict", "m.model", "more.csv", "--out", "p.csv").status == 0
    found = pd.read_csv("p.csv", keep_default_na=False)
    expected = load_model("m.model").predict(pd.read_csv("more.csv")[["size", "hue"]])
    assert list(found) == ["genres"]
    assert ["sun" in cell.split("|") for cell in found["genres"]] == (expected[:, 2] == 1).tolist()
    # A column of tags with another name, and another separator.
    photos.write("renamed.csv", tagged(photos, 1, ";", name="kinds"))
    assert run("evaluate", "m.model", "renamed.csv").status == 2
    words = ("renamed.csv", "--tags", "kinds", "--separator", ";")
    assert run("evaluate", "m.model", *words).status == 0
    # A model of label columns.
    by_tags, by_columns = (
        json.loads(run("evaluate", model, *file, "--json", "-").out)["losses"]
        for file in (words, ["new.csv"])
    )
    assert by_tags == by_columns


# evaluate


def test_evaluate_a_model(run, photos, model):
    ran = run("evaluate", model, "new.csv", "--json", "e.json")
    found = json.loads(Path("e.json").read_text())
    assert run("predict", model, "new.csv", "--out", "p.csv").status == 0
    truth = np.column_stack([photos.table(1)[name] for name in LABELS])
    predicted = pd.read_csv("p.csv").to_numpy()
    assert found["losses"]["photos.model"]["hamming"] == [hamming_loss(truth, predicted)]
    assert f"{hamming_loss(truth, predicted):.3f}" in ran.out
    for place, label in enumerate(found["labels"]):
        Y = truth[:, place], predicted[:, place]
        assert (label["rows"], label["predicted"]) == (Y[0].sum(), Y[1].sum())
        for score in (precision_score, recall_score, f1_score):
            assert label[score.__name__.partition("_")[0]] == pytest.approx(score(*Y))


def test_evaluate_a_method_by_cross_validation_beside_baselines(run, photos):
    words = ("evaluate", "photos.csv", "--labels", "3", "--ignore", "id", "--folds", "3")
    ran = run(*words, "--method", "PairwiseClassifier", "--json", "cv.json")
    assert (ran.status, ran.err) == (0, "")
    losses = json.loads(Path("cv.json").read_text())["losses"]
    assert list(losses) == ["PairwiseClassifier", "BinaryRelevance", "most frequent"]
    means = {name: np.mean(each["hamming"]) for name, each in losses.items()}
    assert len(losses["PairwiseClassifier"]["hamming"]) == 3
    assert means["BinaryRelevance"] < means["most frequent"]
    assert all(f"{mean:.3f}" in ran.out for mean in means.values())


# Errors


ERRORS = {
    "fit nowhere.csv --labels 2 --model m": "nowhere.csv",
    "fit photos.csv --model m": "name them: --labels",
    "fit photos.csv --labels fog --model m": "fog",
    "fit photos.csv --labels 3 --model no/m": "cannot write no/m",
    "fit photos.csv --labels 3 --model photos.csv": "is input and output",
    "fit photos.csv --labels 3 --categorical fog --model m": "fog",
    "fit photos.csv --labels 3 --method Dance --model m": "no class",
    "fit photos.csv --labels 3 --recall 2 --model m": "in the range",
    "fit photos.csv --labels 3 --method MLkNN --criterion hamming --model m": "has no --criterion",
    "predict photos.csv new.csv --out p.csv": "not a model file of pairmend",
    "predict photos.model new.csv --out p.xlsx": "cannot write p.xlsx",
    "predict photos.model new.csv --out no/p.csv": "there is no folder",
    "predict photos.model more.csv --out p.csv": "not known: ['name']",
    "predict photos.model bad.csv --out p.csv": "column 'size', row 1 is 'big'",
    "predict photos.model new.csv --out p.csv --keep fog": "fog",
    "predict photos.model new.csv --out p.csv --keep sea": "names labels",
    "predict photos.model new.csv --out p.csv --sha256 0": "another model than expected",
    "evaluate photos.model few.csv": "no columns named 'sun', 'sand'",
    "evaluate photos.model new.csv --labels 3": "MODEL is fitted",
    "evaluate photos.csv new.csv --labels 3": "not a model file of pairmend",
    "evaluate photos.csv --labels 3 --trust x": "are for a model file",
}


@pytest.mark.parametrize("words", ERRORS)
def test_errors_have_a_message_and_write_no_file(run, photos, model, words):
    photos.write("more.csv", {**photos.table(1), "name": ["x"] * N_ROWS})
    photos.write("few.csv", {"size": ["1"], "sea": ["1"]})
    photos.write("bad.csv", {"size": ["1", "big"], "hue": ["red", "red"]})
    before = sorted(os.listdir())
    ran = run(*words.split())
    assert ran.status == 2
    assert ERRORS[words] in ran.err
    assert "Traceback" not in ran.err
    assert "wrote" not in ran.out
    assert sorted(os.listdir()) == before


def test_unknown_types_need_the_option_trust(run, photos):
    data = load_file("new.csv", 3)
    numbers = np.nan_to_num(data.X[:, :2])
    fitted = PairwiseClassifier(odd_classifiers.Counting()).fit(numbers, data.Y)
    names = {"feature_names": ["id", "size"], "label_names": data.label_names}
    save_model(fitted, "odd.model", **names, trusted=["odd_classifiers.Counting"])
    photos.write("two.csv", {"id": ["1"], "size": ["2"]})
    words = ("predict", "odd.model", "two.csv", "--out", "p.csv")
    ran = run(*words)
    assert ran.status == 2
    assert "holds odd_classifiers.Counting, which is not on the list of trusted types" in ran.err
    assert run(*words, "--trust", "odd_classifiers.Counting").status == 0


# Progress


def test_a_line_is_printed_every_few_seconds(run, photos, monkeypatch):
    monkeypatch.setattr("pairmend.cli.output.SECONDS_BETWEEN_LINES", 0.01)
    words = ["evaluate", "photos.csv", "--labels", "3", "--ignore", "id", "--folds", "2"]
    assert re.search(r"^\[MendedClassifier\] .* \(\d+ s\)$", run(*words).err, re.MULTILINE)
    ran = run(*words, "--quiet")
    assert ran.err == ""
    assert "Hamming loss" in ran.out


DOCS = Path(__file__).parents[2] / "docs"
SESSION = re.compile(r"```console\n(.*?)```", re.DOTALL)
LAST_DIGITS = re.compile(r"(?<=0\.\d\d)\d+")  # of losses: they depend on the machine


def test_the_commands_of_the_documentation_print_its_output(run, photos, monkeypatch):
    for name in ("photos.csv", "more.csv"):
        Path(name).write_bytes((DOCS / "photos.csv").read_bytes())
    Path("new.csv").write_text("id,place,hour,blue\np200,coast,14,0.9\n")
    page = (DOCS / "command_line.md").read_text("utf-8")
    printed = ""
    for line in SESSION.search(page)[1].splitlines():
        ran = run(*line.partition("#")[0].split()[2:])
        assert ran.status == 0, line
        printed += LAST_DIGITS.sub("", ran.out)
    rows = page.split("```text\n")[2].split("```")[0].splitlines()
    assert [row for row in rows if LAST_DIGITS.sub("", row) not in printed] == []


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("skops", [*FIT, "3"]), ("skops", ["predict", "photos.model", "new.csv", "--out", "p.csv"]),
        ("pyarrow", ["predict", "photos.model", "a.parquet", "--out", "p.csv"]),
    ],
)  # fmt: skip
def test_missing_packages_are_named(run, photos, model, monkeypatch, package, words):
    parts = {name for name in sys.modules if name.startswith(f"{package}.")}
    for name in {package, *parts}:
        monkeypatch.setitem(sys.modules, name, None)
    ran = run(*words)
    assert ran.status == 2
    assert f"pip install {package}" in ran.err
