"""pairmend fit, predict, evaluate and explain, from file to file."""

import csv
import gzip
import json
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import hamming_loss

import odd_classifiers
from pairmend import PairwiseClassifier
from pairmend.cli import main
from pairmend.cli.methods import ESTIMATORS, METHODS, PARAMS
from pairmend.datasets import load_table, make_hypercubes, save_file
from pairmend.datasets.parquet import write_parquet
from pairmend.persistence import load_model, save_model

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")

HUES = np.array(["red", "green", "blue", ""])
N_ROWS = 60


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")  # tables do not break lines
    return tmp_path


def rows(seed=0):
    rng = np.random.RandomState(seed)
    size, hue = rng.normal(size=N_ROWS).round(3), HUES[rng.randint(4, size=N_ROWS)]
    sea = (size + (hue == "blue") + rng.normal(size=N_ROWS) / 4 > 0.5).astype(int)
    sun = ((size < 0) | (hue == "red")).astype(int)
    shown = np.where(rng.rand(N_ROWS) < 0.1, "", size.astype(str))
    numbers = [f"{n:03}" for n in range(N_ROWS)]
    return {"id": numbers, "size": shown, "hue": hue, "sea": sea, "sun": sun, "sand": 1 - sea}


def write_csv(path, columns):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def read_csv(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def photos(here):
    write_csv("photos.csv", rows())
    write_csv("new.csv", rows(1))
    return here


def run(capsys, *words):
    status = main([str(word) for word in words])
    return status, *capsys.readouterr()


FIT = ("fit", "photos.csv", "--ignore", "id", "--model", "photos.model", "--labels")


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    """A model file, fitted once."""
    folder = tmp_path_factory.mktemp("model")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_csv("photos.csv", rows())
        assert main([*FIT, "sea", "sun", "sand"]) == 0
    return folder / "photos.model"


@pytest.fixture
def model(photos, model_file):
    shutil.copy(model_file, photos)
    return load_model("photos.model")


def test_fit_saves_features_categories_and_labels(photos, capsys):
    status, printed, notes = run(capsys, *FIT, "3")
    assert status == 0
    assert "wrote photos.model: mended, 60 rows, 2 columns, 3 labels" in printed
    assert notes == ""
    saved = load_model("photos.model", sha256=printed.split("SHA-256: ")[1].strip())
    assert saved.feature_names == ("size", "hue")
    assert saved.kinds == ("number", "category")
    assert saved.label_names == ("sea", "sun", "sand")
    assert sorted(path.name for path in photos.iterdir()) == [
        "new.csv",
        "photos.csv",
        "photos.model",
    ]


def test_predictions_do_not_depend_on_columns_that_are_left_out_labels_or_format(model, capsys):
    assert run(capsys, "predict", "photos.model", "new.csv", "--out", "all.csv")[0] == 0
    expected = read_csv("all.csv")
    assert len(expected) == N_ROWS
    assert list(expected[0]) == ["sea", "sun", "sand"]
    assert {cell for row in expected for cell in row.values()} == {"0", "1"}
    fewer = {name: rows(1)[name] for name in ("size", "id", "hue")}
    write_csv("fewer.csv", fewer)
    words = ("predict", "photos.model", "fewer.csv", "--out", "fewer.csv.gz", "--keep", "id")
    status, printed, _ = run(capsys, *words)
    assert status == 0
    assert "wrote fewer.csv.gz: 60 rows, 3 labels" in printed
    found = read_csv("fewer.csv.gz")
    assert [row.pop("id") for row in found] == fewer["id"]
    assert found == expected
    data = load_table("new.csv", 3)
    save_file(data, "new.arff")
    assert run(capsys, "predict", "photos.model", "new.arff", "--out", "arff.csv")[0] == 0
    assert read_csv("arff.csv") == expected


def test_columns_that_fit_left_out_need_not_be_left_out_again(model, capsys):
    _, _, notes = run(capsys, "predict", "photos.model", "new.csv", "--out", "p.csv")
    assert notes == ""
    write_csv("more.csv", {**rows(1), "name": ["x"] * N_ROWS})
    status, _, message = run(capsys, "predict", "photos.model", "more.csv", "--out", "p.csv")
    assert status == 2
    assert "also has 'name'" in message
    words = ("predict", "photos.model", "more.csv", "--keep", "name", "--out", "p.csv")
    assert run(capsys, *words)[0] == 0


def test_parquet_in_and_out(model, capsys):
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = rows(1)
    columns["size"] = [float(cell) if cell else None for cell in columns["size"]]
    columns["hue"] = [cell or None for cell in columns["hue"]]
    columns["id"] = list(range(N_ROWS))
    write_parquet("new.parquet", columns)
    assert run(capsys, "predict", "photos.model", "new.csv", "--out", "new.out.csv")[0] == 0
    words = ("predict", "photos.model", "new.parquet", "--out", "p.parquet", "--keep", "id")
    assert run(capsys, *words)[0] == 0
    found = parquet.read_table("p.parquet").to_pylist()
    assert [row.pop("id") for row in found] == [str(n) for n in range(N_ROWS)]
    assert [{k: str(v) for k, v in row.items()} for row in found] == read_csv("new.out.csv")
    assert run(capsys, "fit", "new.parquet", "--labels", "3", "--model", "p.model")[0] == 0
    assert load_model("p.model").kinds[2] == "category"


def test_scores(photos, capsys):
    assert run(capsys, *FIT, "3", "--method", "pairwise")[0] == 0
    words = ("predict", "photos.model", "new.csv", "--proba", "--out")
    assert run(capsys, *words, "scores.csv")[0] == 0
    scores = np.array([[float(cell) for cell in row.values()] for row in read_csv("scores.csv")])
    assert run(capsys, "predict", "photos.model", "new.csv", "--out", "labels.csv")[0] == 0
    labels = np.array([[int(cell) for cell in row.values()] for row in read_csv("labels.csv")])
    np.testing.assert_array_equal(labels, scores > 0.5)


def test_unseen_categories_are_another_value(model, capsys):
    columns = {"size": ["0.5"] * 3, "hue": ["", "mauve", "red"]}
    write_csv("odd.csv", columns)
    words = ("predict", "photos.model", "odd.csv", "--proba", "--out", "p.csv")
    assert run(capsys, *words)[0] == 0
    _, mauve, red = read_csv("p.csv")
    assert mauve != red


def test_base_of_another_method_is_refused(photos, capsys):
    words = ["fit", "photos.csv", "--labels", "sea", "--method", "pairwise", "--estimator", "auto"]
    assert main([*words, "--model", "photos.model"]) == 2
    expected = "the method 'pairwise' has no estimator 'auto'; choose from logistic, naive-bayes"
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        *(["--method", name] for name in METHODS),
        *(["--method", "pairwise", "--estimator", name] for name in ESTIMATORS if name != "auto"),
        ["--estimator", "auto"],
        ["--estimator", "logistic"],
    ],
)
def test_every_method_and_every_base_can_be_fitted_and_used(photos, capsys, monkeypatch, words):
    monkeypatch.setitem(PARAMS, ESTIMATORS["forest"], {"n_estimators": 5})
    assert run(capsys, *FIT, "sea,sun", "sand", *words)[0] == 0
    assert run(capsys, "predict", "photos.model", "new.csv", "--out", "p.csv", "--proba")[0] == 0
    assert len(read_csv("p.csv")) == N_ROWS


def test_the_same_seed_gives_the_same_model(photos, capsys):
    scores = []
    for seed in ("1", "1", "2"):
        assert run(capsys, *FIT, "3", "--estimator", "naive-bayes", "--seed", seed)[0] == 0
        assert (
            run(capsys, "predict", "photos.model", "new.csv", "--proba", "--out", "p.csv")[0] == 0
        )
        scores.append(read_csv("p.csv"))
    assert scores[0] == scores[1] != scores[2]


def test_arff_needs_no_labels(capsys):
    data = make_hypercubes(40, n_labels=3, n_relevant=4, n_irrelevant=1, n_redundant=0,
                           random_state=0)  # fmt: skip
    save_file(data, "meka.arff")
    save_file(data, "mulan.arff", xml="mulan.xml")
    save_file(data, "apart.arff", xml="names.xml")
    for file, *labels in (["meka.arff"], ["mulan.arff"], ["apart.arff", "--labels", "names.xml"]):
        assert run(capsys, "fit", file, "--model", "a.model", *labels)[0] == 0
        assert load_model("a.model").label_names == data.label_names
    assert run(capsys, "evaluate", "a.model", "meka.arff", "--json", "a.json")[0] == 0


def test_numeric_columns_can_be_categorical(photos, capsys):
    columns = {**rows(), "size": [str(n % 3) for n in range(N_ROWS)]}
    write_csv("photos.csv", columns)
    assert run(capsys, *FIT, "3", "--categorical", "size", "--method", "pairwise")[0] == 0
    assert load_model("photos.model").kinds == ("category", "text")
    assert run(capsys, "predict", "photos.model", "photos.csv", "--out", "p.csv")[0] == 0


def test_evaluate_a_model(model, capsys):
    status, printed, _ = run(capsys, "evaluate", "photos.model", "new.csv", "--json", "e.json")
    assert status == 0
    with open("e.json") as file:
        found = json.load(file)
    assert run(capsys, "predict", "photos.model", "new.csv", "--out", "p.csv")[0] == 0
    truth = np.column_stack([rows(1)[name] for name in ("sea", "sun", "sand")])
    predicted = np.array([[int(cell) for cell in row.values()] for row in read_csv("p.csv")])
    assert found["losses"]["hamming"] == hamming_loss(truth, predicted)
    assert f"{found['losses']['hamming']:.4f}" in printed
    assert found["labels"]["sun"]["rows"] == truth[:, 1].sum()
    assert found["labels"]["sun"]["predicted"] == predicted[:, 1].sum()
    assert found["labels"]["sun"]["recall"] == predicted[truth[:, 1] == 1, 1].mean()
    assert found["sha256"] == model.sha256


def test_evaluate_a_method_by_cross_validation(photos, capsys):
    words = ("evaluate", "photos.csv", "--labels", "3", "--ignore", "id", "--folds", "3")
    status, printed, notes = run(capsys, *words, "--method", "pairwise", "--json", "cv.json")
    assert status == 0
    assert "pairwise on 60 rows of photos.csv, 3 folds" in printed
    assert notes == ""
    with open("cv.json") as file:
        loss = json.load(file)["losses"]["hamming"]
    assert len(loss["folds"]) == 3
    assert loss["mean"] == pytest.approx(np.mean(loss["folds"]))
    assert loss["mean"] < 0.5
    assert f"{loss['mean']:.4f}" in printed


def test_the_metric_can_be_chosen(photos, capsys):
    assert run(capsys, *FIT, "3", "--criterion", "zero_one")[0] == 0
    assert load_model("photos.model").estimator.criterion == "zero_one"


@pytest.mark.parametrize("method", ["mended", "corrected"])
def test_explain_a_row(photos, capsys, method):
    assert run(capsys, *FIT, "3", "--method", method)[0] == 0
    write_csv("one.csv", {"size": ["1", "0.25"], "hue": ["red", "blue"]})
    words = ("explain", "photos.model", "one.csv", "--row")
    status, printed, _ = run(capsys, *words, "1")
    assert status == 0
    assert printed.startswith("Row 1: ")
    for name in ("sea", "sun", "sand"):
        assert name in printed
    pytest.importorskip("matplotlib")
    assert run(capsys, *words, "1", "--figure", "one.png")[1] == f"{printed}wrote one.png\n"
    with open("one.png", "rb") as file:
        assert file.read(4) == b"\x89PNG"
    status, _, notes = run(capsys, *words, "2")
    assert status == 2
    assert "--row is 2, but one.csv has the rows 0 to 1" in notes
    assert run(capsys, *FIT, "3", "--method", "pairwise")[0] == 0
    status, _, notes = run(capsys, *words, "0")
    assert status == 2
    assert "is a PairwiseClassifier, which has no explanations" in notes


def test_unknown_types_need_the_option_trust(photos, capsys):
    data = load_table("new.csv", 3)
    numbers = np.nan_to_num(data.X[:, :2])
    fitted = PairwiseClassifier(odd_classifiers.Counting()).fit(numbers, data.Y)
    names = {"feature_names": ["id", "size"], "label_names": data.label_names}
    save_model(fitted, "odd.model", **names, trusted=[odd_classifiers.Counting])
    write_csv("two.csv", {"id": ["1"], "size": ["2"]})
    words = ("predict", "odd.model", "two.csv", "--out", "p.csv")
    status, _, notes = run(capsys, *words)
    assert status == 2
    assert "holds odd_classifiers.Counting, which is not on the list of trusted types" in notes
    assert notes.strip().endswith("--trust odd_classifiers.Counting")
    assert run(capsys, *words, "--trust", "odd_classifiers.Counting")[0] == 0
    save_model(fitted, "odd.model", trusted=[odd_classifiers.Counting])
    status, _, notes = run(capsys, *words, "--trust", "odd_classifiers.Counting")
    assert status == 2
    assert "the model has no names of features" in notes


def test_a_changed_model_is_refused(model, capsys):
    with open("photos.model", "r+b") as file:
        file.seek(-100, os.SEEK_END)
        file.write(b"?")
    for words in (["predict", "--out", "p.csv"], ["evaluate"], ["explain", "--row", "0"]):
        status, _, notes = run(capsys, words[0], "photos.model", "new.csv", *words[1:])
        assert status == 2
        assert "damaged or changed since it was saved" in notes
    assert not os.path.exists("p.csv")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "nowhere.csv", "--labels", "2", "--model", "m"], "nowhere.csv"),
        (["fit", "photos.csv", "--model", "m"], "name them: --labels"),
        (["fit", "photos.csv", "--labels", "fog", "--model", "m"], "no columns named 'fog'"),
        (
            ["fit", "photos.csv", "--labels", "sea", "--model", "m", "--method", "pairwise"],
            "pairs need at least two",
        ),
        (["fit", "photos.csv", "--labels", "hue", "sea", "--model", "m"], "must be 0 or 1, but is"),
        (["fit", "photos.csv", "--labels", "3", "--model", "no/m"], "cannot write no/m"),
        (["fit", "photos.csv", "--labels", "x.xml", "--model", "m"], "x.xml"),
        (
            ["fit", "photos.csv", "--labels", "3", "--categorical", "fog", "--model", "m"],
            "--categorical names ['fog']",
        ),
        (
            ["fit", "photos.csv", "--labels", "3", "--method", "pairwise", "--criterion", "hamming",
             "--model", "m"],
            "the method 'pairwise' has no --criterion",
        ),
        (["predict", "photos.csv", "new.csv", "--out", "p.csv"], "not a model file of pairmend"),
        (["predict", "nowhere.model", "new.csv", "--out", "p.csv"], "nowhere.model"),
        (["predict", "photos.model", "new.csv", "--out", "p.xlsx"], "cannot write p.xlsx"),
        (["predict", "photos.model", "new.csv", "--out", "p.parquet.gz"], "cannot write p.parquet"),
        (["predict", "photos.model", "new.csv", "--out", "no/p.csv"], "there is no folder"),
        (["predict", "photos.model", "few.csv", "--out", "p.csv"], "lacks 'hue'"),
        (
            ["predict", "photos.model", "bad.csv", "--out", "p.csv"],
            "column 'size', row 1 is 'big'; expected a number",
        ),
        (
            ["predict", "photos.model", "new.csv", "--out", "p.csv", "--keep", "fog"],
            "new.csv has no column named 'fog', which --keep names; it has ",
        ),
        (
            ["predict", "photos.model", "new.csv", "--out", "p.csv", "--keep", "sea"],
            "--keep names labels",
        ),
        (
            ["predict", "photos.model", "new.csv", "--out", "p.csv", "--sha256", "0"],
            "another model than expected",
        ),
        (["evaluate", "photos.model", "few.csv"], "no columns named 'sun', 'sand'"),
        (["evaluate", "photos.model", "bad-labels.csv"], "column 'size', row 1 is 'big'"),
        (["evaluate", "photos.model", "few-labels.csv"], "lacks 'hue'"),
        (["evaluate", "photos.model", "bare.csv"], "no columns named 'sea', 'sun', 'sand'"),
        (["evaluate", "photos.model", "new.csv", "--labels", "3"], "MODEL is fitted"),
        (["evaluate", "photos.model", "new.csv", "--method", "pairwise"], "only for fitting"),
        (["fit", "photos.csv", "--labels", "3", "--model", "photos.csv"], "is input and output"),
        (["predict", "photos.model", "new.csv", "--out", "new.csv"], "is input and output"),
        (["evaluate", "photos.csv", "--labels", "3", "--trust", "x"], "are for a model file"),
    ],
)  # fmt: skip
def test_errors_have_a_message_and_write_no_file(model, capsys, words, message):
    write_csv("few.csv", {"size": ["1"], "sea": ["1"]})
    write_csv("bad.csv", {"size": ["1", "big"], "hue": ["red", "red"]})
    write_csv("bare.csv", {"size": ["1"], "hue": ["red"]})
    labels = {name: ["1", "0"] for name in ("sea", "sun", "sand")}
    write_csv("bad-labels.csv", {"size": ["1", "big"], "hue": ["red", "red"], **labels})
    write_csv("few-labels.csv", {"size": ["1", "2"], **labels})
    before = sorted(os.listdir())
    status, printed, notes = run(capsys, *words)
    assert status == 2
    assert message in notes
    assert "Traceback" not in notes
    assert "wrote" not in printed
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "words",
    [["fit", "a.csv"], ["predict", "m"], ["explain", "m", "d", "--row", "-1"], ["evaluate"]],
)
def test_invalid_arguments_print_the_usage(words, capsys):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "usage: pairmend" in capsys.readouterr().err


def test_a_terminal_shows_a_progress_bar(photos, terminal):
    words = ["evaluate", "photos.csv", "--labels", "3", "--ignore", "id", "--folds", "2"]
    with terminal() as written:
        assert main([*words, "--method", "pairwise"]) == 0
    shown = written.getvalue().decode()
    assert "cross-validating" in shown
    assert "━" in shown


def test_a_terminal_shows_the_step_of_a_fit(photos, terminal, monkeypatch):
    bar = pytest.importorskip("rich.progress").Progress
    monkeypatch.setattr(bar, "update", redrawn(bar.update))
    with terminal() as written:
        assert main([*FIT, "3", "--method", "binary-relevance"]) == 0
    shown = written.getvalue().decode()
    assert "fitting 60 rows, 2 columns, 3 labels" in shown
    assert "[BinaryRelevance] trained 3 labels at once" in shown


def redrawn(update):
    """Draw a bar after each update, however short a step is."""

    def updated(bar, *args, **kwargs):
        update(bar, *args, **kwargs)
        bar.refresh()

    return updated


def test_without_a_terminal_a_line_is_printed_every_few_seconds(photos, capsys, monkeypatch):
    monkeypatch.setattr("pairmend.cli.output.SECONDS_BETWEEN_LINES", 0.01)
    words = ["evaluate", "photos.csv", "--labels", "3", "--ignore", "id", "--folds", "2"]
    _, _, notes = run(capsys, *words)
    assert re.search(r"^ 50%  fold 2 of 2, mended: .* \(\d+ s\)$", notes, re.MULTILINE)
    assert run(capsys, *words, "--quiet")[2] == ""


DOCS = Path(__file__).parents[2] / "docs"
SESSION = re.compile(r"```console\n(.*?)```", re.DOTALL)


def test_the_commands_of_the_documentation_print_its_output(here, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("photos.csv", "more.csv"):
        (here / name).write_bytes((DOCS / "photos.csv").read_bytes())
    (here / "new.csv").write_text("place,hour,blue,name\ncoast,14,0.9,beach.jpg\n")
    page = (DOCS / "command_line.md").read_text("utf-8")
    all_printed = ""
    for line in SESSION.search(page)[1].splitlines():
        status, printed, _ = run(capsys, *line.partition("#")[0].split()[2:])
        assert status == 0, line
        all_printed += _masked(printed)
    rows = [line for line in page.splitlines() if line.startswith("│")]
    assert [row for row in rows if _masked(row) not in all_printed] == []


def _masked(text):
    """Cut off the last digits of losses, which depend on the machine."""
    return re.sub(r"(0\.\d\d)\d+", r"\1", text)


@pytest.mark.parametrize(
    ("package", "words", "extra"),
    [
        ("skops", [*FIT, "3"], "pairmend[models]"),
        ("skops", ["predict", "photos.model", "new.csv", "--out", "p.csv"], "pairmend[models]"),
        (
            "pyarrow",
            ["predict", "photos.model", "a.parquet", "--out", "p.csv"],
            "pairmend[parquet]",
        ),
        ("pyarrow", ["predict", "photos.model", "new.csv", "--out", "p.parquet"], "[parquet]"),
    ],
)
def test_missing_packages_are_named(model, capsys, monkeypatch, package, words, extra):
    monkeypatch.setitem(sys.modules, package, None)
    status, _, notes = run(capsys, *words)
    assert status == 2
    assert f"need {package}, which is not installed: pip install" in notes
    assert extra in notes
