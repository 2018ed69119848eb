"""Classifiers of scikit-learn that are trusted: they are saved and loaded unchanged."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from pairmend.persistence import load_model, save_model
from pairmend.persistence.trust import class_of

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")

RNG = np.random.RandomState(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, :2] > 0).astype(int)
TEXTS = ["a red photo", "the blue sea", "sun on the sea", "a town"] * 10

MODELS = [
    make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression()),
    make_pipeline(FunctionTransformer(np.arctan), SelectKBest(k=2), LinearSVC()),
    FeatureUnion([("a", StandardScaler()), ("b", FunctionTransformer())]),
    CalibratedClassifierCV(GaussianNB(), cv=2),
    CalibratedClassifierCV(GaussianNB(), cv=2, method="isotonic"),
    MLPClassifier((3,), max_iter=3),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2),
    BaggingClassifier(DecisionTreeClassifier(max_depth=2), 2),
    ExtraTreesClassifier(2),
    RandomForestClassifier(2),
    VotingClassifier([("a", GaussianNB()), ("b", RidgeClassifier())]),
    StackingClassifier([("a", GaussianNB()), ("b", RidgeClassifier())], cv=2),
    GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=2),
    OneVsRestClassifier(LogisticRegression()),
    pytest.param(
        SGDClassifier(loss="log_loss"),
        marks=pytest.mark.skipif(
            sklearn.__version__ < "1.8", reason="the module of its loss function has no full name"
        ),
    ),
]


@pytest.mark.parametrize("classifier", MODELS, ids=lambda each: type(each).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_common_classifiers_of_scikit_learn_are_saved_and_loaded(tmp_path, classifier):
    model = classifier.fit(X, Y[:, 0])
    save_model(model, tmp_path / "x")
    loaded = load_model(tmp_path / "x").estimator
    method = "predict" if hasattr(model, "predict") else "transform"
    np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))


@pytest.mark.parametrize(
    "classifier", [MultiOutputClassifier(GaussianNB()), ClassifierChain(LogisticRegression())]
)
def test_multi_label_classifiers_of_scikit_learn(tmp_path, classifier):
    model = classifier.fit(X, Y)
    save_model(model, tmp_path / "x")
    np.testing.assert_array_equal(load_model(tmp_path / "x").predict(X), model.predict(X))


def test_columns_and_texts_of_frames(tmp_path):
    frame = pd.DataFrame({"size": X[:, 0], "hue": ["red", "blue"] * 20, "text": TEXTS})
    columns = make_column_transformer(
        (StandardScaler(), ["size"]),
        (OneHotEncoder(handle_unknown="ignore"), ["hue"]),
        (TfidfVectorizer(max_features=4), "text"),
        remainder="passthrough",
    )
    model = make_pipeline(columns, LogisticRegression()).fit(frame, Y[:, 0])
    save_model(model, tmp_path / "x", X=frame)
    np.testing.assert_array_equal(load_model(tmp_path / "x").predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    "name",
    [
        "sklearn.tree._tree.Tree",
        "sklearn.linear_model._sgd_fast.Hinge",
        "sklearn.calibration.partial",
        "sklearn.pipeline.Bunch",
        "sklearn.linear_model.tests.test_base.X",
        "sklearn.svm._classes.SVC",
        "sklearn.no_such_module.Estimator",
        "sklearn.linear_model._no_such_module.Estimator",
    ],
)
def test_compiled_imported_and_other_classes_are_not_trusted(name):
    assert class_of(name) is None
