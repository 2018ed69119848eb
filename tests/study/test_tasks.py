import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import odd_classifiers
from pairmend import CorrectedPairwiseClassifier
from pairmend.study import Study
from pairmend.study.execution import Task, batches_of, perform, seed_of, shared_fits
from pairmend.study.sources import CachedSet


def test_batches_cover_every_task_once(study):
    tasks = [t for name in study.sets for b in batches_of(study, name, set()) for t in b.tasks]
    assert len(tasks) == len(set(tasks)) == study.n_tasks == 2 * 3 * 3


def test_finished_tasks_are_left_out(study):
    done = {Task("one", 0, 1, "FCM"), Task("one", 0, 2, "LPW")}
    left = list(batches_of(study, "one", done))
    assert not done & {task for batch in left for task in batch.tasks}
    # The name of the fit does not depend on which tasks are left.
    assert [b.fitted_by for b in left if b.algorithms == ("FCM-O",)] == ["FCM"]


def test_seeds_depend_only_on_names():
    assert seed_of(0, "a", 1) == seed_of(0, "a", 1)
    assert len({seed_of(s, name, r) for s in (0, 1) for name in "ab" for r in (0, 1)}) == 8
    assert 0 <= seed_of("x") < 2**31


def test_algorithms_that_differ_in_prediction_parameters_share_a_fit(sets):
    variants = {
        "FCM": CorrectedPairwiseClassifier(odd_classifiers.Counting()),
        "FCM-W": CorrectedPairwiseClassifier(odd_classifiers.Counting(), balance="labels"),
        "FCM-O": CorrectedPairwiseClassifier(odd_classifiers.Counting(), overlap=0.5),
    }
    X, Y = sets["one"]
    data = CachedSet(X, Y, np.arange(len(Y))[:, np.newaxis] % 2)

    def outcomes(algorithms):
        study = Study({"one": (X, Y)}, algorithms, folds=2)
        batches = batches_of(study, "one", set())
        return {o.task: o.values for batch in batches for o in perform(study, batch, data)}

    odd_classifiers.Counting.fits = 0
    together = outcomes(variants)
    assert odd_classifiers.Counting.fits == 2 * 6  # folds x pairs, once
    for name, model in variants.items():
        alone = outcomes({name: model})
        assert alone == {task: together[task] for task in together if task.algorithm == name}


def test_different_classes_of_the_same_name_do_not_share_a_fit():
    def make(base):
        return type("Local", (base,), {})()

    both = {"a": make(odd_classifiers.Frequent), "b": make(odd_classifiers.Failing)}
    assert shared_fits(both) == [("a",), ("b",)]
    nested = {name: CorrectedPairwiseClassifier(model) for name, model in both.items()}
    assert shared_fits(nested) == [("a",), ("b",)]


@pytest.mark.parametrize("C", [1.0, 2.0])
def test_algorithms_with_long_representations_are_distinguished(C):
    # scikit-learn shortens the representation of a long pipeline.
    def algorithm(C):
        steps = [(f"step_number_{i}", StandardScaler(with_mean=i % 2 == 0)) for i in range(40)]
        return CorrectedPairwiseClassifier(Pipeline([*steps, ("last", LogisticRegression(C=C))]))

    groups = shared_fits({"a": algorithm(1.0), "b": algorithm(C)})
    assert groups == ([("a", "b")] if C == 1.0 else [("a",), ("b",)])
