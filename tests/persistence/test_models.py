"""Saving models, and loading them in another process; what a file holds of its training rows."""

import io
import os
import pickle
import re
import shutil
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn import ensemble
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import pairmend
from pairmend import CorrectedPairwiseClassifier, MendedClassifier, PairwiseClassifier, thresholds
from pairmend.baselines import MLkNN
from pairmend.frames import ColumnWarning
from pairmend.persistence import ModelFileError, load_model, save_load, save_model
from public_classifiers import CLASSIFIERS, ONE_DIMENSIONAL, data_for, made, rows

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")

LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())


def frame(X):
    """Return rows with numbers, categories, texts and missing values."""
    table = pd.DataFrame(X.copy(), columns=list("abcde"))
    table["a"] = pd.Categorical(np.where(X[:, 0] > 0.5, "more", "less"), ["less", "more", "never"])
    table["b"] = np.where(X[:, 1] > 0.5, "a red photo", "the blue sea")
    table.loc[3, ["a", "c"]] = None
    return table


def wide(X):
    """Return so many features, and so few cells, that rows stay sparse."""
    cells = np.random.default_rng(0).binomial(1, 0.01, (len(X), 300)).astype(float)
    return sparse.csr_array(np.hstack([X * (X > 0.5), cells]))


corrected = CorrectedPairwiseClassifier
thresholded = pairmend.ThresholdedClassifier
# Besides every public classifier on an array: other rows, and other parts.
FURTHER = {
    "forest": (PairwiseClassifier(ensemble.RandomForestClassifier(3)), np.array),
    "frame": (PairwiseClassifier(), frame),
    "corrected frame": (corrected(balance="labels"), frame),
    "corrected sparse": (corrected(estimator=LogisticRegression()), wide),
    "overlap": (corrected(estimator=LOGISTIC, validation=3, overlap=0.5), np.array),
    "adaptive": (
        corrected(
            neighbourhood=pairmend.AdaptiveNeighbourhood(5, transform=StandardScaler()),
            reference="crisp", random_state=np.random.RandomState(0),
        ),
        np.array,
    ),
    "pipeline": (
        make_pipeline(StandardScaler(), corrected(neighbourhood=pairmend.GlobalNeighbourhood())),
        np.array,
    ),
    "mended frame": (MendedClassifier(criterion="micro_f1", cv=2), frame),
    "mended sparse": (MendedClassifier(criterion="zero_one", cv=2), wide),
    "neighbours sparse": (MLkNN(3), wide),
    **{
        type(rule).__name__: (thresholded(PairwiseClassifier(GaussianNB()), rule, cv=2), np.array)
        for rule in (
            thresholds.FixedThreshold(0.4), thresholds.CardinalityThreshold(),
            thresholds.F1Thresholds(), thresholds.BatchF1Thresholds(), thresholds.TopLabels(),
            thresholds.NeverEmpty(), thresholds.PrecisionControl(0.3, confidence=0.3),
            thresholds.RecallControl(0.8),
        )
    },
}  # fmt: skip

ELSEWHERE = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    inputs = pickle.load(file)
from pairmend.persistence import load_model
for name, (path, X) in inputs.items():
    model = load_model(path)
    labels, proba = model.predict_both(X)
    text = "\\n".join(map(str, model.explain(X[:2]))) if hasattr(model.estimator, "explain") else ""
    inputs[name] = labels, proba, text
with open(sys.argv[1], "wb") as file:
    pickle.dump(inputs, file)
"""


@pytest.fixture(scope="module")
def fitted():
    """Fitted models by name, with rows."""
    X, Y = rows()
    found = {}
    for name in CLASSIFIERS:
        X, y = data_for(name)
        found[name] = made(name).fit(X, y), X
    for name, (classifier, make) in FURTHER.items():
        found[name] = classifier.fit(make(X), Y), make(X)
    return found


def compare_elsewhere(models, folder, **environment):
    """Save models, load them in another process, and compare predictions and explanations."""
    inputs = {name: (str(folder / f"{name}.model"), X) for name, (_, X) in models.items()}
    for name, (model, _) in models.items():
        save_model(model, inputs[name][0])
    pd.to_pickle(inputs, folder / "inputs", compression=None)
    command = [sys.executable, "-c", ELSEWHERE, folder / "inputs"]
    subprocess.run(command, check=True, env={**os.environ, **environment})
    there = pd.read_pickle(folder / "inputs", compression=None)
    for name, (model, X) in models.items():
        labels, proba, text = there[name]
        np.testing.assert_array_equal(model.predict(X), labels, err_msg=name)
        np.testing.assert_array_equal(model.predict_proba(X), proba, err_msg=name)
        if text:
            assert text == "\n".join(map(str, load_model(inputs[name][0]).explain(X[:2])))


def test_another_process_predicts_and_explains_the_same_bit_for_bit(fitted, tmp_path):
    compare_elsewhere(fitted, tmp_path)


MOVED = {"mended.corrector": "mended.chosen", "frames.kinds": "_utils.column_kinds"}


def test_models_are_loaded_after_modules_were_moved(fitted, tmp_path):
    root = tmp_path / "src" / "pairmend"
    shutil.copytree(Path(pairmend.__file__).parent, root)
    for old, new in MOVED.items():
        old_file, new_file = (root / f"{name.replace('.', '/')}.py" for name in (old, new))
        old_file.rename(new_file)
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for old, new in MOVED.items():
            text = text.replace(f"pairmend.{old}", f"pairmend.{new}")
        path.write_text(text, encoding="utf-8")
    names = ("mended frame", "frame", "corrected frame")
    compare_elsewhere({n: fitted[n] for n in names}, tmp_path, PYTHONPATH=str(root.parent))


# Estimators of scikit-learn

RNG = np.random.RandomState(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, :2] > 0).astype(int)
TEXTS = ["a red photo", "the blue sea", "sun on the sea", "a town"] * 10
TABLE = pd.DataFrame({"size": X[:, 0], "hue": ["red", "blue"] * 20, "text": TEXTS})
COLUMNS = make_column_transformer(
    (StandardScaler(), ["size"]),
    (OneHotEncoder(handle_unknown="ignore"), ["hue"]),
    (TfidfVectorizer(max_features=4), "text"),
)
FOREIGN = [
    (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression()), X),
    (make_pipeline(FunctionTransformer(np.arctan), SelectKBest(k=2), LinearSVC()), X),
    (CalibratedClassifierCV(GaussianNB(), cv=2, method="isotonic"), X),
    (MLPClassifier((3,), max_iter=3), X),
    (ensemble.AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2), X),
    (ensemble.BaggingClassifier(DecisionTreeClassifier(max_depth=2), 2), X),
    (ensemble.VotingClassifier([("a", GaussianNB()), ("b", RidgeClassifier())]), X),
    (ensemble.StackingClassifier([("a", GaussianNB()), ("b", RidgeClassifier())], cv=2), X),
    (FrozenEstimator(GaussianNB().fit(X, Y[:, 0])), X),
    (GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=2), X),
    (MultiOutputClassifier(GaussianNB()), X),
    (ClassifierChain(LogisticRegression()), X),
    (make_pipeline(COLUMNS, LogisticRegression()), TABLE),
]
if sklearn.__version__ >= "1.8":  # before, the module of its loss function has no full name
    FOREIGN.append((SGDClassifier(loss="log_loss"), X))


@pytest.mark.parametrize(("classifier", "given"), FOREIGN)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_estimators_of_scikit_learn_are_saved_and_loaded(tmp_path, classifier, given):
    is_multi = isinstance(classifier, MultiOutputClassifier | ClassifierChain)
    model = classifier.fit(given, Y if is_multi else Y[:, 0])
    save_model(model, tmp_path / "x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = load_model(tmp_path / "x").estimator
    np.testing.assert_array_equal(loaded.predict(given), model.predict(given))


def test_a_cache_of_fits_is_not_saved(tmp_path):
    base = make_pipeline(StandardScaler(), LogisticRegression(), memory=str(tmp_path / "cache"))
    clf = PairwiseClassifier(base).fit(X, Y)
    save_model(clf, tmp_path / "x")
    loaded = load_model(tmp_path / "x").estimator
    assert loaded.estimator.memory is None
    np.testing.assert_array_equal(loaded.predict(X), clf.predict(X))


# The file


@pytest.fixture
def path(fitted, tmp_path):
    save_model(fitted["overlap"][0], tmp_path / "x.model", label_names="abcd")
    return tmp_path / "x.model"


def test_names_and_versions_are_saved(fitted, tmp_path):
    model, _ = fitted["corrected frame"]
    digest = save_model(model, tmp_path / "x", label_names=["ä", "b,c", "d", "e"])
    saved = load_model(tmp_path / "x", sha256=digest.upper())
    assert saved.feature_names == tuple("abcde")
    assert saved.label_names == ("ä", "b,c", "d", "e")
    assert saved.sha256 == digest
    assert {"pairmend", "scikit-learn"} == set(saved.versions)
    save_model(model, tmp_path / "x")
    assert load_model(tmp_path / "x").label_names == ("0", "1", "2", "3")
    with pytest.raises(ModelFileError, match="another model than expected"):
        load_model(tmp_path / "x", sha256=digest)


def test_any_changed_byte_is_detected(path):
    whole = path.read_bytes()
    places = {*range(0, 200, 3), *np.random.RandomState(0).randint(0, len(whole), 100).tolist()}
    for place in sorted(places):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        with pytest.raises(ModelFileError):
            load_model(path)


@pytest.mark.parametrize(("change", "message"), [
    (lambda whole: whole[:-1], "damaged or changed"), (lambda whole: b"", "not a model file"),
    (lambda whole: b"PK\3\4" + whole, "not a model file"),
    (lambda whole: re.sub(rb"model \d", b"model 2", whole, count=1), "'2'.* pairmend [0-9]"),
    (lambda whole: b"pairmend-model 1\nx\ny", "Load it with the version that wrote it"),
])  # fmt: skip
def test_damaged_files_and_other_formats_are_errors(path, change, message):
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


def test_other_versions_give_a_warning(path, monkeypatch):
    monkeypatch.setitem(save_load.VERSIONS, "scikit-learn", "1.2.3")
    with pytest.warns(save_load.ModelVersionWarning, match=r"scikit-learn .* \(here 1.2.3\)"):
        load_model(path)


def test_a_failed_save_keeps_the_old_file(path):
    before = path.read_bytes()
    model = PairwiseClassifier().fit(X, Y)
    model.generator_ = (number for number in range(3))
    with pytest.raises(ModelFileError, match="the model cannot be saved"):
        save_model(model, path)
    with pytest.raises(ValueError, match="not fitted"):
        save_model(PairwiseClassifier(), path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["x.model"]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save_model(PairwiseClassifier().fit(X, Y), path / "nowhere" / "x")


# What it holds of the training rows

HOLD_ROWS = {"MLkNN", "LabelPowerset", "RAkEL"}
"""Classifiers whose files hold numbers of rows: all of them, and those of single label sets."""
NUMBERS_ONLY = {
    "ClassifierChainEnsemble", "MLkNN", "PairwisePerceptrons", "ParallelHyperplanesSVM",
    "ThresholdedClassifier",
}  # fmt: skip
N_ROWS = 120


def people():
    """Return people's rows: each id, e-mail, number and date occurs once, some words do, too."""
    rng = np.random.RandomState(0)
    number, place = rng.normal(40, 9, N_ROWS), rng.choice(["coast", "town", "hills"], N_ROWS)
    seconds = rng.choice(40_000_000, N_ROWS, replace=False)
    words = rng.choice(["calm", "busy", "sunny", "rainy", "quiet", "noisy"], (N_ROWS, 2))
    table = pd.DataFrame({
        "mail": [f"user{k:04d}@mail.example" for k in rng.permutation(N_ROWS)],
        "note": [f"{a} and {b} for person{k:04d}" for k, (a, b) in enumerate(words)],
        "number": number, "place": place,
        "date": pd.Timestamp("2023-01-01") + pd.to_timedelta(seconds, "s"),
    })  # fmt: skip
    labels = {"car": (place == "town") & (number > 30), "sun": words[:, 0] < "n",
              "sea": (place == "coast") | (number > 50), "dog": rng.rand(N_ROWS) < 0.4}  # fmt: skip
    return table, pd.DataFrame(labels).astype(int)


PEOPLE, LABELS = people()


def leaks(path, columns):
    """Return cells of columns, and words of single rows, that a model file holds."""
    head, start, packed = path.read_bytes().partition(b"PK\x03\x04")
    waiting, whole = [start + packed], head
    while waiting:
        data = waiting.pop()
        whole += b"" if data.startswith(b"PK\x03\x04") else data
        if data.startswith(b"PK\x03\x04"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                waiting += [archive.read(name) for name in archive.namelist()]
    seconds = PEOPLE["date"].to_numpy().astype("datetime64[s]").astype(np.int64)
    texts = {
        "mail": PEOPLE["mail"], "note": [*PEOPLE["note"], *PEOPLE["note"].str.split().str[-1]],
        "number": PEOPLE["number"].map(repr), "date": PEOPLE["date"].astype(str), "place": [],
    }  # fmt: skip
    numbers = {"number": [PEOPLE["number"].to_numpy()],
               "date": [seconds / 86_400, seconds * 1.0, seconds, seconds * 10**9]}  # fmt: skip
    cells = [code for name in columns for text in texts[name]
             for code in (text.encode(), text.encode("utf-32-le"))]  # fmt: skip
    cells += [v.tobytes() for name in columns for array in numbers.get(name, ()) for v in array]
    return [cell for cell in cells if cell in whole]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_files_hold_no_cells_of_training_rows(tmp_path, name):
    columns = ["number"] if name in NUMBERS_ONLY else list(PEOPLE)
    y = PEOPLE["place"] if name in ONE_DIMENSIONAL else LABELS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that are left out
        model = made(name).fit(PEOPLE[columns], y)
    save_model(model, tmp_path / "x.model")
    assert bool(leaks(tmp_path / "x.model", columns)) == (name in HOLD_ROWS)


def test_files_hold_no_categories_that_are_identifiers(tmp_path):
    """Nor are they in a classifier that was pickled, whatever the distances are measured in."""
    table = PEOPLE.astype({"mail": "category", "place": "category"})
    for scaling in ("range", "standard"):
        clf = MendedClassifier(cv=2, scaling=scaling, random_state=0)
        with pytest.warns(ColumnWarning, match="'mail': its 120 different values"):
            clf.fit(table, LABELS)
        save_model(clf, tmp_path / "x.model")
        assert leaks(tmp_path / "x.model", list(PEOPLE)) == []
        content = pickle.dumps(clf)
        assert b"coast" in content
        assert [cell for cell in PEOPLE["mail"] if cell.encode() in content] == []


def test_rows_of_partial_fit_are_left_out_unless_asked_for(tmp_path):
    table, path = PEOPLE[["number", "place"]], tmp_path / "x"
    clf = CorrectedPairwiseClassifier(random_state=0).fit(table[:80], LABELS[:80])
    save_model(clf, path)
    with pytest.raises(ValueError, match=r"save_model\(..., updates=True\)"):
        load_model(path).estimator.partial_fit(table[80:], LABELS[80:])
    save_model(clf, path, updates=True)
    assert leaks(path, ["number"])
    again = load_model(path).estimator.partial_fit(table[80:], LABELS[80:])
    expected = clf.partial_fit(table[80:], LABELS[80:]).predict_proba(table)
    np.testing.assert_array_equal(again.predict_proba(table), expected)
