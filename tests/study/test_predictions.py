"""Metrics of stored predictions, and failures that are found early."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

import odd_classifiers
import pairmend
from pairmend.study import CRITERIA, FailedTasksWarning, Study, plan_study, read_study, run_study
from pairmend.study.execution import folds_of

pytestmark = pytest.mark.usefixtures("in_process")

ADDED = ["jaccard_samples", "average_precision", "hamming"]


def test_metrics_added_to_a_finished_study_equal_those_of_a_new_run(study, tmp_path):
    run_study(study, tmp_path)
    expected = run_study(replace(study, criteria=ADDED))
    record = read_study(tmp_path, ADDED)
    pd.testing.assert_frame_equal(record.results, expected)
    assert list(record.definition["criteria"]) == ADDED
    # By a study with more metrics, nothing is fitted again.
    steps = []
    more = replace(study, criteria=[*study.criteria, *ADDED[:2]])
    assert plan_study(more, tmp_path).changes == ()
    rows = run_study(more, tmp_path, progress=steps.append)
    assert not any(step.outcome for step in steps)
    chosen = rows[rows.criterion.isin(ADDED)].reset_index(drop=True)
    pd.testing.assert_frame_equal(chosen, expected)
    again = run_study(more, tmp_path, rerun=["hamming"])
    pd.testing.assert_frame_equal(again, rows)


def test_all_metrics_are_those_of_scikit_learn(small_set):
    X, Y = small_set
    model = OneVsRestClassifier(LogisticRegression())
    study = Study({"one": (X, Y)}, {"A": model}, CRITERIA, folds=2)
    rows = run_study(study)
    assert len(rows) == 2 * len(CRITERIA)
    found = rows[rows.fold == 0].set_index("criterion").value
    # The same fold again, by the rows that are tested in it.
    test = folds_of(study, "one", Y)[:, 0] == 0
    model.fit(X[~test], Y[~test])
    truth, labels = Y[test], model.predict(X[test])
    for average, name in product(["samples", "micro", "macro"], ["jaccard", "precision", "recall"]):
        function = getattr(metrics, f"{name}_score")
        expected = function(truth, labels, average=average, zero_division=0)
        assert found[f"{name}_{average}"] == expected
    scores = model.predict_proba(X[test]).astype(np.float32).astype(float)
    for name, expected in {
        "f1_samples": metrics.f1_score(truth, labels, average="samples", zero_division=0),
        "subset_accuracy": metrics.accuracy_score(truth, labels),
        "roc_auc_macro": metrics.roc_auc_score(truth, scores),
        "roc_auc_micro": metrics.roc_auc_score(truth, scores, average="micro"),
        "average_precision_macro": metrics.average_precision_score(truth, scores),
        "average_precision_micro": metrics.average_precision_score(truth, scores, average="micro"),
        "average_precision": metrics.label_ranking_average_precision_score(truth, scores),
        "ranking_loss": metrics.label_ranking_loss(truth, scores),
        "coverage": metrics.coverage_error(truth, scores),
        "one_error": np.mean([1 - t[np.argmax(s)] for t, s in zip(truth, scores, strict=True)]),
    }.items():
        assert found[name] == pytest.approx(expected, abs=1e-15), name


def test_a_macro_average_leaves_out_labels_that_it_is_not_defined_for():
    truth = np.array([[1, 0, 1], [0, 0, 1]])
    scores = np.array([[0.9, 0.1, 0.3], [0.2, 0.4, 0.5]])
    assert CRITERIA["roc_auc_macro"](truth, scores) == 1
    assert CRITERIA["average_precision_macro"](truth, scores) == 1


@pytest.mark.parametrize("kept", ["scores", "labels", "none"])
def test_what_is_stored_is_what_the_study_says(study, tmp_path, kept):
    study = replace(study, predictions=kept)
    assert not plan_study(study).sets.prediction_bytes.any(), "the size of given sets is not known"
    run_study(study, tmp_path)
    tasks = read_study(tmp_path).tasks
    assert (tasks.stored == "scores").all() == (kept == "scores")
    assert (tasks.stored_bytes > 0).all() == (kept != "none")
    refused = {"scores": [], "labels": ["average_precision"], "none": ADDED[:2]}[kept]
    for name in ADDED[:2]:
        more = replace(study, criteria=[*study.criteria, name])
        assert bool(plan_study(more, tmp_path).changes) == (name in refused)
        if name in refused:
            with pytest.raises(ValueError, match=f"{name}: the study has no stored predictions"):
                read_study(tmp_path, [name])
    with pytest.raises(ValueError, match="there is no metric 'auc'; there are hamming"):
        read_study(tmp_path, ["auc"])
    planned = Study(["yeast"], study.algorithms, folds=10, repeats=2, predictions=kept)
    size = {"scores": 4 + 2 / 8, "labels": 2 / 8, "none": 0}[kept] * 3 * 2 * 2417 * 14
    assert plan_study(planned, download=True).sets.prediction_bytes[0] == round(size)


def test_after_three_failed_folds_the_rest_of_a_set_is_not_tried(sets, tmp_path):
    marker = tmp_path / "marker"
    marker.touch()
    algorithms = {"A": odd_classifiers.Frequent(), "B": odd_classifiers.Failing(str(marker))}
    study = Study(sets, algorithms, folds=5)
    with pytest.warns(FailedTasksWarning, match="10 of 20 tasks failed"):
        run_study(study, tmp_path / "out")
    failed = read_study(tmp_path / "out").tasks.query("status == 'failed'")
    assert failed.groupby("set").error.value_counts().tolist() == [3, 2] * 2
    assert failed.error.str.contains("not tried, because 3 folds").sum() == 4
    marker.unlink()
    assert len(run_study(study, tmp_path / "out")) == 20 * 4


def test_a_check_fits_50_rows_of_each_set(sets, tmp_path):
    (tmp_path / "marker").touch()
    algorithms = {
        "A": odd_classifiers.Odd("narrow", n_rows=50),
        "B": odd_classifiers.Failing(str(tmp_path / "marker")),
    }
    X, Y = sets["one"]
    study = Study({"large": (np.tile(X, (3, 1)), np.tile(Y, (3, 1))), **sets}, algorithms)
    errors = pairmend.study.check_study(study).set_index(["set", "algorithm"]).error
    assert len(errors) == 6
    assert "shape (50, 3)" in errors["large", "A"]
    assert "fails on purpose" in errors["two", "B"]
    good = Study(sets, {"A": odd_classifiers.Frequent()})
    assert pairmend.study.check_study(good).empty
