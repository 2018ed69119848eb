import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import jaccard_score, label_ranking_loss
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import odd_classifiers
from pairmend import CorrectedPairwiseClassifier
from pairmend.metrics import LOSSES
from pairmend.study import Criterion, FailedTasksWarning, Study, plan_study, read_study, run_study
from pairmend.study.execution import seed_of

pytestmark = pytest.mark.usefixtures("in_process")

COLUMNS = ["set", "repeat", "fold", "algorithm", "criterion", "value"]


def test_values_equal_those_of_a_plain_loop(sets, algorithms):
    study = Study(sets, algorithms, folds=3, repeats=2, seed=4)
    rows = run_study(study)
    assert list(rows.columns) == COLUMNS
    assert len(rows) == len(rows.drop_duplicates(COLUMNS[:-1])) == 2 * 2 * 3 * 3 * len(LOSSES)
    for name, (X, Y) in sets.items():
        for repeat in range(2):
            splits = KFold(3, shuffle=True, random_state=seed_of(4, name, repeat)).split(Y)
            expected = [
                loss(Y[test], algorithms["LPW"].fit(X[train], Y[train]).predict(X[test]))
                for train, test in splits
                for loss in LOSSES.values()
            ]
            found = rows[(rows.set == name) & (rows.repeat == repeat) & (rows.algorithm == "LPW")]
            assert found.value.tolist() == expected


def test_results_depend_only_on_names_and_seed(study, sets, algorithms):
    rows = run_study(study).set_index(COLUMNS[:-1]).value
    alone = study.narrowed(["two"], ["FCM-O"])
    turned = replace(study.narrowed([*sets][::-1], [*algorithms][::-1]), repeats=2)
    for other, n_common in ((alone, 12), (turned, len(rows))):
        values = run_study(other).set_index(COLUMNS[:-1]).value
        common = rows.index.intersection(values.index)
        assert len(common) == n_common
        assert (rows[common] == values[common]).all()
    assert (run_study(replace(study, seed=1)).value != rows.to_numpy()).any()


def test_classifiers_and_metrics_of_other_libraries(sets):
    params = {"average": "samples", "zero_division": 1.0}
    criteria = {
        "ranking": Criterion(label_ranking_loss, "ranking loss", needs="scores"),
        "jaccard": Criterion(jaccard_score, "Jaccard", True, params=params),
    }
    algorithms = {
        "one-vs-rest": OneVsRestClassifier(LogisticRegression()),
        "forest": RandomForestClassifier(n_estimators=5),  # a list of probabilities
        "machine": OneVsRestClassifier(LinearSVC()),  # a decision function
    }
    rows = run_study(Study(sets, algorithms, criteria, folds=2, split="stratified"))
    assert len(rows) == 2 * 2 * 3 * 2
    X, Y = sets["one"]
    framed = {"one": (pd.DataFrame(X).add_prefix("f"), pd.DataFrame(Y))}
    again = run_study(Study(framed, algorithms, criteria, folds=2, split="stratified"))
    assert again.value.tolist() == rows[rows.set == "one"].value.tolist()


def test_a_record_has_definition_tasks_sets_and_runs(study, tmp_path):
    run_study(study, tmp_path)
    record = read_study(tmp_path)
    assert record.definition == study.definition()
    tasks = record.tasks
    assert (len(tasks), set(tasks.status), tasks.seed.nunique()) == (18, {"done"}, 6)
    assert set(tasks[tasks.algorithm == "FCM-O"].fitted_by) == {"FCM"}
    assert (tasks.fit_seconds > 0).all()
    assert tasks.groupby(["set", "fold"]).seed.nunique().eq(1).all()
    one = record.sets.set_index("set").loc["one"]
    assert (one.N, one.d, one.L, len(one.sha256)) == (80, 6 + 4, 4, 64)
    assert np.isnan(one.paper_number)
    assert record.runs.ended.all()
    assert {"python", "pairmend", "numpy"} <= set(record.runs.versions[0])
    assert "processors" in record.runs.machine[0]


def test_a_set_that_cannot_be_read_does_not_stop_the_others(sets, algorithms, tmp_path):
    (tmp_path / "broken.arff").write_text("@relation x\n@data\nnonsense")
    both = {"broken": {"file": str(tmp_path / "broken.arff")}, **sets}
    with pytest.warns(FailedTasksWarning, match="6 of 18 tasks failed.*broken.arff"):
        rows = run_study(Study(both, algorithms, folds=2))
    assert set(rows.set) == set(sets)


def test_other_files_named_study_sqlite_are_refused(study, tmp_path):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "study.sqlite").write_text("not a database, but a text")
    with closing(sqlite3.connect(tmp_path / "study.sqlite")) as connection:
        connection.execute("CREATE TABLE other (x)")
    for folder in (tmp_path, tmp_path / "text"):
        contents = (folder / "study.sqlite").read_bytes()
        for use in (run_study, plan_study):
            with pytest.raises(ValueError, match="study.sqlite cannot be read as a study"):
                use(study, folder)
        assert (folder / "study.sqlite").read_bytes() == contents


def test_a_second_run_in_the_same_folder_is_refused(study, tmp_path):
    def second(step):
        if step.outcome:
            with pytest.raises(BlockingIOError, match="another process runs a study"):
                run_study(study, tmp_path)

    run_study(study, tmp_path, progress=second)


def test_missing_sets(tmp_path):
    no_file, no_function = {"file": str(tmp_path / "no.arff")}, {"function": "nothing.here"}
    sets = {"simplehc": {}, "enron": {}, "azotobacter": {}, "f": no_file, "g": no_function}
    study = Study(sets, {"LPW": odd_classifiers.Frequent()}, folds=2)
    with pytest.raises(ValueError, match=r"enron \(its files are missing\), azotobacter") as raised:
        run_study(study, data_dir=tmp_path)
    for reason in ("no public copy was found", f"f (there is no file {tmp_path}", "cannot import"):
        assert reason in str(raised.value)
    lenient = replace(study.narrowed(["simplehc", "enron", "f", "g"]), skip_missing=True)
    assert set(run_study(lenient, tmp_path / "out", data_dir=tmp_path).set) == {"simplehc"}
    assert list(read_study(tmp_path / "out").definition["sets"]) == ["simplehc"]
    with pytest.raises(ValueError, match="nothing to run"):
        run_study(Study(["enron"], study.algorithms, skip_missing=True), data_dir=tmp_path)
    assert not plan_study(lenient, download=True).sets.missing[1]


@pytest.mark.parametrize(("kind", "message"), [
    ("exits", "SystemExit"), ("surrogate", r"cannot be decoded: \\udcff"),
    ("signs", "expected 0 and 1 in shape"), ("narrow", r"shape \(40, 3\)"),
])  # fmt: skip
def test_invalid_predictions_and_exits_are_failed_tasks(sets, kind, message):
    study = Study({"one": sets["one"]}, {"A": odd_classifiers.Odd(kind)}, folds=2)
    with pytest.warns(FailedTasksWarning, match=f"2 of 2 tasks failed.*{message}"):
        assert run_study(study).empty


def test_a_journal_left_by_a_killed_writer_is_rolled_back(study, tmp_path):
    rows = run_study(study, tmp_path / "out")
    with closing(sqlite3.connect(tmp_path / "out" / "study.sqlite")) as connection:
        connection.execute("PRAGMA cache_size = 1")  # so that it writes before it commits
        connection.execute("BEGIN")
        connection.execute("UPDATE results SET value = 0.0")
        shutil.copytree(tmp_path / "out", tmp_path / "copy")
    assert (tmp_path / "copy" / "study.sqlite-journal").stat().st_size
    pd.testing.assert_frame_equal(read_study(tmp_path / "copy").results, rows)


def test_algorithms_that_differ_in_prediction_parameters_share_a_fit(sets):
    params = {"FCM": {}, "FCM-W": {"balance": "labels"}, "FCM-O": {"overlap": 0.5}}
    counting = odd_classifiers.Counting()
    variants = {name: CorrectedPairwiseClassifier(counting, **params[name]) for name in params}
    study = Study({"one": sets["one"]}, variants, folds=2)
    odd_classifiers.Counting.fits = 0
    together = run_study(study)
    assert odd_classifiers.Counting.fits == 2 * 6  # folds x pairs, once
    for name in variants:
        found = together[together.algorithm == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(found, run_study(study.narrowed(algorithms=[name])))
