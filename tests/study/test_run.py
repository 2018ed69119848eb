import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier
from pairmend.metrics import LOSSES
from pairmend.study import ALGORITHMS, count_steps, generated_sets, run_study


class Counting(GaussianNB):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counting.fits += 1
        return super().fit(X, y, sample_weight)


@pytest.fixture
def sets(small_set):
    return {"one": small_set, "two": (small_set[0][:50], small_set[1][:50])}


def test_a_row_for_each_set_fold_algorithm_and_criterion(sets):
    algorithms = {"LPW": PairwiseClassifier(GaussianNB())}
    results = list(run_study(sets, algorithms, n_folds=3))
    keys = {(r.set, r.fold, r.algorithm, r.criterion) for r in results}
    assert len(keys) == len(results) == count_steps(sets, algorithms, 3) * len(LOSSES) == 24
    assert all(0 <= r.value <= 1 for r in results)


def test_results_do_not_depend_on_what_else_is_run(sets):
    algorithms = {
        name: model.set_params(estimator=GaussianNB())
        for name, model in {
            "LPW": PairwiseClassifier(),
            "FCM": CorrectedPairwiseClassifier(),
        }.items()
    }
    together = list(run_study(sets, algorithms, n_folds=2, seed=5))
    alone = list(run_study({"two": sets["two"]}, {"FCM": algorithms["FCM"]}, n_folds=2, seed=5))
    assert [r for r in together if r.set == "two" and r.algorithm == "FCM"] == alone
    assert alone != list(
        run_study({"two": sets["two"]}, {"FCM": algorithms["FCM"]}, n_folds=2, seed=6)
    )


def test_algorithms_that_differ_at_prediction_share_a_fit(sets):
    one = {"one": sets["one"]}
    variants = {
        "FCM": CorrectedPairwiseClassifier(Counting()),
        "FCM-W": CorrectedPairwiseClassifier(Counting(), balance="labels"),
        "FCM-O": CorrectedPairwiseClassifier(Counting(), overlap=0.5),
    }
    Counting.fits = 0
    together = list(run_study(one, variants, n_folds=2))
    assert Counting.fits == 2 * 6  # folds x pairs, once
    for name, model in variants.items():
        alone = list(run_study(one, {name: model}, n_folds=2))
        assert [r for r in together if r.algorithm == name] == alone


def test_algorithms_with_long_descriptions_are_told_apart(sets):
    # scikit-learn shortens the representation of a long pipeline.
    def algorithm(C):
        steps = [(f"step_number_{i}", StandardScaler(with_mean=i % 2 == 0)) for i in range(40)]
        return CorrectedPairwiseClassifier(Pipeline([*steps, ("last", LogisticRegression(C=C))]))

    one, both = {"one": sets["one"]}, {"weak": algorithm(1e-6), "strong": algorithm(100.0)}
    together = list(run_study(one, both, n_folds=2))
    alone = list(run_study(one, {"strong": both["strong"]}, n_folds=2))
    assert [r for r in together if r.algorithm == "strong"] == alone


def test_classifiers_of_other_libraries_and_frames(sets):
    X, Y = sets["one"]
    algorithms = {"one-vs-rest": OneVsRestClassifier(LogisticRegression())}
    plain = list(run_study({"one": (X, Y)}, algorithms, n_folds=2))
    framed = {"one": (pd.DataFrame(X).add_prefix("f"), pd.DataFrame(Y))}
    assert list(run_study(framed, algorithms, n_folds=2)) == plain


def test_the_algorithms_of_the_paper():
    assert list(ALGORITHMS) == ["LPW", "FCM", "FCM-W", "FCM-O"]
    assert ALGORITHMS["FCM-W"].balance == "labels"
    assert ALGORITHMS["FCM-O"].overlap == 0.5


def test_generated_sets_are_always_the_same():
    first, second = generated_sets(), generated_sets()
    for name, (X, Y) in first.items():
        np.testing.assert_array_equal(X, second[name][0])
        assert set(np.unique(Y)) == {0, 1}
