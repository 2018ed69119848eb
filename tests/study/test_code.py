"""Results of changed code and changed data are not mixed with stored ones, nor reported."""

import os
import sys

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

import odd_classifiers
from pairmend.cli import main
from pairmend.study import FileSource, Study, load_study, plan_study, read_study, run_study
from pairmend.study.plan import methods_of, versions_of

pytestmark = pytest.mark.usefixtures("in_process", "no_report")


@pytest.fixture
def no_report(monkeypatch):
    """Write no report, which takes seconds."""
    monkeypatch.setattr("pairmend.report.write_report", lambda out: out / "report.html")


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
function = "pairmend.datasets.make_hypercubes"
params = {{ n_samples = 40 }}
[algorithms.A]
class = "sklearn.pipeline.Pipeline"
params = {{ steps = [["last", {{ class = "{name}.Mine" }}]] }}
[algorithms.B]
class = "odd_classifiers.Frequent"
[criteria.metric]
function = "{name}.metric"
"""


@pytest.fixture
def own(tmp_path, request):
    """A folder with a study file and a module; and the module's name."""
    name = "own_" + request.node.name.partition("[")[0]
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / "study.toml").write_text(FILE.format(name=name))
    return tmp_path, name


def test_changed_code_is_refused_with_the_modules(own):
    folder, name = own
    out = folder / "out"
    before = list(sys.path)
    rows = run_study(load_study(folder / "study.toml"), out)
    assert len(rows) == 4
    assert sys.path == before, "sys.path changed"
    (folder / f"{name}.py").write_text(MODULE.replace("* 1", "* 0"))
    with pytest.raises(ValueError, match="results computed with other code or data") as raised:
        run_study(load_study(folder / "study.toml"), out)
    message = str(raised.value)
    assert f"algorithms.A: the file of the module {name} changed" in message
    assert f"criteria.metric: the file of the module {name} changed" in message
    assert "algorithms.B" not in message
    assert "(--out), compute sets and algorithms again (--rerun NAME" in message
    run_study(load_study(folder / "study.toml"), out, accept_changes=True)
    assert plan_study(load_study(folder / "study.toml"), out).code_changes == ()


def test_code_of_algorithms_without_results_may_change(own):
    folder, name = own
    study = load_study(folder / "study.toml")
    only_b = study.narrowed(algorithms=["B"])
    run_study(Study(only_b.sets, only_b.algorithms, ["hamming"], folds=2), folder / "out")
    (folder / f"{name}.py").write_text(MODULE + "\nother = 1\n")
    larger = Study(study.sets, study.algorithms, ["hamming"], folds=2)
    assert plan_study(larger, folder / "out").code_changes == ()


def test_an_algorithm_whose_code_changed_is_computed_again_alone(own):
    folder, name = own
    file, out = folder / "study.toml", folder / "out"
    file.write_text(FILE.format(name=name).partition("[criteria")[0])
    run_study(load_study(file), out)
    before = read_study(out)
    (folder / f"{name}.py").write_text(MODULE.replace("* 1", "* 0"))
    with pytest.raises(ValueError, match="algorithms.A: the file of the module .* changed"):
        run_study(load_study(file), out)
    plan = plan_study(load_study(file), out, rerun=["a"])
    assert (plan.code_changes, plan.n_done) == ((), 2)
    run_study(load_study(file), out, rerun=["a"])
    after = read_study(out)
    assert dict(zip(after.tasks.algorithm, after.tasks.run, strict=True)) == {"A": 2, "B": 1}
    kept = before.tasks.algorithm == "B"
    assert after.tasks[kept].equals(before.tasks[kept])
    assert plan_study(load_study(file), out).code_changes == ()
    with pytest.raises(ValueError, match="no set, algorithm or metric 'C'; it has hamm"):
        run_study(load_study(file), out, rerun=["C"])


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda thing: thing(),
        lambda thing: Pipeline([("first", GaussianNB()), ("last", thing())]),
        lambda thing: RandomForestClassifier(class_weight={"deep": [(1, thing)]}),
        lambda thing: FunctionTransformer(func=thing),
        lambda thing: FunctionTransformer(kw_args={"function": thing}),
        lambda thing: FunctionTransformer(func=thing().fit),
        lambda thing: type("Derived", (thing,), {})(),
    ],
)
def test_files_of_nested_objects_are_found(wrapped, small_set):
    model = wrapped(odd_classifiers.Frequent)
    model.predict = print
    model.fit = print
    study = Study({"one": small_set}, {"A": model})
    assert "odd_classifiers" in methods_of(study)["algorithms.A"]


def test_installed_packages_have_versions_instead_of_digests(small_set):
    study = Study({"one": small_set}, {"A": Pipeline([("last", GaussianNB())])})
    assert methods_of(study)["algorithms.A"] == {}
    assert versions_of(study)["scikit-learn"] == sys.modules["sklearn"].__version__


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
    before = read_study(out)
    changed = filed / "one.csv"
    changed.write_text(changed.read_text().replace("\n0,0,0", "\n0,1,1"))
    for more in ([], ["--dry-run"]):
        assert main([*words, *more]) == 2
        message = capsys.readouterr().err
        assert f"sets.one: {changed} changed since results were stored" in message
        assert "--rerun NAME" in message
        assert "sets.two" not in message
    assert main(["report", str(out)]) == 2
    message = capsys.readouterr().err
    assert f"sets.one: {changed} changed since results were stored" in message
    assert "pairmend study --rerun NAME" in message
    assert main(["report", str(out), "--accept-changes"]) == 0
    assert main([*words, "--accept-changes"]) == 0  # nothing is left, so nothing is mixed
    assert read_study(out).results.equals(before.results)
    assert main([*words, "--rerun", "one"]) == 0
    after = read_study(out)
    old, new = (record.results.set_index("set") for record in (before, after))
    assert new.loc["two"].equals(old.loc["two"])
    assert not new.loc["one"].equals(old.loc["one"])
    fresh = run_study(load_study(filed / "study.toml"))
    assert after.results.equals(fresh)
    assert main(words) == main(["report", str(out)]) == 0


def test_a_file_that_was_moved_is_not_a_change(filed):
    study, out = load_study(filed / "study.toml"), filed / "out"
    os.utime(filed / "one.csv", (0, 0))
    assert plan_study(study, out).code_changes == ()
    (filed / "elsewhere").mkdir()
    for name in ("one", "two"):
        (filed / f"{name}.csv").rename(filed / "elsewhere" / f"{name}.csv")
    moved = {
        name: FileSource(filed / "elsewhere" / f"{name}.csv", labels=("a", "b"))
        for name in ("one", "two")
    }
    assert plan_study(Study(moved, study.algorithms, folds=2), out).code_changes == ()


def test_a_changed_file_with_tasks_left_is_refused_in_any_case(filed):
    study, out = load_study(filed / "study.toml"), filed / "out"
    changed = filed / "one.csv"
    changed.write_text(changed.read_text().replace("\n0,0,0", "\n0,1,1"))
    more = Study(study.sets, study.algorithms, folds=2, repeats=2)
    with pytest.raises(ValueError, match="contents of the set .one. changed since results"):
        run_study(more, out, accept_changes=True)
    assert set(read_study(out).tasks.repeat) == {0}


def test_a_set_with_a_wrong_definition_is_computed_again_alone(filed):
    study, out = load_study(filed / "study.toml"), filed / "out"
    other = {**study.sets, "one": FileSource(filed / "one.csv", labels=("a", "b"), targets=2)}
    changed = Study(other, study.algorithms, folds=2)
    with pytest.raises(ValueError, match=r"sets.one.targets is new: 2\n.*--rerun NAME"):
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
