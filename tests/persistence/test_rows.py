"""Predicting rows of files, frames and dicts with a saved model."""

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
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pairmend import MendedClassifier, PairwiseClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.cli import main
from pairmend.datasets import load_file
from pairmend.persistence import UntrustedTypesError, load_model, save_model

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")
pl = pytest.importorskip("polars")

LABELS = ["sea", "sun"]
FEATURES = ["size", "hue", "grade"]


def photos(seed=0, n_rows=60):
    """A frame with numbers, texts, and categories that look like numbers."""
    rng = np.random.RandomState(seed)
    size, hue = rng.normal(size=n_rows).round(3), rng.choice(["red", "green", "blue"], n_rows)
    grade = rng.choice(["1", "2", "3"], n_rows)
    return pd.DataFrame(
        {
            "size": size,
            "hue": pd.Series(hue, dtype=object),
            "grade": pd.Categorical(grade, ["1", "2", "3"]),
            "sea": ((size > 0) | (hue == "blue")).astype(int),
            "sun": ((size < 0.5) & (grade != "2")).astype(int),
        }
    )


@pytest.fixture(scope="module")
def fits(tmp_path_factory):
    """A folder with a model of the command line and one of Python, fitted on the same rows."""
    folder = tmp_path_factory.mktemp("models")
    photos().to_csv(folder / "photos.csv", index=False)
    arguments = ["fit", folder / "photos.csv", "--labels", *LABELS, "--categorical", "grade"]
    assert main([*map(str, arguments), "--model", str(folder / "cli.model")]) == 0
    for name, X in (("pandas", photos()), ("polars", pl.from_pandas(photos()))):
        base = make_pipeline(
            make_column_transformer(
                (StandardScaler(), ["size"]),
                (OneHotEncoder(handle_unknown="ignore"), ["hue", "grade"]),
            ),
            LogisticRegression(),
        )
        clf = BinaryRelevance(base).fit(X[FEATURES], photos()[LABELS])
        save_model(clf, folder / f"{name}.model")
    return folder


def texts(frame):
    """Rows as dicts of texts, with the columns in another order."""
    rows = frame[frame.columns[::-1]].astype(str).to_dict("records")
    return rows


KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "dicts": lambda frame: json.loads(frame.to_json(orient="records")),
    "texts": texts,
    "objects": lambda frame: frame.astype(object),
    "category": lambda frame: frame.assign(hue=frame["hue"].astype("category")),
    "permuted index": lambda frame: frame.set_index(np.arange(len(frame))[::-1]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["cli", "pandas", "polars"])
def test_all_kinds_of_rows_are_predicted_as_those_of_the_file(fits, tmp_path, capsys, model, kind):
    new = photos(1)
    new.to_csv(tmp_path / "new.csv", index=False)  # with labels, which are not features
    command = ["predict", str(fits / f"{model}.model"), str(tmp_path / "new.csv")]
    assert main([*command, "--out", str(tmp_path / "labels.csv")]) == 0
    assert main([*command, "--proba", "--out", str(tmp_path / "scores.csv")]) == 0
    assert "note" not in capsys.readouterr().err
    saved = load_model(fits / f"{model}.model")
    rows = KINDS[kind](new[FEATURES])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no warnings are expected
        labels, scores = saved.predict(rows), saved.predict_proba(rows)
    np.testing.assert_array_equal(labels, pd.read_csv(tmp_path / "labels.csv"))
    np.testing.assert_allclose(scores, pd.read_csv(tmp_path / "scores.csv"), rtol=1e-12)


@pytest.mark.parametrize("model", ["pandas", "polars"])
def test_a_frame_is_predicted_as_by_the_estimator(fits, model):
    saved, new = load_model(fits / f"{model}.model"), photos(1)
    frame = KINDS[model](new[FEATURES])
    np.testing.assert_array_equal(saved.predict(frame), saved.estimator.predict(frame))
    np.testing.assert_array_equal(saved.predict_proba(frame), saved.estimator.predict_proba(frame))


def test_tables_are_predicted(fits, tmp_path):
    photos(1)[FEATURES].to_csv(tmp_path / "new.csv", index=False)
    saved = load_model(fits / "cli.model")
    table = load_file(tmp_path / "new.csv", (), categorical=["grade"])
    np.testing.assert_array_equal(saved.predict(table), saved.predict(photos(1)[FEATURES]))


CHANGED_COLUMNS = {
    "missing": (lambda frame: frame.drop(columns="hue"), "lacks 'hue'"),
    "further": (lambda frame: frame.assign(id=1), "also has 'id'"),
    "reordered": (lambda frame: frame[["hue", "size", "grade"]], "its order is 'hue', 'size'"),
}


@pytest.mark.parametrize("change", CHANGED_COLUMNS)
@pytest.mark.parametrize("model", ["cli", "pandas", "polars"])
def test_columns_are_those_of_fit_in_python_and_on_the_command_line(
    fits, tmp_path, capsys, model, change
):
    """As for scikit-learn's estimators; the order of the keys of a dict has no meaning."""
    changed, message = CHANGED_COLUMNS[change]
    rows = changed(photos(1)[FEATURES])
    saved = load_model(fits / f"{model}.model")
    for estimator in (saved, saved.estimator):
        with pytest.raises(ValueError, match="(?i)feature names"):
            estimator.predict(rows)
    rows.to_csv(tmp_path / "new.csv", index=False)
    words = ["predict", fits / f"{model}.model", tmp_path / "new.csv", "--out", tmp_path / "y.csv"]
    assert main([*map(str, words)]) == 2
    assert message in capsys.readouterr().err
    if change == "reordered":
        expected = saved.predict(rows[FEATURES])
        np.testing.assert_array_equal(saved.predict(rows.to_dict("records")), expected)
    else:
        with pytest.raises(ValueError, match=f"row 0 must have the columns .*{message}"):
            saved.predict(rows.to_dict("records"))


def test_rows_are_dicts(fits):
    saved = load_model(fits / "cli.model")
    with pytest.raises(ValueError, match="expected a dict for each row, got a list as row 1"):
        saved.predict([{"size": 1.0, "hue": "red", "grade": "1"}, [2.0]])


def test_missing_values_are_the_same_in_all_kinds(fits, tmp_path):
    new = photos(1)[FEATURES]
    new.loc[2, ["size", "hue"]] = new.loc[3, ["size", "grade"]] = None
    saved = load_model(fits / "cli.model")
    expected = saved.predict_proba(new)
    for kind in ("polars", "dicts"):
        np.testing.assert_array_equal(saved.predict_proba(KINDS[kind](new)), expected)
    new.to_csv(tmp_path / "new.csv", index=False)
    table = load_file(tmp_path / "new.csv", (), categorical=["grade"])
    np.testing.assert_array_equal(saved.predict_proba(table), expected)


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
    return X, clf, path


DAY = datetime(2024, 7, 1)
ROW = {"flag": True, "day": DAY, "size": 0.5, "hue": "red", "grade": "2"}
SAME = [
    *(("flag", value) for value in ("true", "T", "yes", "Y", "1", 1, 1.0, np.bool_(True))),
    *(("day", value) for value in ("2024-07-01", "2024-07-01T00:00:00", "2024-07-01T02:00+02:00")),
    *(("day", value) for value in (date(2024, 7, 1), np.datetime64("2024-07-01"))),
    *(("size", value) for value in ("0.5", ".5", "5e-1", "+0.50", np.float32(0.5), Decimal("0.5"))),
    ("grade", 2), ("grade", 2.0),
]  # fmt: skip
REFUSED = [
    *(("flag", value) for value in ("maybe", "on", 2, "2", DAY)),
    *(("day", value) for value in (20230601, 1.7e9, "today", "01.07.2024", True)),
    *(("size", value) for value in ("0,5", "1 000", "big", "1_0", "nan", "50%", DAY)),
]


@pytest.mark.parametrize(("name", "value"), SAME)
def test_cells_of_dicts_are_converted_as_documented(typed, name, value):
    X, clf, path = typed
    expected = clf.predict_proba(pd.DataFrame([ROW]).astype(X.dtypes))
    found = load_model(path).predict_proba([{**ROW, name: value}])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_other_cells_are_errors_with_column_row_and_value(typed, name, value):
    rows = [ROW, {**ROW, name: value}]
    expected = f"column '{name}', row 1 is {re.escape(repr(value))}; expected "
    with pytest.raises(ValueError, match=expected):
        load_model(typed[2]).predict(rows)


def test_false_is_not_true(typed):
    X, clf, path = typed
    saved = load_model(path)
    expected = clf.predict_proba(pd.DataFrame([{**ROW, "flag": False}]).astype(X.dtypes))
    for value in ("false", "F", "no", "n", "0", 0, 0.0):
        np.testing.assert_allclose(saved.predict_proba([{**ROW, "flag": value}]), expected)
    assert abs(expected - saved.predict_proba([ROW])).max() > 0.01


def test_a_file_with_booleans_of_postgresql(typed, tmp_path):
    X, clf, path = typed
    X.assign(flag=np.where(X["flag"], "t", "f")).to_csv(tmp_path / "x.csv", index=False)
    words = ["predict", "--proba", path, tmp_path / "x.csv", "--out", tmp_path / "y.csv"]
    assert main([*map(str, words)]) == 0
    np.testing.assert_allclose(pd.read_csv(tmp_path / "y.csv"), clf.predict_proba(X), rtol=1e-12)


def test_numbers_never_pass_through_text(tmp_path):
    """A model of a file with decimal commas: 50.25 was 50250, as 50,25 and 50.250 are texts."""
    rng = np.random.RandomState(0)
    size = rng.randint(100, 9000, 80) / 100
    lines = [f"{x:.2f};{int(x > 45)};{int(x < 30)}".replace(".", ",") for x in size]
    (tmp_path / "x.csv").write_text("\n".join(["size;sea;sun", *lines]), encoding="utf-8")
    words = ["fit", tmp_path / "x.csv", "--labels", "2", "--decimal", ",", "--model",
             tmp_path / "x.model", "--method", "BinaryRelevance"]  # fmt: skip
    assert main([*map(str, words)]) == 0
    saved = load_model(tmp_path / "x.model")
    for number in (50.25, 50.125, 1500.5, 1e-7):
        expected = saved.predict_proba(pd.DataFrame({"size": [number]}))
        for value in (number, repr(number), np.float64(number)):
            np.testing.assert_array_equal(saved.predict_proba([{"size": value}]), expected)
    (quarter, eighth) = saved.predict_proba([{"size": 50.25}, {"size": 50.125}])
    np.testing.assert_allclose(quarter, eighth, atol=0.02)


def test_column_types_of_X_are_saved_for_pipelines(tmp_path):
    frame = photos()
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["hue", "grade"])),
        BinaryRelevance(LogisticRegression()),
    ).fit(frame[FEATURES], frame[LABELS].to_numpy())
    save_model(pipeline, tmp_path / "x.model", X=frame[FEATURES], label_names=LABELS)
    expected = pipeline.predict_proba(frame[FEATURES])
    frame.to_csv(tmp_path / "x.csv", index=False)
    arguments = ["predict", "--proba", tmp_path / "x.model", tmp_path / "x.csv", "--out"]
    assert main([*map(str, arguments), str(tmp_path / "y.csv")]) == 0
    np.testing.assert_allclose(pd.read_csv(tmp_path / "y.csv"), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="the columns of X are"):
        save_model(pipeline, tmp_path / "x.model", X=frame)
    with pytest.raises(ValueError, match="X must be a pandas or polars frame"):
        save_model(pipeline, tmp_path / "x.model", X=[[1]])
    with pytest.raises(ValueError, match="feature_names are .* fitted on a frame"):
        save_model(pipeline, tmp_path / "x.model", feature_names=["a", "b", "c"])


def test_arrays_are_passed_to_the_estimator_unchanged(tmp_path, small_set):
    X, Y = small_set
    clf = PairwiseClassifier(random_state=0).fit(X, Y)
    save_model(clf, tmp_path / "x")
    saved = load_model(tmp_path / "x")
    for rows in (X, X.tolist(), sparse.csr_array(X)):
        np.testing.assert_array_equal(saved.predict_proba(rows), clf.predict_proba(rows))
    with pytest.raises(ValueError, match="the model has no feature names"):
        saved.predict(pd.DataFrame(X, columns=list("abcdef")))


def test_models_that_cannot_be_loaded_are_not_saved(tmp_path, small_set):
    X, Y = small_set
    clf = PairwiseClassifier(HistGradientBoostingClassifier(max_iter=2)).fit(X, Y)
    with pytest.raises(UntrustedTypesError, match="TreePredictor.*has not been saved") as caught:
        save_model(clf, tmp_path / "x")
    assert not (tmp_path / "x").exists()
    save_model(clf, tmp_path / "x", trusted=caught.value.types)
    with pytest.raises(UntrustedTypesError, match="TreePredictor"):
        load_model(tmp_path / "x")
    saved = load_model(tmp_path / "x", trusted=caught.value.types)
    np.testing.assert_array_equal(saved.predict(X), clf.predict(X))


def test_a_cache_of_fits_is_not_saved(tmp_path, small_set):
    X, Y = small_set
    base = make_pipeline(StandardScaler(), LogisticRegression(), memory=str(tmp_path / "cache"))
    clf = PairwiseClassifier(base).fit(X, Y)
    save_model(clf, tmp_path / "x")
    loaded = load_model(tmp_path / "x").estimator
    assert loaded.estimator.memory is None
    np.testing.assert_array_equal(loaded.predict(X), clf.predict(X))


def test_default_frames_of_the_flagship(tmp_path):
    """The default base, on a frame with texts, through the command line."""
    frame = photos()
    clf = MendedClassifier(ScaledLogisticRegression(), cv=2, random_state=0)
    clf.fit(frame[FEATURES], frame[LABELS])
    save_model(clf, tmp_path / "x.model")
    frame.to_csv(tmp_path / "x.csv", index=False)
    arguments = ["predict", "--proba", tmp_path / "x.model", tmp_path / "x.csv", "--out"]
    assert main([*map(str, arguments), str(tmp_path / "y.csv")]) == 0
    expected = clf.predict_proba(frame[FEATURES])
    np.testing.assert_allclose(pd.read_csv(tmp_path / "y.csv"), expected, rtol=1e-12)
