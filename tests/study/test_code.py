"""Results of changed code are not mixed with stored ones."""

import sys
import types

import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

import odd_classifiers
from pairmend.study import Study, load_study, plan_study, run_study
from pairmend.study.code_digests import codes_of

pytestmark = pytest.mark.usefixtures("in_process")

MODULE = """
from {name}_helper import SHARE
from odd_classifiers import Frequent

class Mine(Frequent):
    def predict(self, X):
        return super().predict(X) * SHARE

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
    """A folder with a study file, a module and a helper; and the module's name."""
    name = "own_" + request.node.name.partition("[")[0]
    (tmp_path / f"{name}.py").write_text(MODULE.format(name=name))
    (tmp_path / f"{name}_helper.py").write_text("SHARE = 1\n")
    (tmp_path / "study.toml").write_text(FILE.format(name=name))
    return tmp_path, name


def test_changed_code_is_refused_with_the_modules(own):
    folder, name = own
    out = folder / "out"
    before = list(sys.path)
    rows = run_study(load_study(folder / "study.toml"), out)
    assert len(rows) == 4
    assert sys.path == before, "sys.path changed"
    helper = folder / f"{name}_helper.py"
    helper.write_text("# a comment changes nothing\nSHARE = 1\n")
    assert plan_study(load_study(folder / "study.toml"), out).code_changes == ()
    helper.write_text("SHARE = 0\n")
    with pytest.raises(ValueError, match="results computed with other code") as raised:
        run_study(load_study(folder / "study.toml"), out)
    message = str(raised.value)
    assert f"algorithms.A: the code of the module {name}_helper changed" in message
    assert f"criteria.metric: the code of the module {name}_helper changed" in message
    assert "algorithms.B" not in message
    assert "Choose another folder (--out), undo the changes, or" in message
    run_study(load_study(folder / "study.toml"), out, accept_changes=True)
    assert plan_study(load_study(folder / "study.toml"), out).code_changes == ()


def test_code_of_algorithms_without_results_may_change(own):
    folder, name = own
    study = load_study(folder / "study.toml")
    only_b = study.narrowed(algorithms=["B"])
    run_study(Study(only_b.sets, only_b.algorithms, ["hamming"], folds=2), folder / "out")
    (folder / f"{name}.py").write_text(MODULE.format(name=name) + "\nother = 1\n")
    larger = Study(study.sets, study.algorithms, ["hamming"], folds=2)
    assert plan_study(larger, folder / "out").code_changes == ()


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda thing: thing(),
        lambda thing: Pipeline([("first", GaussianNB()), ("last", thing())]),
        lambda thing: {"deep": [(1, thing)]},
        lambda thing: FunctionTransformer(func=thing),
        lambda thing: FunctionTransformer(kw_args={"function": thing}),
        lambda thing: thing().fit,
    ],
)
def test_code_of_nested_objects_is_found(wrapped):
    assert "odd_classifiers" in codes_of({"A": wrapped(odd_classifiers.Frequent)})["A"].modules


def test_packages_have_versions_instead_of_digests():
    code = codes_of({"A": Pipeline([("last", GaussianNB())])})["A"]
    assert code.modules == {}
    assert code.packages["scikit-learn"] == sys.modules["sklearn"].__version__


def test_imports_are_followed_in_packages_and_relative(tmp_path, monkeypatch):
    package = tmp_path / "own_package"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("from own_package.unused import nothing\n")
    (package / "unused.py").write_text("nothing = 0\n")
    (package / "deep" / "__init__.py").write_text("")
    (package / "deep" / "model.py").write_text("from ..tools import f\nfrom . import more\n")
    (package / "deep" / "more.py").write_text("import numpy, os.path, own_package.lazy\n")
    (package / "lazy.py").write_text("def f():\n    import own_package.tools\n")
    (package / "tools.py").write_text("import not_installed_anywhere\nf = 1\n")
    monkeypatch.syspath_prepend(tmp_path)

    class Thing:
        pass

    Thing.__module__ = "own_package.deep.model"
    code = codes_of({"A": Thing()})["A"]
    expected = {"", ".deep", ".deep.model", ".deep.more", ".lazy", ".tools"}
    assert set(code.modules) == {f"own_package{name}" for name in expected}
    assert set(code.packages) == {"numpy"}
    assert "own_package.lazy" not in sys.modules, "modules must not be imported"


SCRIPT = """
import odd_classifiers
SHARE = 1
def helper(x):
    return x * SHARE
def other():
    return 3
class Mine(odd_classifiers.Frequent):
    def predict(self, X):
        return helper(super().predict(X))
"""


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("SHARE = 1", "SHARE = 0", True),
        ("return x * SHARE", "return x + SHARE", True),
        ("return helper(", "return 1 - helper(", True),
        ("return 3", "return 4", False),
        ("import odd", "# a comment\nimport odd", False),
    ],
)
def test_classes_of_a_script_are_digested_with_their_references(monkeypatch, old, new, changes):
    def code(text):
        main = types.ModuleType("__main__")
        monkeypatch.setitem(sys.modules, "__main__", main)
        exec(text, vars(main))
        return codes_of({"A": main.Mine()})["A"].modules

    one, other = code(SCRIPT), code(SCRIPT.replace(old, new))
    assert set(one) == {"__main__.Mine", "__main__.helper", "odd_classifiers"}
    assert (one != other) == changes


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
