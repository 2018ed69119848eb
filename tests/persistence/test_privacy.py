"""What a model file holds of its training rows: no identifier, text, number or date of a row."""

import io
import re
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from pairmend import CorrectedPairwiseClassifier, MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import MLkNN
from pairmend.cli import main
from pairmend.persistence import load_model, save_model
from public_classifiers import CLASSIFIERS, ONE_DIMENSIONAL, made

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")

N_ROWS = 120
HOLD_ROWS = {"MLkNN", "LabelPowerset"}
"""Classifiers whose files hold numbers of rows, as SECURITY.md states: all of them, and those
of label sets that occur in one row."""
NUMBERS_ONLY = {
    "ClassifierChainEnsemble", "MLkNN", "PairwisePerceptrons", "ParallelHyperplanesSVM",
    "ThresholdedClassifier",
}  # fmt: skip


def table():
    """Return people's rows: each id, e-mail, number and date occurs once, some words do, too."""
    rng = np.random.RandomState(0)
    number = rng.normal(40, 9, N_ROWS)
    seconds = rng.choice(40_000_000, N_ROWS, replace=False)
    date = np.datetime64("2023-01-01T00:00:00") + seconds.astype("timedelta64[s]")
    place = rng.choice(["coast", "town", "hills"], N_ROWS)
    words = rng.choice(["calm", "busy", "sunny", "rainy", "quiet", "noisy"], (N_ROWS, 3))
    note = [f"{a} and {b} near {c} says person{k:04d}" for k, (a, b, c) in enumerate(words)]
    X = pd.DataFrame({
        "id": [f"K{k:05d}Z" for k in rng.permutation(N_ROWS)],
        "mail": [f"user{k:04d}@mail.example" for k in rng.permutation(N_ROWS)],
        "note": note, "number": number, "date": pd.Series(date), "place": place,
    })  # fmt: skip
    Y = pd.DataFrame({
        "sea": (place == "coast") | (number > 50), "sun": words[:, 0] < "n",
        "car": (place == "town") & (number > 30), "dog": rng.rand(N_ROWS) < 0.4,
    })  # fmt: skip
    return X, Y.astype(int)


X, Y = table()


def contents(path):
    """Return the bytes of a model file: its head, and all members of its archives, unpacked."""
    whole = path.read_bytes()
    head, start, packed = whole.partition(b"PK\x03\x04")
    waiting, found = [start + packed], [head]
    while waiting:
        data = waiting.pop()
        if not data.startswith(b"PK\x03\x04"):
            found.append(data)
            continue
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            waiting += [archive.read(name) for name in archive.namelist()]
    return b"\0\0".join(found)


def leaks(path, columns):
    """Return the cells of columns, and words of single rows, that a model file holds."""
    whole = contents(path)
    texts, numbers = {}, {}
    for name in columns:
        if name in ("id", "mail"):
            texts[name] = X[name].tolist()
        elif name == "note":
            texts[name] = [*X[name], *re.findall(r"person\d{4}", " ".join(X[name]))]
        elif name in ("number", "date"):
            cells = X[name]
            if name == "date":
                seconds = cells.to_numpy().astype("datetime64[s]").astype(np.int64)
                numbers["date"] = [seconds / 86_400, seconds * 1.0, seconds, seconds * 10**6,
                                   seconds * 10**9]  # fmt: skip
                texts["date"] = cells.dt.strftime("%Y-%m-%dT%H:%M:%S").tolist()
            else:
                numbers["number"] = [cells.to_numpy()]
                texts["number"] = [repr(value) for value in cells.tolist()]
    found = {
        f"{name} as a text": [cell for cell in cells
                              if any(cell.encode(code) in whole for code in ("utf-8", "utf-32-le"))]
        for name, cells in texts.items()
    } | {
        f"{name} as 8 bytes": [value for value in array.tolist()
                               if np.array(value, array.dtype).tobytes() in whole]
        for name, arrays in numbers.items() for array in arrays
    }  # fmt: skip
    return {what: cells[:3] for what, cells in found.items() if cells}


def fitted(name):
    """Fit a classifier on the columns that it takes; return it with their names."""
    columns = ["number"] if name in NUMBERS_ONLY else list(X)
    y = X["place"] if name in ONE_DIMENSIONAL else Y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that are left out
        return made(name).fit(X[columns], y), columns


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_files_hold_no_cells_of_training_rows(tmp_path, name):
    model, columns = fitted(name)
    path = tmp_path / "x.model"
    save_model(model, path)
    if name in HOLD_ROWS:
        assert leaks(path, columns) != {}
    else:
        assert leaks(path, columns) == {}
    labels, proba = load_model(path).predict_both(X[columns])
    np.testing.assert_array_equal(labels, model.predict(X[columns]))
    np.testing.assert_array_equal(proba, model.predict_proba(X[columns]))


@pytest.mark.parametrize("method", ["MendedClassifier", "PairwiseClassifier", "RAkEL"])
def test_files_of_the_command_line_hold_no_cells_of_training_rows(tmp_path, capsys, method):
    columns = list(X)
    path = tmp_path / "x.model"
    X[columns].join(Y).to_csv(tmp_path / "x.csv", index=False, float_format="%.17g")
    words = ["fit", tmp_path / "x.csv", "--labels", *Y, "--method", method, "--model", path]
    status = main([*map(str, words)])
    printed, notes = capsys.readouterr()
    if status:
        pytest.skip(notes)
    assert leaks(path, columns) == {}
    assert "It holds " in printed


def test_the_contents_are_listed_in_a_line(tmp_path):
    clf = MendedClassifier(ScaledLogisticRegression(), cv=2, scaling="range", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, contents = save_model(clf.fit(X, Y), tmp_path / "x.model")
        _, of_pairs = save_model(
            CorrectedPairwiseClassifier(random_state=0).fit(X, Y), tmp_path / "y.model",
            updates=True,
        )  # fmt: skip
    n_words = len({word for note in X["note"] for word in note.split()} - {
        word for word in " ".join(X["note"]).split() if word.startswith("person")
    })  # fmt: skip
    expected = f"120 rows of {{}} features scaled, with labels; 3 names of categories; {n_words} "
    width = clf._corrector.by_label.scalings["range"].neighbourhood.points_.shape[1]
    assert contents == f"{expected.format(width)}words; 4 names of labels"
    assert "48 rows as given for partial_fit" in of_pairs
    _, of_neighbours = save_model(MLkNN().fit(X[["number"]], Y), tmp_path / "z.model")
    assert (
        of_neighbours == "120 rows of 1 feature as they were given, with labels; 4 names of labels"
    )


@pytest.mark.parametrize("classifier", [
    MendedClassifier(ScaledLogisticRegression(), cv=2, scaling="range", random_state=0),
    CorrectedPairwiseClassifier(random_state=0),
])  # fmt: skip
def test_explanations_of_a_loaded_model_look_rows_up_in_training(tmp_path, classifier):
    rows = X[["number", "place"]]
    clf = classifier.fit(rows, Y)
    save_model(clf, tmp_path / "x.model")
    saved = load_model(tmp_path / "x.model")
    assert not hasattr(saved.estimator, "validation_indices_")
    expected = clf.explain(rows[:5], training=rows)
    assert list(saved.explain(rows[:5], training=rows)) == list(expected)
    # In another order, they have other numbers.
    turned = saved.explain(rows[:5], training=rows[::-1].reset_index(drop=True))
    for one, other in zip(expected, turned, strict=True):
        assert [N_ROWS - 1 - row.row for row in other.training_rows] == [
            row.row for row in one.training_rows
        ]
    without = saved.explain(rows[:5])
    assert [each.labels for each in without] == [each.labels for each in expected]
    with pytest.raises(ValueError, match="rows that the model holds are not among the rows of"):
        saved.explain(rows[:5], training=rows[:40])


def test_partial_fit_needs_a_file_with_what_it_needs(tmp_path):
    rows = X[["number", "place"]]
    clf = CorrectedPairwiseClassifier(random_state=0).fit(rows[:80], Y[:80])
    save_model(clf, tmp_path / "x.model")
    save_model(clf, tmp_path / "y.model", updates=True)
    assert leaks(tmp_path / "y.model", ["number"]) != {}
    with pytest.raises(ValueError, match=r"save_model\(..., updates=True\)"):
        load_model(tmp_path / "x.model").estimator.partial_fit(rows[80:], Y[80:])
    again = load_model(tmp_path / "y.model").estimator.partial_fit(rows[80:], Y[80:])
    expected = clf.partial_fit(rows[80:], Y[80:]).predict_proba(rows)
    np.testing.assert_array_equal(again.predict_proba(rows), expected)
