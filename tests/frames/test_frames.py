"""Frames are encoded in the same way for all dtypes, libraries and classifiers."""

import re
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from pairmend import (
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    MendedClassifier,
    RandomSubspaceNB,
)
from pairmend.base_classifiers import DenseScaler, ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance, MLkNN
from pairmend.frames import ColumnWarning, FrameEncoder
from pairmend.frames.kinds import COMPONENTS, MAX_CATEGORIES

N = 120
WORDS = ["sea", "sand", "sun", "town", "wood", "rain", "wind", "field", "snow", "road"]


@pytest.fixture(scope="module")
def columns():
    """Return plain Python values of a mixed frame, and labels that depend on them."""
    rng = np.random.RandomState(0)
    size = rng.normal(size=N)
    place = rng.choice(["coast", "field", "town"], N)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(N)]
    days = [datetime(2023, 1, 1) + timedelta(days=int(day)) for day in rng.randint(0, 700, N)]
    Y = np.column_stack([size > 0, place == "coast", ["sea" in text for text in texts]])
    values = {
        "size": [None if row % 11 == 0 else float(v) for row, v in enumerate(size)],
        "place": [None if row % 13 == 0 else str(v) for row, v in enumerate(place)],
        "day": days,
        "flag": [bool(v) for v in rng.rand(N) < 0.5],
        "note": texts,
    }
    return values, Y.astype(int)


def frames(values):
    objects = pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in values.items()})
    plain = pd.DataFrame(values)
    polars = pl.DataFrame(values)
    return {
        "object": objects,
        "category": plain.astype({"place": "category"}),
        "string": plain.astype({"place": "string", "note": "string"}),
        "nullable": plain.convert_dtypes(),
        "arrow dtypes": plain.convert_dtypes(dtype_backend="pyarrow"),
        "time zone": plain.assign(
            day=plain["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
        ),
        "date strings": plain.assign(day=plain["day"].dt.strftime("%Y-%m-%d")),
        "polars": polars,
        "polars categories": polars.cast({"place": pl.Categorical, "day": pl.Date}),
        "pyarrow": pa.table(values),
    }


@pytest.mark.parametrize(
    "clf",
    [
        MendedClassifier(cv=2, random_state=0),
        MendedClassifier(RandomSubspaceNB(), cv=2, scaling="standard", random_state=0),
        BinaryRelevance(random_state=0),
        CorrectedPairwiseClassifier(random_state=0),
        CorrectedPairwiseClassifier(ScaledLogisticRegression(), random_state=0),
    ],
    ids=["default", "mended naive Bayes", "relevance", "pairwise", "pairwise logistic"],
)
def test_the_same_values_give_the_same_predictions(columns, clf):
    values, Y = columns
    made = frames(values)
    fitted = clone(clf).fit(made["object"], Y)
    expected = fitted.predict_proba(made["object"])
    for name, frame in made.items():
        ours = clone(clf).fit(frame, Y).predict_proba(frame)
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12, err_msg=name)
        # A frame of another library than that of fit gives the same, too.
        again = fitted.predict_proba(frame)
        np.testing.assert_allclose(again, expected, rtol=0, atol=1e-12, err_msg=name)


def test_distances_of_a_column_do_not_depend_on_other_columns(columns):
    values, Y = columns
    for name, frame in frames(values).items():
        clf = MendedClassifier(cv=2, random_state=0).fit(frame, Y)
        assert set(clf.search_["scaling"]) == {"global", "range", "standard", "log_odds"}, name
        kinds = {column.name: column.kind for column in clf.frame_encoder_.columns_}
        assert kinds == {
            "size": "number", "place": "category", "day": "date", "flag": "number",
            "note": "text",
        }  # fmt: skip


def test_numbers_in_a_frame_are_those_of_an_array(small_set):
    X, Y = small_set
    X = X.copy()
    X[::7, 1] = np.nan
    plain = MendedClassifier(cv=2, random_state=0).fit(X, Y).predict_proba(X)
    names = [f"f{f}" for f in range(X.shape[1])]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        clf = MendedClassifier(cv=2, random_state=0).fit(frame, Y)
        np.testing.assert_allclose(clf.predict_proba(frame), plain, rtol=0, atol=1e-12)
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_allclose(clf.predict_proba(X), plain, rtol=0, atol=1e-12)


def encoded(values, **options):
    return FrameEncoder(**options).fit(pd.DataFrame({"x": values}))


MANY = [f"code {i % 30}" for i in range(300)]
SENTENCES = [f"the {w} and the {v} number{i}" for i, w in enumerate(WORDS) for v in WORDS]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, 2, None], "number"),
        ([True, False, None], "number"),
        ([Decimal("1.5"), Decimal("2"), None], "number"),
        (["1.5", "-2e3", None], "number"),
        ([f"{i / 7:.4f}" for i in range(100)], "number"),  # distinct, but no identifier
        (["00501", "10001"], "category"),
        (["red", "blue", None], "category"),
        (["3", "red"], "category"),
        (MANY, "category"),
        (pd.Categorical([1, 2, 1]), "category"),
        (pd.Categorical(["1.5", "2"]), "category"),
        ([date(2024, 1, 1), datetime(2024, 1, 2, 3)], "date"),
        (["2024-01-01", "2024-12-31T10:00"], "date"),
        ([timedelta(hours=1), timedelta(days=2)], "number"),
        (SENTENCES, "text"),
        (SENTENCES[:5] * 100, "category"),
        (["\u22125", "7"], "category"),
        (["1_000", "7"], "category"),
        (["inf", "7"], "category"),
    ],
    ids=repr,
)
def test_kinds(values, kind):
    assert encoded(values).columns_[0].kind == kind


def test_dates_are_instants():
    noon = 19738 + 0.5  # days from 1970 to 2024-01-16 12:00 UTC
    assert (date(2024, 1, 16) - date(1970, 1, 1)).days == 19738
    aware = datetime(2024, 1, 16, 12, tzinfo=UTC)
    for values in (
        [datetime(2024, 1, 16, 12)],
        [aware, None],
        ["2024-01-16 12:00", "2024-01-16T14:00+02:00"],
        pd.Series([aware]).astype("datetime64[ns, America/Lima]"),
        pd.Series([aware]).dt.tz_localize(None).astype("datetime64[s]"),
    ):
        numbers = encoded(values).transform(pd.DataFrame({"x": values}))
        assert numbers[0, 0] == noon
        # Seven numbers: days, and points on the circles of year, week and day.
        assert numbers.shape[1] == 7
        np.testing.assert_allclose(numbers[0, 5:], [0, -1], atol=1e-9)  # noon
        year = 2 * np.pi * noon / 365.2425
        np.testing.assert_allclose(numbers[0, 1:3], [np.sin(year), np.cos(year)])
        missing = encoded(values).transform(pd.DataFrame({"x": [None]}))
        np.testing.assert_array_equal(missing, [[np.nan] + [0] * 6])


@pytest.mark.parametrize("text", ["31.12.2024", "12/31/2024 10:30 pm", "2024/12/31", " 2024-1-2"])
def test_dates_in_other_formats_are_strings_with_a_warning(text):
    message = f"'x': its dates, such as '{re.escape(text)}', .*pandas.to_datetime.* as 2024-12-31"
    with pytest.warns(ColumnWarning, match=message):
        encoder = encoded([text, "n/a", text])
    assert encoder.columns_[0].kind == "category"
    with pytest.raises(ValueError, match="'x' holds strings .*; expected dates in ISO 8601"):
        FrameEncoder(kinds={"x": "date"}).fit(pd.DataFrame({"x": [text]}))


@pytest.mark.parametrize("text", ["26,6", "1.234,50", "10 €", "$12.50", "3 %"])
def test_numbers_in_other_notations_are_strings_with_a_warning(text):
    message = f"'x': its numbers, such as '{re.escape(text)}', are strings .*write them as 1234.5"
    with pytest.warns(ColumnWarning, match=message):
        assert encoded([text, "n/a", text]).columns_[0].kind == "category"


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([None, None], "empty", "'x': it has no values and is left out"),
        ([" ", ""], "empty", "'x': it has no value"),
        ([f"u{i}" for i in range(30)], "identifier", "'x': its 30 different values in 30 rows"),
        (pd.Categorical([f"u{i}" for i in range(30)]), "identifier", "30 different values"),
    ],
)
def test_empty_and_identifier_columns_give_a_warning(values, kind, message):
    with pytest.warns(ColumnWarning, match=message):
        encoder = encoded(values)
    assert encoder.columns_[0].kind == kind
    assert encoder.transform(pd.DataFrame({"x": ["u1", "other"]})).shape == (2, 0)


def test_columns_without_a_value_change_nothing(columns):
    values, Y = columns
    frame = pd.DataFrame(values)
    clf = MendedClassifier(cv=2, random_state=0)
    expected = clf.fit(frame, Y).predict_proba(frame)
    for hole in (np.nan, None, pd.NaT, ""):
        wide = frame.assign(hole=hole)
        with pytest.warns(ColumnWarning, match="'hole'"):
            clf.fit(wide, Y)
        np.testing.assert_array_equal(clf.predict_proba(wide), expected)
        assert clf.frame_encoder_.columns_[-1].kind == "empty"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, "red", 2.5], "'x' holds values of type float and int and str; expected"),
        ([date(2024, 1, 1), 5], "of type date and int; .*to_numeric"),
        ([[1, 2], [3]], "'x' holds values of type list; expected numbers"),
        ([1 + 2j], "type complex"),
    ],
)
def test_columns_that_cannot_be_read(values, message):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    with pytest.raises(ValueError, match=message):
        FrameEncoder().fit(frame)
    Y = np.eye(2, dtype=int)[np.arange(len(frame)) % 2]
    if len(frame) > 1:
        with pytest.raises(ValueError, match=message):
            MendedClassifier(cv=2).fit(frame, Y)


def test_other_columns_at_prediction():
    frame = pd.DataFrame({"n": [1.0, 2.0], "c": ["u", "v"], "d": ["2024-01-01", "2024-01-02"]})
    encoder = FrameEncoder().fit(frame)
    good = encoder.transform(frame.assign(n=["3", None], c=["v", "new"], d=date(2024, 1, 2)))
    np.testing.assert_array_equal(good[:, 0], [3, np.nan])
    assert good[:, 1].tolist() == [1, 2]  # one beyond the last for a new category
    assert good[:, 2].tolist() == [19724, 19724]
    for bad, message in (
        (frame.assign(n=["1", "red"]), "Column 'n' holds strings such as 'red'; expected numbers"),
        (frame.assign(n=date(2024, 1, 1)), "Column 'n' holds dates; expected numbers"),
        (frame.assign(n=np.inf), "contains infinity: column 'n', row 0"),
        (frame.assign(d="17/05/2024"), "'17/05/2024'; expected dates in ISO 8601"),
        (frame[["n", "c"]], "feature names should match"),
        (frame.to_numpy(), "pass X as a DataFrame with the same 3 columns"),
    ):
        with pytest.raises(ValueError, match=message):
            encoder.transform(bad)


def test_kinds_can_be_given():
    frame = pd.DataFrame({"zip": [501, 10001, 501], "note": ["sea sun", "sun", "sea"]})
    frame["id"] = [1, 2, 3]
    kinds = {"zip": "category", "note": "text", "id": "ignored"}
    encoder = FrameEncoder(kinds=kinds).fit(frame)
    assert [column.kind for column in encoder.columns_] == ["category", "text", "ignored"]
    assert encoder.transform(frame)[:, 0].tolist() == [1, 0, 1]
    for kinds, message in (
        ({"zap": "text"}, "names columns that X lacks: \\['zap'\\]"),
        ({"zip": "zone"}, "must be among number, category, date, text, ignored"),
        ({"note": "number"}, "'note' holds strings such as 'sea sun'; expected numbers"),
        ({"note": "date"}, "expected dates"),
    ):
        with pytest.raises(ValueError, match=message):
            FrameEncoder(kinds=kinds).fit(frame)
    with pytest.raises(ValueError, match="expects a pandas or polars frame, got a ndarray"):
        FrameEncoder().fit(frame.to_numpy())


def test_rare_categories_share_a_code():
    often = np.repeat([f"c{i:03}" for i in range(MAX_CATEGORIES + 20)], 3)
    values = [*often, "once"]
    encoder = encoded(values)
    assert encoder.n_categories_.tolist() == [MAX_CATEGORIES]
    codes = encoder.transform(pd.DataFrame({"x": ["c000", "c119", "once", "new", None]}))[:, 0]
    np.testing.assert_array_equal(codes, [0, 100, 100, 100, np.nan])
    y = np.arange(len(values)) % 2
    clf = RandomSubspaceNB(1, 1.0).fit(pd.DataFrame({"x": values}), y)
    assert clf.feature_statistics_.values.shape == (MAX_CATEGORIES + 1,)


def test_texts_with_common_words_are_near():
    notes = [" ".join([WORDS[i % 5], WORDS[(i * 3) % 5], f"w{i}", f"v{i}"]) for i in range(60)]
    encoder = encoded(notes)
    assert encoder.columns_[0].kind == "text"
    assert 1 < len(encoder.n_categories_) <= COMPONENTS
    near = GaussianNeighbourhood(1.0).fit(pd.DataFrame({"x": notes}))
    weights = near.weights(pd.DataFrame({"x": [notes[7], "unrelated things only"]}))
    # Words of a single row are left out: texts with the same other words are equally near.
    assert np.flatnonzero(np.isclose(weights[0], 1)).tolist() == list(range(2, 60, 5))
    np.testing.assert_allclose(weights[1], 1)  # equally far from all


def test_scaler_of_frames():
    frame = pd.DataFrame({"n": [0.0, 2.0, np.nan], "c": ["u", "v", None], "e": np.nan})
    with pytest.warns(ColumnWarning, match="'e'"):
        scaler = DenseScaler().fit(frame)
    expected = [[-1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_array_equal(scaler.transform(frame), expected)
    new = pl.DataFrame({"n": [4.0], "c": ["new"], "e": ["text"]})
    np.testing.assert_array_equal(scaler.transform(new), [[3, 0, 0, 0]])
    empty = np.array([[1.0, np.nan], [3.0, np.nan]])
    np.testing.assert_array_equal(DenseScaler().fit_transform(empty), [[-1, 0], [1, 0]])
    weighted = np.array([[1.0, np.nan], [3.0, np.nan], [9.0, 5.0]])
    scaled = DenseScaler().fit(weighted, sample_weight=[1, 1, 0]).transform(weighted[:2])
    np.testing.assert_array_equal(scaled, [[-1, 0], [1, 0]])


def test_rows_of_weight_0_do_not_count_for_the_encoder(columns):
    values, Y = columns
    frame = pd.DataFrame(values)
    odd = frame[:5].assign(size=1e9, place="moon", note="other words than all")
    both = pd.concat([frame, odd], ignore_index=True)
    weights = np.repeat([1.0, 0.0], [len(frame), 5])
    cv = [(np.arange(0, N, 2), np.arange(1, N, 2)), (np.arange(1, N, 2), np.arange(0, N, 2))]
    clf = MendedClassifier(cv=cv, random_state=0)
    without = clone(clf).fit(frame, Y, sample_weight=weights[:N]).predict_proba(frame)
    beside = clone(clf).fit(both, np.vstack([Y, Y[:5]]), sample_weight=weights)
    np.testing.assert_allclose(beside.predict_proba(frame), without, rtol=0, atol=1e-8)


def test_a_frame_that_only_the_base_can_read_leaves_probabilities_as_distances(columns):
    _, Y = columns
    frame = pd.DataFrame({"tokens": [["a", "b"]] * N})
    clf = MendedClassifier(DummyClassifier(), cv=2, random_state=0)
    with pytest.warns(ColumnWarning, match="predicted probabilities only.*type list"):
        clf.fit(frame, Y)
    assert clf.frame_encoder_ is None
    assert set(clf.search_["scaling"]) == {"global", "log_odds"}
    with pytest.raises(ValueError, match="type list"):
        clf.set_params(scaling="range").fit(frame, Y)


def test_other_base_classifiers_receive_the_frame(columns):
    values, Y = columns

    class Picky(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            assert isinstance(X, pd.DataFrame)
            return super().fit(X[["flag"]], y)

        def predict_proba(self, X):
            return super().predict_proba(X[["flag"]])

    frame = pd.DataFrame(values)
    clf = MendedClassifier(Picky(), cv=2, random_state=0).fit(frame, Y)
    assert clf.predict(frame).shape == Y.shape
    assert "standard" in clf.search_["scaling"]


def test_errors_of_classifiers_for_numbers_only(columns):
    values, Y = columns
    with pytest.raises(ValueError, match="'place' holds strings, and MLkNN .*ColumnTransformer"):
        MLkNN().fit(pd.DataFrame(values)[["size", "place"]], Y)


def test_partial_fit_takes_frames_of_any_library(columns):
    values, Y = columns
    found = []
    for frame in (pd.DataFrame(values), pl.DataFrame(values)):
        clf = CorrectedPairwiseClassifier(random_state=0).partial_fit(frame[:60], Y[:60])
        found.append(clf.partial_fit(frame[60:], Y[60:]).predict_proba(frame))
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)


def test_polars_needs_no_pandas():
    code = (
        "from importlib.machinery import PathFinder\n"
        "find = PathFinder.find_spec\n"
        "hide = lambda name, *rest: None if name == 'pandas' else find(name, *rest)\n"
        "PathFinder.find_spec = staticmethod(hide)\n"
        "import polars as pl, pairmend\n"
        "X = pl.DataFrame({'n': range(40), 'c': ['u', 'v'] * 20, 't': ['2024-01-01'] * 40})\n"
        "Y = [[1, 0], [0, 1]] * 20\n"
        "print(pairmend.MendedClassifier(cv=2).fit(X, Y).predict(X[:2]).tolist())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout == "[[1, 0], [0, 1]]\n", ran.stderr
