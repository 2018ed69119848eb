"""Tables as people have them, from file to predictions: tags, reports, baselines, streams."""

import csv
import io
import json
import random
import subprocess
import sys

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from pairmend.cli import main
from pairmend.cli.methods import ESTIMATORS, METHODS, PARAMS
from pairmend.persistence import load_model

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")
pytest.importorskip("pandas", reason="needs pip install 'pairmend[cli]'")

HEADER = ["id", "when", "price", "place", "title", "sea", "sun", "people"]
QUICK = ("--method", "binary-relevance")
N_ROWS = 48


def rows(seed=0):
    rng = random.Random(seed)
    found = []
    for row in range(N_ROWS):
        price, place = rng.random(), rng.choice(["coast", "town", ""])
        words = "waves and water" if price > 0.5 else "streets and cars"
        yes = ["no", "yes"]
        found.append([
            f"p{seed}{row:03}", f"{rng.randint(13, 28)}.{rng.randint(1, 12):02}.2024",
            f"{100 * price:.2f}".replace(".", ","), place, f"{words} number {row}",
            yes[price > 0.5], yes[place == "coast"], yes[row % 3 > 0],
        ])  # fmt: skip
    return found


def write(name, lines, header=HEADER):
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([header, *lines])


@pytest.fixture(autouse=True)
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write("photos.csv", rows())
    write("new.csv", rows(1))
    return tmp_path


def run(capsys, *words):
    status = main([str(word) for word in words])
    return status, *capsys.readouterr()


FIT = ("fit", "photos.csv", "--labels", "sea", "sun", "people", "--model", "m.model")


def test_fit_reports_how_columns_are_read(capsys):
    status, printed, _ = run(capsys, *FIT, *QUICK, "--json", "fit.json")
    assert status == 0
    with open("fit.json") as file:
        found = json.load(file)
    kinds = {column["name"]: column["taken as"] for column in found["columns"]}
    assert kinds == {
        "id": "identifier", "when": "date", "price": "number", "place": "category",
        "title": "text",
    }  # fmt: skip
    place = found["columns"][3]
    assert (place["distinct"], place["example"]) == (2, "town")
    assert place["missing"] == sum(not row[3] for row in rows())
    assert "id: its 48 different values in 48 rows are taken for identifiers" in printed
    assert "title" in printed
    assert found["labels"]["sea"] == sum(row[5] == "yes" for row in rows())


def test_columns_that_are_left_out_are_not_needed_to_predict(capsys):
    assert run(capsys, *FIT, *QUICK)[0] == 0
    assert load_model("m.model").feature_names == ("when", "price", "place", "title")
    lines = [row[1:5] for row in rows(1)]
    write("bare.csv", lines, HEADER[1:5])
    status, printed, notes = run(capsys, "predict", "m.model", "bare.csv", "--out", "-")
    assert (status, notes) == (0, "")  # new titles and dates are not noted
    predicted = list(csv.DictReader(io.StringIO(printed)))
    assert len(predicted) == N_ROWS
    right = [row["sea"] == str(int(line[5] == "yes")) for row, line in zip(
        predicted, rows(1), strict=True)]  # fmt: skip
    assert np.mean(right) > 0.9


@pytest.mark.parametrize(
    "words",
    [
        *(["--method", name] for name in METHODS if name not in ("mended", "corrected")),
        *(["--method", "pairwise", "--estimator", name] for name in ESTIMATORS if name != "auto"),
        ["--method", "chains", "--estimator", "tree"],
    ],
)
def test_every_method_takes_every_kind_of_column(capsys, monkeypatch, words):
    monkeypatch.setitem(PARAMS, ESTIMATORS["forest"], {"n_estimators": 5})
    assert run(capsys, *FIT, *words, "--quiet")[0] == 0
    assert run(capsys, "predict", "m.model", "new.csv", "--out", "p.csv")[0] == 0


REMARKS = {
    "constant": (["5"] * 40, "the same value in every row"),
    "mostly_missing": ([""] * 30 + ["1", "2"] * 5, "missing in most rows"),
    "counter": ([str(n) for n in range(40)], "a different whole number in every row"),
    "spelled": (["Coast", "coast"] * 20, "'Coast' and 'coast' are different values"),
    "missing_texts": ([*(f"{n * 1.37:.2f}" for n in range(37)), "-", "n/a", "N/A"], None),
    "missing_dates": (
        [*(f"{n % 28 + 1}.5.2024" for n in range(39)), "n/a"],
        "taken as missing dates in 1 row: 'n/a'",
    ),
    "codes": (["01234", "20099"] * 20, None),
    "ambiguous_dates": (["01/02/2024", "03/04/2024"] * 20, "the month is taken first"),
    "distinct_price": ([f"{n * 1.37:.2f}" for n in range(40)], None),
}


@pytest.mark.parametrize("name", REMARKS)
def test_remarks(capsys, name):
    cells, remark = REMARKS[name]
    lines = [[cell, n % 7, n % 2, n % 3 // 2] for n, cell in enumerate(cells)]
    write("odd.csv", lines, [name, "other", "sea", "sun"])
    words = ("fit", "odd.csv", "--labels", "2", "--model", "m.model", *QUICK, "--json", "-")
    status, printed, _ = run(capsys, *words)
    assert status == 0
    column = json.loads(printed)["columns"][0]
    assert column["taken as"] != "identifier"
    assert remark in column["remarks"] if remark else column["remarks"] == ""


def test_wide_tables_are_reported_in_part(capsys):
    header = [f"f{n}" for n in range(60)]
    lines = [[(n * f) % 11 for f in range(60)] + [n % 2, n % 3 // 2] for n in range(30)]
    write("wide.csv", lines, [*header, "sea", "sun"])
    _, printed, notes = run(
        capsys, "fit", "wide.csv", "--labels", "2", "--model", "m.model", *QUICK
    )
    assert "f0: the same value in every row" in printed
    assert "f1 " not in printed
    assert "further columns, mostly of numbers" in notes


def test_labels_without_variation_are_noted(capsys):
    write("odd.csv", [[n, 1, n % 2] for n in range(30)], ["size", "sea", "sun"])
    words = ("fit", "odd.csv", "--labels", "2", "--model", "m.model", *QUICK)
    assert "label 'sea' occurs in every row" in run(capsys, *words)[2]


def tagged(seed=0):
    names = ("sea", "sun", "people")
    return [
        [*row[2:4], "|".join(name for name, cell in zip(names, row[5:], strict=True)
                             if cell == "yes")]
        for row in rows(seed)
    ]  # fmt: skip


def test_tags_from_file_to_predictions(capsys):
    write("tags.csv", tagged(), ["price", "place", "genres"])
    write("more.csv", [*tagged(1), ["1,5", "town", "fog"]], ["price", "place", "genres"])
    words = ("fit", "tags.csv", "--tags", "genres", "--model", "m.model", *QUICK)
    status, printed, notes = run(capsys, *words)
    assert status == 0
    assert "the tags in column 'genres' are separated by '|'" in notes
    assert f"{N_ROWS} rows, 2 columns, 3 labels" in printed
    assert load_model("m.model").label_names == ("people", "sea", "sun")
    status, _, notes = run(capsys, "evaluate", "m.model", "more.csv", "--json", "e.json")
    assert (status, notes) == (
        0,
        "note: more.csv: column 'genres' has tags that did not occur in training, which are "
        "ignored: fog\n",
    )
    with open("e.json") as file:
        found = json.load(file)
    assert found["labels"]["sun"]["rows"] == sum(row[6] == "yes" for row in rows(1))
    assert run(capsys, "predict", "m.model", "more.csv", "--out", "p.csv")[2] == ""


def test_a_model_of_label_columns_is_evaluated_on_tags(capsys):
    lines = [[row[2], row[3], *row[5:]] for row in rows()]
    write("plain.csv", lines, ["price", "place", "sea", "sun", "people"])
    write("tags.csv", tagged(1), ["price", "place", "genres"])
    write("columns.csv", [[row[2], row[3], *row[5:]] for row in rows(1)],
          ["price", "place", "sea", "sun", "people"])  # fmt: skip
    words = ("fit", "plain.csv", "--labels", "3", "--model", "m.model", *QUICK, "--quiet")
    assert run(capsys, *words)[0] == 0
    evaluated = [
        json.loads(run(capsys, "evaluate", "m.model", *words, "--json", "-")[1])
        for words in (["columns.csv"], ["tags.csv", "--tags", "genres"])
    ]
    assert evaluated[0]["losses"] == evaluated[1]["losses"]
    status, _, message = run(capsys, "evaluate", "m.model", "columns.csv", "--separator", ";")
    assert (status, message) == (
        2, "pairmend: --separator is for a column of tags; name it: --tags COLUMN\n"
    )  # fmt: skip


def test_a_column_of_tags_can_have_another_name(capsys):
    write("tags.csv", tagged(), ["price", "place", "genres"])
    write("renamed.csv", tagged(1), ["price", "place", "kinds"])
    words = ("fit", "tags.csv", "--tags", "genres", "--model", "m.model", *QUICK, "--quiet")
    assert run(capsys, *words)[0] == 0
    status, _, message = run(capsys, "evaluate", "m.model", "renamed.csv")
    assert (status, message) == (
        2,
        "pairmend: renamed.csv has no column 'genres' of tags; name the column that lists the tags "
        "of each row: --tags COLUMN\n",
    )
    assert run(capsys, "evaluate", "m.model", "renamed.csv", "--tags", "kinds")[0] == 0


def test_one_line_without_a_header_is_refused_with_advice(capsys):
    write("plain.csv", [[n, n % 5, n % 2, n % 3 // 2] for n in range(30)],
          ["size", "hue", "sea", "sun"])  # fmt: skip
    words = ("fit", "plain.csv", "--labels", "2", "--model", "m.model", *QUICK, "--quiet")
    assert run(capsys, *words)[0] == 0
    with open("one.csv", "w") as file:
        file.write("7,2\n")
    advice = "a first line with the names of the columns"
    predict = ("predict", "m.model", "one.csv", "--out", "-")
    assert "may hold names of columns or data" in run(capsys, *predict)[2]
    assert advice in run(capsys, *predict, "--header-row", 1)[2]
    status, _, message = run(capsys, *predict, "--header-row", 0)
    assert status == 2
    assert advice in message
    assert "lacks 'size', 'hue'" in message
    with open("one.csv", "w") as file:
        file.write("size,hue\n7,2\n")
    status, printed, _ = run(capsys, "predict", "m.model", "one.csv", "--out", "p.csv")
    assert (status, printed) == (0, "wrote p.csv: 1 row, 2 labels\n")


def test_fewer_rows_than_folds_are_refused_with_advice(capsys):
    write("few.csv", [[n, n % 2, n % 3 // 2] for n in range(3)], ["size", "sea", "sun"])
    few = ("few.csv", "--labels", "2")
    messages = {
        ("evaluate", *few): "10 folds need at least 10 rows, but few.csv has 3 rows; add rows, or "
        "choose fewer folds: --folds N",
        ("evaluate", *few, "--folds", "3"): "5 folds need at least as many samples, got 2",
        ("fit", *few, "--model", "m.model"): "5 folds need at least as many samples, got 3",
    }
    for words, expected in messages.items():
        status, _, message = run(capsys, *words)
        assert status == 2
        assert expected in message
    assert run(capsys, "fit", *few, "--model", "m.model", *QUICK)[0] == 0


def test_a_file_after_a_list_of_names_is_refused_with_advice(capsys):
    with pytest.raises(SystemExit):
        main(["fit", "--model", "m.model", *QUICK, "--labels", "sea", "sun", "photos.csv"])
    message = capsys.readouterr().err
    assert "required: DATA (a list, as after --labels, ends at the next option" in message


def test_rows_that_are_no_numbers_are_an_error_of_usage(capsys):
    with pytest.raises(SystemExit):
        main(["explain", "--row", "two", "photos.csv", "new.csv"])
    assert "argument --row: expected a whole number" in capsys.readouterr().err


def test_a_missing_file_is_an_error_of_usage(capsys):
    with pytest.raises(SystemExit):
        main(["fit", "--model", "m.model", "--labels", "sea", "nowhere.csv"])
    assert "the following arguments are required: DATA" in capsys.readouterr().err


def test_cross_validation_has_labels_and_baselines(capsys):
    words = ("evaluate", "photos.csv", "--labels", "sea", "sun", "people", "--folds", "3")
    status, printed, _ = run(capsys, *words, "--method", "pairwise", "--json", "cv.json")
    assert status == 0
    for heading in ("binary relevance", "most frequent", "predicted", "precision"):
        assert heading in printed
    with open("cv.json") as file:
        found = json.load(file)
    assert found["labels"]["sea"]["rows"] == sum(row[5] == "yes" for row in rows())
    constant = found["baselines"]["most frequent"]["hamming"]["mean"]
    Y = np.array([[int(cell == "yes") for cell in row[5:]] for row in rows()])
    # The loss of the more frequent value of each label; the folds are stratified.
    dummy = DummyClassifier(strategy="most_frequent").fit(Y, Y)
    assert constant == pytest.approx(np.mean(dummy.predict(Y) != Y), abs=0.1)
    assert found["baselines"]["binary relevance"]["hamming"]["mean"] < constant
    _, printed, _ = run(capsys, *words, *QUICK, "--no-baselines")
    assert "most frequent" not in printed


def test_standard_input_and_output(photos, capsys, monkeypatch):
    content = (photos / "photos.csv").read_bytes()

    def piped(*words):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        return run(capsys, *words)

    words = ("fit", "-", "--labels", "3", "--model", "m.model", *QUICK, "--quiet")
    assert piped(*words) == (0, "", "")
    status, _, message = piped("fit", "-", "--labels", "fog", "--model", "x.model")
    assert status == 2
    assert "standard input has no columns named 'fog'" in message
    words = ("predict", "m.model", "-", "--out", "-", "--keep", "id")
    status, printed, _ = piped(*words)
    lines = printed.splitlines()
    assert (status, lines[0], len(lines)) == (0, "id,sea,sun,people", N_ROWS + 1)
    # and through pipes
    command = [sys.executable, "-m", "pairmend", *words]
    done = subprocess.run(command, input=content, capture_output=True, cwd=photos)
    assert done.stdout.decode() == printed


def test_quiet_prints_results_only(capsys):
    assert run(capsys, *FIT, *QUICK, "--quiet") == (0, "", "")
    status, printed, notes = run(capsys, "evaluate", "m.model", "photos.csv", "--quiet")
    assert (status, notes) == (0, "")
    assert "Hamming loss" in printed
    assert run(capsys, "predict", "m.model", "new.csv", "--out", "p.csv", "--quiet")[1:] == ("", "")


@pytest.mark.parametrize(
    "words",
    [
        ["datasets", "list"],
        ["datasets", "info", "yeast"],
        ["datasets", "describe", "photos.csv", "--labels", "3"],
        ["evaluate", "photos.csv", "--labels", "3", "--folds", "2", *QUICK],
        [*FIT, *QUICK],
    ],
)
def test_json_is_all_that_standard_output_has(capsys, words):
    status, printed, _ = run(capsys, *words, "--json", "-")
    assert status == 0
    assert json.loads(printed)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(capsys, shell):
    pytest.importorskip("shtab", reason="needs pip install 'pairmend[cli]'")
    with pytest.raises(SystemExit) as caught:
        main(["--print-completion", shell])
    assert caught.value.code == 0
    script = capsys.readouterr().out
    assert "--criterion" in script
    assert "describe" in script
    checked = subprocess.run(["bash", "-n"], input=script.encode()) if shell == "bash" else None
    assert checked is None or checked.returncode == 0


def test_the_report_is_shown_before_no_column_is_left(capsys):
    write("ids.csv", [[f"p{n}", n % 2, n % 3 // 2] for n in range(30)], ["id", "sea", "sun"])
    words = ("fit", "ids.csv", "--labels", "2", "--model", "m.model")
    status, printed, notes = run(capsys, *words)
    assert status == 2
    assert "id: its 30 different values in 30 rows are taken for identifiers" in printed
    assert "ids.csv has no column to learn from: 'id' hold identifiers or nothing" in notes


def test_columns_of_mostly_numbers_are_noted(capsys):
    cells = [*(f"{n * 1.37:.2f}" for n in range(36)), "soon", "sold out", "sold", "off"]
    lines = [[cell, n % 7, n % 2, n % 3 // 2] for n, cell in enumerate(cells)]
    write("odd.csv", lines, ["price", "other", "sea", "sun"])
    notes = run(capsys, "fit", "odd.csv", "--labels", "2", "--model", "m.model", *QUICK)[2]
    assert "note: odd.csv: most values of column 'price' are numbers, but not 'off', 'so" in notes
    assert notes.count("column 'price'") == 1


def test_decimal_commas_have_the_same_meaning_in_every_file(capsys):
    """Numbers of a second file that have another meaning or several, too, are not guessed."""
    lines = [[f"{n},25", n % 5, int(n > 20), n % 3 // 2] for n in range(40)]
    header = ["price", "other", "sea", "sun"]
    write("plain.csv", lines, header)
    words = ("fit", "plain.csv", "--labels", "2", "--model", "m.model", *QUICK)
    assert run(capsys, *words)[0] == 0
    predict = ("predict", "m.model", "new.csv", "--out", "-")
    write("new.csv", [["10.25", 1], ["30.25", 1]], header[:2])
    expected = run(capsys, *predict)[1]
    assert len(set(expected.splitlines()[1:])) == 2
    write("new.csv", [["10,25", 1], ["30,25", 1]], header[:2])
    assert run(capsys, *predict)[1] == expected
    write("new.csv", [["10,250", 1], ["30,250", 1]], header[:2])
    status, _, message = run(capsys, *predict)
    assert status == 2
    assert "column 'price', such as '10,250' and '30,250', are ambiguous" in message
    assert run(capsys, *predict, "--decimal", ",")[1] == expected


def test_a_column_of_t_and_f_gives_two_answers(capsys):
    """As PostgreSQL writes booleans."""
    lines = [["tf"[n % 2], n % 5, "tf"[n % 2], "tf"[n % 3 // 2]] for n in range(40)]
    header = ["wet", "other", "sea", "sun"]
    write("plain.csv", lines, header)
    words = ("fit", "plain.csv", "--labels", "2", "--model", "m.model", *QUICK)
    assert run(capsys, *words)[0] == 0
    write("new.csv", [["t", 1], ["f", 1]], header[:2])
    printed = run(capsys, "predict", "m.model", "new.csv", "--out", "-")[1]
    assert [line["sea"] for line in csv.DictReader(io.StringIO(printed))] == ["1", "0"]


def test_one_row_and_one_column_are_counted_as_one(capsys):
    write("one.csv", [[n, n % 2, n % 3 // 2] for n in range(30)], ["size", "sea", "sun"])
    write("row.csv", [[1]], ["size"])
    words = ("fit", "one.csv", "--labels", "2", "--model", "m.model", *QUICK)
    assert "30 rows, 1 column, 2 labels" in run(capsys, *words)[1]
    _, printed, _ = run(capsys, "predict", "m.model", "row.csv", "--out", "p.csv")
    assert printed == "wrote p.csv: 1 row, 2 labels\n"


@pytest.mark.parametrize("given", [[], ["--separator", "|"]])
def test_an_evaluated_file_may_have_another_separator(capsys, given):
    cells = ["sea", "sea|sun", "sun", ""]
    for name, separator in (("tags.csv", "|"), ("more.csv", ";")):
        lines = [[n, cells[n % 4].replace("|", separator)] for n in range(30)]
        write(name, lines, ["size", "genres"])
    words = ("fit", "tags.csv", "--tags", "genres", "--model", "m.model", *QUICK)
    assert run(capsys, *words)[0] == 0
    words = ("evaluate", "m.model", "more.csv", *given, "--json", "e.json")
    status, _, notes = run(capsys, *words)
    assert status == 0
    with open("e.json") as file:
        found = json.load(file)["labels"]
    if given:
        assert "tags that did not occur in training, which are ignored: sea;sun" in notes
        assert found["sun"]["rows"] == 7
    else:
        assert "are separated by ';', not by '|' as in training" in notes
        assert found["sun"]["rows"] == 15


def test_dates_of_parquet_files_are_dates(capsys):
    pytest.importorskip("pyarrow", reason="needs pip install 'pairmend[parquet]'")
    import pandas as pd

    frame = pd.DataFrame({
        "day": pd.date_range("2024-01-30", periods=30, tz="Europe/Berlin", unit="s"),
        "sea": np.arange(30) % 2, "sun": np.arange(30) % 3 // 2,
    })  # fmt: skip
    frame.to_parquet("days.parquet")
    frame.assign(day=frame["day"].dt.tz_convert("UTC").dt.tz_localize(None)).to_csv(
        "days.csv", index=False
    )
    scores = {}
    for name in ("days.parquet", "days.csv"):
        words = ("fit", name, "--labels", "2", "--model", f"{name}.model", *QUICK, "--json", "-")
        _, printed, _ = run(capsys, *words)
        assert json.loads(printed)["columns"][0]["taken as"] == "date"
        run(capsys, "predict", f"{name}.model", "days.csv", "--proba", "--out", "p.csv")
        with open("p.csv") as file:
            scores[name] = file.read()
        frame_scores = load_model(f"{name}.model").predict_proba(frame[["day"]])
        np.testing.assert_allclose(
            frame_scores, np.loadtxt("p.csv", delimiter=",", skiprows=1), rtol=1e-12
        )
    assert scores["days.parquet"] == scores["days.csv"]
