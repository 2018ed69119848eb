"""Predicting and explaining rows of files, frames and dicts with a saved model."""

import json
import re
import warnings
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pairmend import MendedClassifier, PairwiseClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.cli import main
from pairmend.datasets import load_file
from pairmend.persistence import load_model, save_model

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")
pl = pytest.importorskip("polars")

LABELS = ["sea", "sun"]
FEATURES = ["size", "hue", "grade"]


def photos(seed=0, n_rows=60):
    """A frame with numbers, texts, and categories that look like numbers."""
    rng = np.random.RandomState(seed)
    size, hue = rng.normal(size=n_rows).round(3), rng.choice(["red", "green", "blue"], n_rows)
    grade = rng.choice(["1", "2", "3"], n_rows)
    return pd.DataFrame({
        "size": size, "hue": pd.Series(hue, dtype=object),
        "grade": pd.Categorical(grade, ["1", "2", "3"]),
        "sea": ((size > 0) | (hue == "blue")).astype(int),
        "sun": ((size < 0.5) & (grade != "2")).astype(int),
    })  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with models of the command line and of Python, fitted on the same rows."""
    folder = tmp_path_factory.mktemp("models")
    photos().to_csv(folder / "photos.csv", index=False)
    words = ["fit", folder / "photos.csv", "--labels", *LABELS, "--categorical", "grade"]
    assert main([*map(str, words), "--model", str(folder / "cli.model")]) == 0
    encoder = make_column_transformer(
        (StandardScaler(), ["size"]), (OneHotEncoder(handle_unknown="ignore"), ["hue", "grade"])
    )
    for name, X in (("pandas", photos()), ("polars", pl.from_pandas(photos()))):
        clf = BinaryRelevance(make_pipeline(encoder, LogisticRegression()))
        save_model(clf.fit(X[FEATURES], photos()[LABELS]), folder / f"{name}.model")
    flagship = MendedClassifier(ScaledLogisticRegression(), cv=2, random_state=0)
    flagship.fit(photos()[FEATURES], photos()[LABELS])
    save_model(flagship, folder / "flagship.model")
    pipeline = make_pipeline(encoder, BinaryRelevance(LogisticRegression()))
    pipeline.fit(photos()[FEATURES], photos()[LABELS].to_numpy())
    save_model(pipeline, folder / "pipeline.model", X=photos()[FEATURES], label_names=LABELS)
    return folder


def predicted_by_command(folder, model, rows, out):
    """Return the exit status of ``pairmend predict``, and the probabilities that it writes."""
    rows.to_csv(out / "new.csv", index=False)
    words = ["predict", "--proba", folder / f"{model}.model", out / "new.csv", "--out"]
    status = main([*map(str, words), str(out / "y.csv")])
    return status, pd.read_csv(out / "y.csv") if status == 0 else None


KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "dicts": lambda frame: json.loads(frame.to_json(orient="records")),
    "texts": lambda frame: frame[frame.columns[::-1]].astype(str).to_dict("records"),
    "objects": lambda frame: frame.astype(object),
    "category": lambda frame: frame.assign(hue=frame["hue"].astype("category")),
    "permuted index": lambda frame: frame.set_index(np.arange(len(frame))[::-1]),
}


@pytest.mark.parametrize("model", ["cli", "pandas", "polars", "flagship", "pipeline"])
def test_all_kinds_of_rows_are_predicted_as_those_of_the_file(folder, tmp_path, capsys, model):
    new = photos(1)
    if model == "cli":  # with missing values
        new.loc[2, ["size", "hue"]] = new.loc[3, ["size", "grade"]] = None
    status, expected = predicted_by_command(folder, model, new, tmp_path)  # with labels
    assert (status, "note" in capsys.readouterr().err) == (0, False)
    saved = load_model(folder / f"{model}.model")
    tables = {name: make(new[FEATURES]) for name, make in KINDS.items()}
    new[FEATURES].to_csv(tmp_path / "table.csv", index=False)
    tables["table"] = load_file(tmp_path / "table.csv", (), categorical=["grade"])
    if model == "pipeline":  # its encoder selects columns of pandas
        del tables["polars"]
    if model == "cli":  # missing values are other texts
        del tables["texts"]
    for name, rows in tables.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # no warnings are expected
            labels, scores = saved.predict_both(rows)
        np.testing.assert_allclose(scores, expected, rtol=1e-12, err_msg=name)
        np.testing.assert_array_equal(labels, saved.predict(rows))
        np.testing.assert_array_equal(scores, saved.predict_proba(rows))


CHANGED_COLUMNS = {
    "missing": (lambda frame: frame.drop(columns="hue"), r"missing: \['hue'\]"),
    "further": (lambda frame: frame.assign(id=1), r"not known: \['id'\]"),
    "reordered": (lambda frame: frame[["hue", "size", "grade"]], r"found \['hue', 'size'"),
}


@pytest.mark.parametrize("change", CHANGED_COLUMNS)
@pytest.mark.parametrize("model", ["cli", "polars"])
def test_columns_are_those_of_fit_for_python_and_the_command_line(
    folder, tmp_path, capsys, model, change
):
    """As for scikit-learn's estimators; the order of the keys of a dict has no meaning."""
    changed, message = CHANGED_COLUMNS[change]
    rows = changed(photos(1)[FEATURES])
    saved = load_model(folder / f"{model}.model")
    for estimator in (saved, saved.estimator):
        with pytest.raises(ValueError, match="(?i)feature names"):
            estimator.predict(rows)
    assert predicted_by_command(folder, model, rows, tmp_path)[0] == 2
    assert re.search(message, capsys.readouterr().err)
    if change == "reordered":
        expected = saved.predict(rows[FEATURES])
        np.testing.assert_array_equal(saved.predict(rows.to_dict("records")), expected)
    else:
        with pytest.raises(ValueError, match=f"row 0 must have the columns .*{message}"):
            saved.predict(rows.to_dict("records"))


def test_arrays_are_passed_to_the_estimator_unchanged(tmp_path, small_set):
    X, Y = small_set
    clf = PairwiseClassifier(random_state=0).fit(X, Y)
    save_model(clf, tmp_path / "x")
    saved = load_model(tmp_path / "x")
    for rows in (X, X.tolist(), sparse.csr_array(X)):
        np.testing.assert_array_equal(saved.predict_proba(rows), clf.predict_proba(rows))
    with pytest.raises(ValueError, match="the model has no feature names"):
        saved.predict(pd.DataFrame(X, columns=list("abcdef")))
    save_model(clf, tmp_path / "x", feature_names=list("abcdef"))
    saved = load_model(tmp_path / "x")
    rows = pd.DataFrame(X, columns=list("abcdef"))
    for given in (rows, rows.to_dict("records"), pl.from_pandas(rows)):
        np.testing.assert_array_equal(saved.predict_proba(given), clf.predict_proba(X))


@pytest.mark.parametrize(("wrong", "message"), [
    ({"X": photos()}, "columns of X are .* expected those"),
    ({"X": [[1]]}, "X must be a pandas or polars frame"),
    ({"feature_names": ["a", "b", "c"]}, "feature_names and .* that the model was fitted on"),
])  # fmt: skip
def test_wrong_columns_are_an_error_of_save_model(folder, tmp_path, wrong, message):
    pipeline = load_model(folder / "pipeline.model").estimator
    with pytest.raises(ValueError, match=message):
        save_model(pipeline, tmp_path / "x.model", **wrong)


# Cells of dicts


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """A model of a frame with a boolean, a date, a number, a text and a category."""
    rng = np.random.RandomState(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.randint(300, size=60), unit="D")
    X = pd.DataFrame({"flag": rng.rand(60) > 0.5, "day": days, "size": rng.normal(size=60),
                      "hue": rng.choice(["red", "blue"], 60),
                      "grade": pd.Categorical(rng.choice(["1", "2"], 60))})  # fmt: skip
    Y = np.column_stack([X["flag"], days > pd.Timestamp("2024-06-01")]).astype(int)
    clf = MendedClassifier(ScaledLogisticRegression(), cv=2, random_state=0).fit(X, Y)
    path = tmp_path_factory.mktemp("typed") / "x.model"
    save_model(clf, path, label_names=["a", "b"])
    return X, clf, load_model(path)


DAY = datetime(2024, 7, 1)
ROW = {"flag": True, "day": DAY, "size": 0.5, "hue": "red", "grade": "2"}
SAME = {
    ("flag", True): ("true", "T", "yes", "Y", "1", 1, 1.0, np.bool_(True)),
    ("flag", False): ("false", "F", "no", "n", "0", 0, 0.0),
    ("day", DAY): ("2024-07-01", "2024-07-01T00:00:00", "2024-07-01T02:00+02:00",
                   date(2024, 7, 1), np.datetime64("2024-07-01")),
    ("size", 0.5): ("0.5", ".5", "5e-1", "+0.50", np.float32(0.5), Decimal("0.5")),
    ("size", 1500.5): ("1500.5", np.float64(1500.5)),
    ("grade", "2"): (2, 2.0),
}  # fmt: skip
REFUSED = {
    "flag": ("maybe", "on", 2, "2", DAY),
    "day": (20230601, 1.7e9, "today", "01.07.2024", True),
    "size": ("0,5", "1 000", "big", "1_0", "007", "50%", DAY),
}


def test_cells_of_dicts_are_converted_as_documented(typed):
    X, clf, saved = typed
    for (name, meant), values in SAME.items():
        expected = clf.predict_proba(pd.DataFrame([{**ROW, name: meant}]).astype(X.dtypes))
        for value in values:
            found = saved.predict_proba([{**ROW, name: value}])
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=f"{name}: {value!r}")


def test_other_cells_are_errors_with_column_row_and_value(typed):
    for name, values in REFUSED.items():
        for value in values:
            expected = f"column '{name}', row 1 is {re.escape(repr(value))}; expected "
            with pytest.raises(ValueError, match=expected):
                typed[2].predict([ROW, {**ROW, name: value}])
    with pytest.raises(ValueError, match="row 1 is a list; expected a dict"):
        typed[2].predict([ROW, [2.0]])


# Explanations


def test_frames_and_dicts_have_the_same_explanation(folder):
    X = photos()[FEATURES].set_index(pd.Index([f"p{k}" for k in range(60)]))
    saved, dicts = load_model(folder / "flagship.model"), X.to_dict("records")
    by_frame, by_dicts = saved.explain(X[:3]), saved.explain(dicts[:3], background=dicts)
    for k, (one, other) in enumerate(zip(by_frame, by_dicts, strict=True)):
        assert one.index == f"p{k}"
        assert {label.name for label in one.labels} <= {*LABELS}
        assert any(label.contributions for label in one.labels)
        assert (one.labels, one.similar) == (other.labels, other.similar)
    with pytest.raises(ValueError, match="missing: "):
        saved.explain(dicts[:1], background=[{"size": 1.0}])
    # The file has the numbers of the rows that it holds, and no others.
    assert not hasattr(saved.estimator, "validation_indices_")
