import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood
from pairmend.study.objects import as_text, build, describe

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
def test_estimators_are_recreated_from_their_description(model):
    again = build(describe(model), "here")
    assert type(again) is type(model)
    assert describe(again) == describe(model)
    assert describe(LogisticRegression(verbose=1)) == {
        "class": "sklearn.linear_model.LogisticRegression"
    }


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (True, 1), (0.0, False)])
def test_equal_numbers_of_different_types_are_different_parameters(one, other):
    # max_features=1 is one feature, 1.0 all of them.
    models = [BaggingClassifier(max_features=value) for value in (one, other)]
    assert as_text(describe(models[0])) != as_text(describe(models[1]))
    assert type(build(describe(models[0]), "here").max_features) is type(one)


def test_lists_become_tuples_where_the_default_is_one():
    plain = {"class": "sklearn.feature_extraction.text.TfidfVectorizer"}
    model = build({**plain, "params": {"ngram_range": [1, 2]}}, "here")
    assert model.ngram_range == (1, 2)
    assert describe(model)["params"] == {"ngram_range": [1, 2]}


def test_objects_without_import_path_are_distinguished():
    def make(base):
        return type("Local", (base,), {})

    one, other = describe(make(LogisticRegression)()), describe(make(LogisticRegression)())
    assert one["opaque"] == other["opaque"] == "Local"
    assert one != other


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"class": "LogisticRegression"}, "'LogisticRegression', expected module.name"),
        ({"class": "sklearn.nothing.Here"}, "cannot import 'sklearn.nothing.Here'"),
        ({"class": "sklearn.svm.Nothing"}, "no attribute 'Nothing'"),
        (
            {"class": "sklearn.svm.LinearSVC", "params": {"c": 1}},
            "unexpected keyword argument 'c'",
        ),
        ({"class": "sklearn.svm.LinearSVC", "parms": {}}, "unknown keys"),
        ({"class": "sklearn.svm.LinearSVC", "params": 3}, "'int' object"),
        ({"class": "sys.path"}, "not a callable"),
        ({"object": "numpy.log1p", "params": {}}, "unknown keys"),
        ({"class": 3}, "cannot import 3"),
        ({"class": "fractions.Fraction", "params": {"denominator": 0}}, "ZeroDivisionError"),
    ],
)
def test_invalid_descriptions_are_refused(plain, message):
    with pytest.raises((ValueError, ImportError), match=message):
        build(plain, "algorithms.x")
