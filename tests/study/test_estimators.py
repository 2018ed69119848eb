"""Tuned classifiers, and classifiers of labels with both classes."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from pairmend.baselines import BinaryRelevance
from pairmend.metrics import LOSSES
from pairmend.model_selection import MultilabelStratifiedKFold
from pairmend.report import summarise
from pairmend.study import Criterion, load_study, read_study, run_study, tuned
from pairmend.study.estimators import VaryingLabelsClassifier
from pairmend.study.execution import folds_of

zero_one = LOSSES["zero_one"]
VALUES = [0.001, 0.1, 10.0]
FILE = """
folds = 3
criteria = ["zero_one", "hamming"]
[sets.simplehc]
rows = 150
[algorithms.tuned]
class = "pairmend.study.tuned"
[algorithms.tuned.params]
criterion = "zero_one"
grid = { "estimator__C" = [0.001, 0.1, 10.0] }
folds = 2
[algorithms.tuned.params.classifier]
class = "pairmend.baselines.BinaryRelevance"
params = { estimator = { class = "sklearn.linear_model.LogisticRegression" } }
[algorithms.plain]
class = "pairmend.baselines.MLkNN"
"""


def made(C):
    return BinaryRelevance(LogisticRegression(C=C))


def test_each_training_part_chooses_its_own_values(tmp_path, in_process):
    """Against loops over folds and values."""
    (tmp_path / "ours.toml").write_text(FILE)
    study = load_study(tmp_path / "ours.toml")
    run_study(study, tmp_path / "out")
    record = read_study(tmp_path / "out")
    data = study.sets["simplehc"].load(None, download=False)
    fold_of = folds_of(study, "simplehc", data.Y)[:, 0]
    for fold in range(3):
        X, Y = data.X[fold_of != fold], data.Y[fold_of != fold]
        folds = list(MultilabelStratifiedKFold(2, random_state=0).split(X, Y))
        losses = [
            np.mean([zero_one(Y[b], made(C).fit(X[a], Y[a]).predict(X[b])) for a, b in folds])
            for C in VALUES
        ]
        best = VALUES[int(np.argmin(losses))]
        tasks = record.tasks[record.tasks.fold == fold].set_index("algorithm")
        assert tasks.chosen.to_dict() == {"tuned": json.dumps({"estimator__C": best}), "plain": ""}
        test = fold_of == fold
        expected = zero_one(data.Y[test], made(best).fit(X, Y).predict(data.X[test]))
        found = record.results.query("algorithm == 'tuned' and criterion == 'zero_one'")
        assert found.set_index("fold").loc[fold, "value"] == pytest.approx(expected)
    assert summarise(record).chosen["tasks"].sum() == 3


@pytest.mark.parametrize(("old", "new", "message"), [
    ('"estimator__C" =', '"C" =', "Invalid parameter 'C' for estimator BinaryRelevance"),
    ("[0.001, 0.1, 10.0]", "[]", "need to be a non-empty"),
    ('criterion = "zero_one"', 'criterion = "f1"', "there is no metric 'f1'"),
])  # fmt: skip
def test_wrong_tables_are_refused(tmp_path, old, new, message):
    path = tmp_path / "ours.toml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(ValueError, match=message) as caught:
        load_study(path)
    assert f"{path}: algorithms.tuned" in str(caught.value)


def test_metrics_of_scores_and_of_greater_values():
    X, Y = np.random.default_rng(0).normal(size=(60, 3)), np.tile([[0, 1], [1, 0]], (30, 1))

    def mean(truth, scores):
        return float(np.mean(truth * scores))

    for greater in (True, False):
        search = tuned(made(1), {"estimator__C": [0.1, 1]}, Criterion(mean, "x", greater, "scores"))
        scores = search.fit(X, Y).cv_results_["mean_test_score"]
        assert (scores > 0).all() == greater


@pytest.fixture
def data():
    X = np.random.default_rng(0).normal(size=(60, 4))
    return X, np.column_stack([X[:, 0] > 0, np.zeros(60), X[:, 1] > 0.5, np.ones(60)]).astype(int)


@pytest.mark.parametrize("labels", [[0, 1, 2, 3], [0, 2], [0, 1], [1, 3]])
def test_labels_with_one_class_keep_it(data, labels):
    X, Y = data[0], data[1][:, labels]
    forest = RandomForestClassifier(5, random_state=0)
    predicted = VaryingLabelsClassifier(forest).fit(X, Y).predict(X)
    varying = np.isin(labels, [0, 2])
    np.testing.assert_array_equal(predicted[:, ~varying], Y[:, ~varying])
    if varying.any():
        alone = clone(forest).fit(X, Y[:, varying]).predict(X).reshape(60, -1)
        np.testing.assert_array_equal(predicted[:, varying], alone)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("name", "parameter"), [
    ("LightGBM-F1", "estimator__estimator__n_estimators"), ("CatBoost", "estimator__iterations"),
])  # fmt: skip
def test_boosting_baselines_of_the_study_take_labels_with_one_class(data, name, parameter, form):
    pytest.importorskip(name.lower().partition("-")[0])
    X, Y = data
    model = clone(load_study("mended").algorithms[name])
    model.set_params(**{parameter: 20}).fit(form(X), Y)
    predicted, proba = np.asarray(model.predict(form(X))), model.predict_proba(form(X))
    assert predicted.shape == proba.shape == Y.shape
    assert (predicted == Y).mean() > 0.9
    assert (predicted[:, 1] == 0).all()
    assert (proba[:, 1] < 0.05).all()
    assert ((proba > 0.5) == Y).mean() > 0.9
