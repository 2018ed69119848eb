import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood
from pairmend.study.objects import build, describe, find

MODELS = [
    LogisticRegression(C=3.0),
    OneVsRestClassifier(LogisticRegression()),
    Pipeline([("scale", StandardScaler(with_mean=False)), ("last", LogisticRegression())]),
    CorrectedPairwiseClassifier(
        LogisticRegression(), overlap=0.5, neighbourhood=GaussianNeighbourhood(beta=4)
    ),
    FunctionTransformer(func=describe),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_estimators_come_back_from_their_description(model):
    again = build(describe(model), "here")
    assert type(again) is type(model)
    assert describe(again) == describe(model)


def test_only_what_differs_from_defaults_is_described():
    assert describe(LogisticRegression()) == {"class": "sklearn.linear_model.LogisticRegression"}
    assert describe(LogisticRegression(C=2.0))["params"] == {"C": 2.0}


def test_what_has_no_name_is_told_apart_but_not_made_again():
    class Local(LogisticRegression):
        pass

    one, other = describe(Local(C=1.0)), describe(Local(C=2.0))
    assert one["opaque"].endswith("Local")
    assert one != other
    with pytest.raises(ValueError, match="cannot be made again"):
        build(one, "algorithms.local")


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"class": "LogisticRegression"}, "no import path: expected module.name"),
        ({"class": "sklearn.nothing.Here"}, "cannot import 'sklearn.nothing.Here'"),
        ({"class": "sklearn.svm.Nothing"}, "sklearn.svm has no 'Nothing'"),
        (
            {"class": "sklearn.svm.LinearSVC", "params": {"c": 1}},
            "no parameter 'c'; it has penalty",
        ),
        ({"class": "sklearn.svm.LinearSVC", "parms": {}}, "unknown keys"),
        ({"class": "sklearn.svm.LinearSVC", "params": 3}, "must be a table, got 3"),
        ({"class": "sys.path"}, "sys.path is no class"),
        ({"object": "numpy.log1p", "params": {}}, "unknown keys"),
    ],
)
def test_bad_descriptions_are_refused_by_name(plain, message):
    with pytest.raises((ValueError, ImportError), match=message):
        build(plain, "algorithms.x")


def test_find_runs_no_expression():
    with pytest.raises(ImportError):
        find("os.system('true')")
