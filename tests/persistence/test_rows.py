"""Predicting rows of files, frames and dicts with a saved model; reproducible files."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pairmend import BinaryRelevance, MendedClassifier, PairwiseClassifier
from pairmend.base_classifiers import logistic_regression
from pairmend.cli import main
from pairmend.datasets import load_table
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


KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "dicts": lambda frame: json.loads(frame.to_json(orient="records")),
    "texts": lambda frame: frame.astype(str),
    "objects": lambda frame: frame.astype(object),
    "grades as int": lambda frame: frame.assign(grade=frame["grade"].astype(int)),
    "grades as float": lambda frame: frame.assign(grade=frame["grade"].astype(float)),
    "category": lambda frame: frame.assign(hue=frame["hue"].astype("category")),
    "other order, more columns": lambda frame: frame[frame.columns[::-1]],
    "permuted index": lambda frame: frame.set_index(np.arange(len(frame))[::-1]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["cli", "pandas", "polars"])
def test_all_kinds_of_rows_are_predicted_as_those_of_the_file(fits, tmp_path, capsys, model, kind):
    new = photos(1)
    new.to_csv(tmp_path / "new.csv", index=False)
    command = ["predict", str(fits / f"{model}.model"), str(tmp_path / "new.csv")]
    assert main([*command, "--out", str(tmp_path / "labels.csv")]) == 0
    assert main([*command, "--proba", "--out", str(tmp_path / "scores.csv")]) == 0
    assert "note" not in capsys.readouterr().err
    saved = load_model(fits / f"{model}.model")
    rows = KINDS[kind](new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no warnings are expected
        labels, scores = saved.predict(rows), saved.predict_proba(rows)
    np.testing.assert_array_equal(labels, pd.read_csv(tmp_path / "labels.csv"))
    np.testing.assert_allclose(scores, pd.read_csv(tmp_path / "scores.csv"), rtol=1e-12)


@pytest.mark.parametrize("model", ["pandas", "polars"])
def test_a_frame_is_predicted_as_by_the_estimator(fits, model):
    saved, new = load_model(fits / f"{model}.model"), photos(1)
    frame = KINDS[model](new)[FEATURES]
    np.testing.assert_array_equal(saved.predict(frame), saved.estimator.predict(frame))
    np.testing.assert_array_equal(saved.predict_proba(frame), saved.estimator.predict_proba(frame))


def test_tables_are_predicted(fits, tmp_path):
    photos(1).to_csv(tmp_path / "new.csv", index=False)
    saved = load_model(fits / "cli.model")
    table = load_table(tmp_path / "new.csv", categorical=["grade"])
    np.testing.assert_array_equal(saved.predict(table), saved.predict(photos(1)))


@pytest.mark.parametrize("kind", ["pandas", "polars", "dicts"])
@pytest.mark.parametrize("model", ["cli", "pandas", "polars"])
def test_warnings_equal_the_notes_of_the_command_line(fits, tmp_path, capsys, model, kind):
    new = photos(1).assign(name="x").drop(columns=LABELS)
    new.loc[3, "hue"] = "mauve"
    new.to_csv(tmp_path / "new.csv", index=False)
    arguments = ["predict", str(fits / f"{model}.model"), str(tmp_path / "new.csv")]
    assert main([*arguments, "--out", str(tmp_path / "labels.csv")]) == 0
    printed = capsys.readouterr().err.splitlines()
    assert len(printed) == 2
    with pytest.warns(UserWarning, match="columns not used: name") as caught:
        labels = load_model(fits / f"{model}.model").predict(KINDS[kind](new))
    assert [f"note: {each.message}" for each in caught] == printed
    assert "column 'hue' holds values that did not occur in training" in printed[1]
    np.testing.assert_array_equal(labels, pd.read_csv(tmp_path / "labels.csv"))


@pytest.mark.parametrize("model", ["cli", "pandas", "polars"])
def test_errors_name_the_column_and_row(fits, model):
    saved = load_model(fits / f"{model}.model")
    with pytest.raises(ValueError, match="X lacks 1 of the 3 columns .*: 'size'"):
        saved.predict(photos(1)[["hue", "grade"]])
    wrong = photos(1).astype({"size": object})
    wrong.loc[1, "size"] = "big"
    with pytest.raises(ValueError, match="column 'size' must hold numbers.* 'big' in row 1"):
        saved.predict(wrong)
    with pytest.raises(ValueError, match="two columns have the same name"):
        saved.predict(pd.concat([photos(1), photos(1)], axis=1))
    with pytest.raises(ValueError, match="expected a dict for each row"):
        saved.predict([{"size": 1.0}, [2.0]])


def test_missing_values_are_the_same_in_all_kinds(fits, tmp_path):
    new = photos(1)
    new.loc[2, ["size", "hue", "grade"]] = None
    saved = load_model(fits / "cli.model")
    expected = saved.predict_proba(new)
    for kind in ("polars", "dicts"):
        np.testing.assert_array_equal(saved.predict_proba(KINDS[kind](new)), expected)
    new.to_csv(tmp_path / "new.csv", index=False)
    table = load_table(tmp_path / "new.csv", categorical=["grade"])
    np.testing.assert_array_equal(saved.predict_proba(table), expected)
    without = [{k: v for k, v in row.items() if v is not None} for row in KINDS["dicts"](new)]
    np.testing.assert_array_equal(saved.predict_proba(without), expected)


def test_bools_and_dates(tmp_path):
    rng = np.random.RandomState(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.randint(300, size=40), unit="D")
    X = pd.DataFrame({"flag": rng.rand(40) > 0.5, "day": days, "size": rng.normal(size=40)})
    Y = np.column_stack([X["flag"], days > pd.Timestamp("2024-06-01")]).astype(int)
    base = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["flag", "day"])),
        LogisticRegression(),
    )
    clf = BinaryRelevance(base).fit(X, Y)
    save_model(clf, tmp_path / "x.model", label_names=["a", "b"])
    saved = load_model(tmp_path / "x.model")
    assert saved.frame.kinds == ("boolean", "date", "number")
    X.to_csv(tmp_path / "x.csv", index=False)
    arguments = ["predict", tmp_path / "x.model", tmp_path / "x.csv", "--out", tmp_path / "y.csv"]
    assert main([*map(str, arguments)]) == 0
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "y.csv"), clf.predict(X))
    rows = [{"flag": str(f), "day": d.isoformat(), "size": s} for f, d, s in X.to_numpy()]
    np.testing.assert_array_equal(saved.predict(rows), clf.predict(X))
    with pytest.raises(ValueError, match="column 'day' must hold dates.*'today' in row 0"):
        saved.predict([{"flag": True, "day": "today", "size": 1.0}])


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
    with pytest.raises(ValueError, match="X has the columns"):
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


def test_models_fitted_on_codes_of_categories(tmp_path, small_set):
    X = np.column_stack([np.arange(60) % 3, np.arange(60) / 60])
    Y = np.column_stack([X[:, 0] == 1, X[:, 1] > 0.4]).astype(int)
    clf = BinaryRelevance(LogisticRegression()).fit(X, Y)
    hues = ("blue", "green", "red")
    save_model(clf, tmp_path / "x", feature_names=["hue", "size"], categories={0: hues})
    rows = [{"size": size, "hue": hues[int(code)]} for code, size in X]
    found = load_model(tmp_path / "x").predict_proba(rows)
    np.testing.assert_array_equal(found, clf.predict_proba(X))


FIT_AND_SAVE = """
import sys
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from pairmend import (
    BinaryRelevance, CorrectedPairwiseClassifier, MendedClassifier, MLkNN, PairwiseClassifier
)
from pairmend.persistence import save_model
rng = np.random.RandomState(0)
X = rng.normal(size=(50, 4))
Y = (X[:, :3] + rng.normal(size=(50, 3)) > 0).astype(int)
frame = pd.DataFrame(X, columns=list("abcd"))
frame["hue"] = np.where(X[:, 0] > 0, "red", "blue")
texts = np.where(X[:, 0] > 0, "a red photo of the sea", "a blue photo in the town")
words = TfidfVectorizer(stop_words=["the", "in", "of", "a"])
of_words = make_pipeline(words, LogisticRegression())
models = [
    MendedClassifier(random_state=0).fit(frame, Y),
    CorrectedPairwiseClassifier(random_state=0).fit(X, Y),
    PairwiseClassifier(RandomForestClassifier(3), random_state=0).fit(X, Y),
    MLkNN().fit(X, Y),
    BinaryRelevance(of_words, random_state=0).fit(texts.tolist(), Y),
]
models[0].remarks_ = {"sea", "sun", "sand", "surf"}  # the order of texts in a set is random
for number, model in enumerate(models):
    print(save_model(model, f"{sys.argv[1]}-{number}"))
"""


def test_two_fits_in_two_processes_give_the_same_bytes(tmp_path):
    for hash_seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", FIT_AND_SAVE, tmp_path / hash_seed],
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )
    for number in range(5):
        first, second = ((tmp_path / f"{seed}-{number}").read_bytes() for seed in "12")
        assert first == second, number
    assert load_model(tmp_path / "1-0").estimator.remarks_ == {"sea", "sun", "sand", "surf"}


def test_a_loaded_model_is_saved_in_the_same_bytes(fits, tmp_path):
    saved = load_model(fits / "pandas.model")
    assert save_model(saved.estimator, tmp_path / "again") == saved.sha256


def test_models_that_cannot_be_loaded_are_not_saved(tmp_path, small_set):
    X, Y = small_set
    clf = PairwiseClassifier(HistGradientBoostingClassifier(max_iter=2)).fit(X, Y)
    with pytest.raises(UntrustedTypesError, match="TreePredictor.*trusted=") as caught:
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
    clf = MendedClassifier(logistic_regression(), cv=2, random_state=0)
    clf.fit(frame[FEATURES], frame[LABELS])
    save_model(clf, tmp_path / "x.model")
    frame.to_csv(tmp_path / "x.csv", index=False)
    arguments = ["predict", "--proba", tmp_path / "x.model", tmp_path / "x.csv", "--out"]
    assert main([*map(str, arguments), str(tmp_path / "y.csv")]) == 0
    expected = clf.predict_proba(frame[FEATURES])
    np.testing.assert_allclose(pd.read_csv(tmp_path / "y.csv"), expected, rtol=1e-12)
