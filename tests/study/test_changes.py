"""Results of changed definitions, code and data are not mixed with stored ones, nor reported."""

import os
import sys
from dataclasses import replace

import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline

import odd_classifiers
from pairmend.baselines import BinaryRelevance
from pairmend.cli import main
from pairmend.study import FailedTasksWarning, Study, load_study, plan_study, read_study, run_study
from pairmend.study.objects import versions
from pairmend.study.run import files_of

pytestmark = pytest.mark.usefixtures("in_process", "no_report")


MODULE = """
from odd_classifiers import Frequent

class Mine(Frequent):
    def predict(self, X):
        return super().predict(X) * 1

def metric(truth, predicted):
    return 0.25
"""

FILE = """
folds = 2
[sets.one]
function = "pairmend.datasets.make_shapes"
params = { n_samples = 40 }
[algorithms.A]
class = "sklearn.pipeline.Pipeline"
params = { steps = [["last", { class = "own_code.Mine" }]] }
[algorithms.B]
class = "odd_classifiers.Frequent"
[criteria.metric]
function = "own_code.metric"
"""


def test_what_changed_code_concerns_is_refused_until_it_is_computed_again(tmp_path):
    (tmp_path / "own_code.py").write_text(MODULE)
    (tmp_path / "study.toml").write_text(FILE)
    out, code, before = tmp_path / "out", tmp_path / "own_code.py", list(sys.path)
    study = load_study(tmp_path / "study.toml")
    run_study(study.narrowed(algorithms=["B"]), out)
    assert sys.path == before, "sys.path changed"
    code.write_text(MODULE + "\nother = 1\n")
    assert plan_study(study, out, rerun=["metric"]).code_changes == (), "A has no results"
    run_study(study, out, rerun=["metric"])
    first = read_study(out)
    code.write_text(MODULE.replace("* 1", "* 0"))
    with pytest.raises(ValueError, match="results computed with other code or data") as raised:
        run_study(study, out)
    message = str(raised.value)
    assert "algorithms.A: own_code changed" in message
    assert "criteria.metric: own_code changed" in message
    assert "algorithms.B" not in message
    assert "(--out), compute sets and algorithms again (--rerun NAME" in message
    plan = plan_study(study, out, rerun=["a", "metric"])
    assert (plan.code_changes, plan.n_done) == ((), 2)
    run_study(study, out, rerun=["a", "metric"])
    after = read_study(out)
    assert dict(zip(after.tasks.algorithm, after.tasks.run, strict=True)) == {"A": 3, "B": 1}
    kept = first.tasks.algorithm == "B"
    assert after.tasks[kept].equals(first.tasks[kept])
    with pytest.raises(ValueError, match="no set, algorithm or metric 'C'; there are metric"):
        run_study(study, out, rerun=["C"])
    code.write_text(MODULE)
    assert plan_study(study, out).code_changes
    run_study(study, out, accept_changes=True)
    assert plan_study(study, out).code_changes == ()


def test_files_of_nested_objects_are_found(small_set):
    thing = odd_classifiers.Frequent
    values = {
        "step": Pipeline([("last", thing())]), "class": thing, "method": thing().fit,
        "nested": {"deep": [(1, thing)]}, "other": Pipeline([("last", GaussianNB())]),
    }  # fmt: skip
    models = {name: BinaryRelevance(value) for name, value in values.items()}
    found = files_of(Study({"one": small_set}, models))
    has_file = {name for name in models if "odd_classifiers" in found[f"algorithms.{name}"]}
    assert has_file == {*models} - {"other"}, "installed packages have versions instead"
    assert versions(models)["scikit-learn"] == sys.modules["sklearn"].__version__


@pytest.fixture
def filed(tmp_path):
    """A finished study on two files."""
    for name in ("one", "two"):
        lines = ["x,a,b", *(f"{i},{i % 2},{i % 3 % 2}" for i in range(20))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    (tmp_path / "study.toml").write_text(
        "folds = 2\n"
        + "".join(f'[sets.{n}]\nfile = "{n}.csv"\nlabels = ["a", "b"]\n' for n in ("one", "two"))
        + '[algorithms.A]\nclass = "odd_classifiers.Frequent"\n'
    )
    run_study(load_study(tmp_path / "study.toml"), tmp_path / "out")
    return tmp_path


def test_a_finished_study_on_a_changed_file_is_refused_until_it_is_computed_again(filed, capsys):
    out, words = filed / "out", ["study", str(filed / "study.toml"), "--out", str(filed / "out")]
    before, study = read_study(out), load_study(filed / "study.toml")
    changed = filed / "one.csv"
    changed.write_text(changed.read_text().replace("\n0,0,0", "\n0,1,1"))
    for command in (words, [*words, "--dry-run"], ["report", str(out)]):
        assert main(command) == 2
        message = capsys.readouterr().err
        assert "sets.one: one.csv changed since results were stored" in message
        assert "--rerun NAME" in message
        assert "sets.two" not in message
    with pytest.warns(FailedTasksWarning, match="contents of the set .one. changed since results"):
        run_study(replace(study, repeats=2), out, accept_changes=True)
    failed = read_study(out).tasks.query("status == 'failed'")
    assert set(zip(failed.set, failed.repeat, strict=True)) == {("one", 1)}
    assert main([*words, "--rerun", "one"]) == 0
    after = read_study(out)
    runs = after.tasks.groupby("set").run.unique().map(list).to_dict()
    assert runs == {"one": [3], "two": [1, 2]}
    assert after.sets.set_index("set").sha256["one"] != before.sets.set_index("set").sha256["one"]
    assert plan_study(study, out).code_changes == ()


def test_moved_and_absent_files_are_no_change(filed):
    study, out = load_study(filed / "study.toml"), filed / "out"
    os.utime(filed / "one.csv", (0, 0))
    assert plan_study(study, out).code_changes == ()
    (filed / "elsewhere").mkdir()
    for name in ("one", "two"):
        (filed / f"{name}.csv").rename(filed / "elsewhere" / f"{name}.csv")
    pd.testing.assert_frame_equal(run_study(study, out), read_study(out).results)
    file = filed / "study.toml"
    file.write_text(file.read_text().replace('file = "', 'file = "elsewhere/'))
    plan = plan_study(load_study(file), out)
    assert plan.code_changes == plan.changes == ()


def test_a_set_with_a_wrong_definition_is_computed_again_alone(filed):
    study, out = load_study(filed / "study.toml"), filed / "out"
    table = {"file": str(filed / "one.csv"), "labels": ["a", "b"], "threshold": 2}
    changed = Study({**study.sets, "one": table}, study.algorithms, folds=2)
    with pytest.raises(ValueError, match=r"(?s)sets.one was.*threshold.: 2.*--rerun NAME"):
        run_study(changed, out)
    changed = Study({**study.sets, "one": study.sets["two"]}, study.algorithms, folds=2)
    run_study(changed, out, rerun=["one"])
    assert read_study(out).definition["sets"]["one"]["file"] == str(filed / "two.csv")


def test_a_module_of_the_same_name_in_another_folder_is_refused(tmp_path):
    for folder, share in (("one", 1), ("two", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "namesake.py").write_text(
            f"from odd_classifiers import Frequent\nclass Mine(Frequent):\n    share = {share}\n"
        )
        (tmp_path / folder / "study.toml").write_text(
            'sets = ["simplehc"]\n[algorithms.A]\nclass = "namesake.Mine"\n'
        )
    assert load_study(tmp_path / "one" / "study.toml").algorithms["A"].share == 1
    with pytest.raises(ValueError, match="'namesake' is already imported from .*one"):
        load_study(tmp_path / "two" / "study.toml")


def test_a_changed_study_is_refused_with_the_changes(study, sets, algorithms, tmp_path):
    rows = run_study(study, tmp_path)
    X, Y = sets["two"]
    models = {**algorithms, "FCM": algorithms["FCM"].set_params(validation=3)}
    other = {**sets, "two": (X + 1, Y)}
    changed = Study(other, models, ["hamming"], folds=4, seed=2, split="stratified")
    with pytest.raises(ValueError, match="has results of another study") as raised:
        run_study(changed, tmp_path)
    for line in ("folds was 3, is now 4", '"validation": 3', "sets.two was", "criteria.zero_one"):
        assert line in str(raised.value)
    pd.testing.assert_frame_equal(read_study(tmp_path).results, rows)


def test_sets_algorithms_and_repeats_may_be_added(study, sets, algorithms, tmp_path):
    small = Study({"two": sets["two"]}, {"FCM": algorithms["FCM"]}, folds=3)
    run_study(small, tmp_path)
    larger = Study(sets, algorithms, folds=3, repeats=2)
    assert plan_study(larger, tmp_path).n_done == 3
    rows = run_study(larger, tmp_path)
    pd.testing.assert_frame_equal(rows, run_study(larger))
    run_study(small, tmp_path)  # a part of it runs nothing and removes nothing
    assert read_study(tmp_path).definition == larger.definition() | {"repeats": 2}


def test_other_versions_of_packages_are_refused_if_tasks_are_left(study, tmp_path, monkeypatch):
    small = Study(study.sets, {"LPW": study.algorithms["LPW"]}, folds=3)
    run_study(small, tmp_path)
    monkeypatch.setattr("platform.python_version", lambda: "2.8")
    run_study(small, tmp_path)  # nothing is left, so nothing is mixed
    with pytest.raises(ValueError, match=r"other code.*\n  python was 3.*, is now 2.8\n.*--accept"):
        run_study(study, tmp_path)
    assert len(run_study(study, tmp_path, accept_changes=True)) == 72
