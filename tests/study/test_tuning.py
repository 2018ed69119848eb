"""Studies that tune: nested cross-validation, chosen values in the store and the report."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from in_process import in_process
from pairmend._utils.classifiers import seed_estimator
from pairmend.baselines import BinaryRelevance
from pairmend.metrics import LOSSES
from pairmend.report import summarise
from pairmend.report.run_tables import algorithms_table, chosen_table
from pairmend.study import Criterion, load_study, parse_study, read_study, run_study, tuned
from pairmend.study.estimators import InnerFolds
from pairmend.study.execution import Batch, fold_seed, folds_of

__all__ = ["in_process"]

zero_one = LOSSES["zero_one"]
VALUES = [0.001, 0.1, 10.0]
FILE = """
folds = 3
criteria = ["zero_one", "hamming"]
[sets.simplehc]
rows = 150
[algorithms.tuned]
class = "pairmend.baselines.BinaryRelevance"
tune = { "estimator__C" = [0.001, 0.1, 10.0] }
tune_folds = 2
[algorithms.tuned.params.estimator]
class = "sklearn.linear_model.LogisticRegression"
[algorithms.plain]
class = "pairmend.baselines.BinaryRelevance"
params = { estimator = { class = "sklearn.linear_model.LogisticRegression" } }
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text(FILE)
    return load_study(path)


@pytest.fixture
def folder(study, tmp_path, in_process):
    run_study(study, tmp_path / "out")
    return tmp_path / "out"


def test_each_training_part_chooses_its_own_values(study, folder):
    """Against loops over folds and values."""
    record = read_study(folder)
    data = study.sets["simplehc"].load(None, download=False)
    fold_of = folds_of(study, "simplehc", data.Y)[:, 0]
    for fold in range(3):
        seed = fold_seed(study, Batch("simplehc", 0, fold, ("tuned",), "tuned"))
        X, Y = data.X[fold_of != fold], data.Y[fold_of != fold]
        folds = list(seed_estimator(study.algorithms["tuned"], seed).cv.split(X, Y))
        losses = [
            np.mean(
                [
                    zero_one(Y[test], made(value).fit(X[train], Y[train]).predict(X[test]))
                    for train, test in folds
                ]
            )
            for value in VALUES
        ]  # fmt: skip
        best = VALUES[int(np.argmin(losses))]
        rows = record.chosen[record.chosen.fold == fold]
        assert rows[["algorithm", "parameter"]].to_numpy().tolist() == [["tuned", "estimator__C"]]
        assert float(rows["value"].iloc[0]) == best
        test = fold_of == fold
        expected = zero_one(data.Y[test], made(best).fit(X, Y).predict(data.X[test]))
        found = record.results.query("algorithm == 'tuned' and criterion == 'zero_one'")
        assert found.set_index("fold").loc[fold, "value"] == pytest.approx(expected)


def made(C):
    return BinaryRelevance(LogisticRegression(C=C))


def test_the_report_shows_chosen_values(folder):
    summary = summarise(read_study(folder))
    assert sum(each["tasks"] for each in summary["chosen"]) == 3
    rows = chosen_table(summary).rows
    assert {row[0].value for row in rows} == {"tuned"}
    shown = {
        row[0].value: [cell.value for cell in row[1:]] for row in algorithms_table(summary).rows
    }
    assert "pairmend.baselines.BinaryRelevance" in shown["tuned"]
    assert shown["tuned"][-1].endswith("tuned: estimator__C of [0.001, 0.1, 10.0]")
    narrow = summarise(read_study(folder).narrowed(["plain"]))
    assert narrow["chosen"] == []


def test_the_definition_is_stored_and_read_again(study):
    again = parse_study(study.definition(), Path())
    assert again.definition() == study.definition()
    assert isinstance(again.algorithms["tuned"], GridSearchCV)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"estimator__C" =',
            '"C" =',
            "algorithms.tuned: tune: BinaryRelevance has no parameter 'C'",
        ),
        ("[0.001, 0.1, 10.0]", "[]", "tune.estimator__C must be a list of at least one value"),
        ("[0.001, 0.1, 10.0]", "0.1", "tune.estimator__C must be a list of at least one value"),
        ('{ "estimator__C" = [0.001, 0.1, 10.0] }', "3", "tune must name parameters with lists"),
        ("tune_folds = 2", "tune_folds = 1", "folds must be a whole number of at least 2, got 1"),
        (
            "tune_folds = 2",
            'tune_by = "f1"',
            "tune_by must be a metric of the study: zero_one, ham",
        ),
        ("tune =", "#", "algorithms.tuned has tune_folds, but no tune"),
    ],
)
def test_wrong_tables_are_refused(tmp_path, old, new, message):
    path = tmp_path / "ours.toml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(ValueError) as caught:
        load_study(path)
    assert message in str(caught.value)


def test_metrics_of_scores_and_of_greater_values():
    X, Y = np.random.default_rng(0).normal(size=(60, 3)), np.tile([[0, 1], [1, 0]], (30, 1))

    def inverted(truth, scores):
        return float(np.mean(truth * scores))

    search = tuned(made(1), {"estimator__C": [0.1, 1]}, Criterion(inverted, "x", True, "scores"))
    search.fit(X, Y)
    assert (search.cv_results_["mean_test_score"] > 0).all()
    lower = tuned(made(1), {"estimator__C": [0.1, 1]}, Criterion(inverted, "x", False, "scores"))
    lower.set_params(cv__random_state=0)
    assert (lower.fit(X, Y).cv_results_["mean_test_score"] < 0).all()
    with pytest.raises(ValueError, match="criterion must be one of hamming, macro_f1"):
        tuned(made(1), {"estimator__C": [1]}, "f1")


def test_inner_folds_are_shuffled_and_stratified():
    Y = np.repeat([[0], [1]], 20, axis=0)
    for _, test in InnerFolds(4, random_state=0).split(None, Y):
        assert len(test) == 10
        assert Y[test].sum() == 5
