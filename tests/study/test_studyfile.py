import importlib.util
import re
import sys
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression

from pairmend.study import (
    FileSource,
    FunctionSource,
    load_study,
    paper_study,
    parse_study,
    shipped_study,
)
from pairmend.study.definition import BOOSTING
from pairmend.study.execution import shared_fits

OWN = """
title = "Ours"
folds = 4
repeats = 2
split = "stratified"

[sets.yeast]
[sets.made]
function = "pairmend.datasets.make_hypercubes"
params = { n_samples = 50 }
[sets.mine]
file = "mine.csv"
labels = ["a", "b"]
one_hot = true

[algorithms."one-vs-rest"]
class = "sklearn.multiclass.OneVsRestClassifier"
[algorithms."one-vs-rest".params.estimator]
class = "sklearn.linear_model.LogisticRegression"
params = { C = 0.5 }

[criteria.hamming]
[criteria.jaccard]
function = "sklearn.metrics.jaccard_score"
params = { average = "samples", zero_division = 1.0 }
greater_is_better = true
[criteria.ranking]
function = "sklearn.metrics.label_ranking_loss"
needs = "scores"
title = "ranking loss"
"""


PIPELINE = """
sets = ["yeast"]
[algorithms.filled]
class = "sklearn.multiclass.OneVsRestClassifier"
[algorithms.filled.params.estimator]
class = "sklearn.pipeline.Pipeline"
params = { steps = [
  ["fill", { class = "sklearn.impute.SimpleImputer" }],
  ["classify", { class = "sklearn.linear_model.LogisticRegression" }],
] }
"""


@pytest.mark.parametrize("page", ["study.md", "tutorial_study.md"])
def test_the_examples_of_the_documentation_are_valid(page, tmp_path):
    text = (Path(__file__).parents[2] / "docs" / page).read_text("utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    path = tmp_path / "ours.toml"
    path.write_text(example)
    algorithms = load_study(path).algorithms
    assert len(algorithms) == 2
    if page == "study.md":
        assert algorithms["one-vs-rest"].param_grid == {"estimator__C": [0.1, 1, 10]}


def test_a_parameter_may_be_a_list_of_steps(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text(PIPELINE)
    steps = load_study(path).algorithms["filled"].estimator.steps
    assert [name for name, _ in steps] == ["fill", "classify"]


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text(OWN)
    return path


def test_a_study_file(own):
    study = load_study(own)
    assert (study.name, study.title, study.folds, study.repeats) == ("ours", "Ours", 4, 2)
    assert list(study.sets) == ["yeast", "made", "mine"]
    assert study.sets["mine"] == FileSource(
        own.parent / "mine.csv", labels=("a", "b"), one_hot=True
    )
    assert study.sets["made"] == FunctionSource(
        "pairmend.datasets.make_hypercubes", {"n_samples": 50}
    )
    estimator = study.algorithms["one-vs-rest"].estimator
    assert isinstance(estimator, LogisticRegression)
    assert estimator.C == 0.5
    assert study.criteria["hamming"].title == "Hamming loss"
    assert study.criteria["jaccard"].greater_is_better
    assert study.criteria["jaccard"]([[1, 1]], [[1, 0]]) == 0.5
    assert study.criteria["ranking"].needs == "scores"


def test_a_study_is_recreated_from_its_definition(own, tmp_path):
    for study in (load_study(own), paper_study()):
        again = parse_study(study.definition(), tmp_path / "elsewhere")
        assert again.definition() == study.definition()


def test_sys_path_is_restored(own):
    before = list(sys.path)
    load_study(own)
    own.write_text(OWN.replace("sklearn.multiclass", "nowhere"))
    with pytest.raises(ValueError, match="cannot import"):
        load_study(own)
    assert sys.path == before


def test_the_paper_study_has_the_paper_s_settings():
    study = paper_study()
    assert len(study.sets) == 29
    assert (study.folds, study.repeats, study.split) == (10, 1, "shuffled")
    assert list(study.criteria) == ["hamming", "macro_f1", "micro_f1", "zero_one"]
    fcm_w, fcm_o = study.algorithms["FCM-W"], study.algorithms["FCM-O"]
    assert (fcm_w.balance, fcm_w.overlap) == ("labels", 0.0)
    assert (fcm_o.balance, fcm_o.overlap) == (None, 0.5)


MINIMAL = 'sets = ["yeast"]\n[algorithms.A]\nclass = "pairmend.PairwiseClassifier"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sets = [", "is not TOML"),
        ("fold = 3\n" + MINIMAL, "unknown key 'fold'"),
        ('sets = ["yeast"]', "'algorithms' is missing"),
        (MINIMAL.replace("yeast", "yest"), "did you mean 'yeast'"),
        (MINIMAL.replace("class =", "clas ="), "must name its class"),
        ("folds = 1\n" + MINIMAL, "folds must be a whole number of at least 2, got 1"),
        ('folds = "3"\n' + MINIMAL, "folds must be a whole number"),
        ("seed = -1\n" + MINIMAL, "seed must be a whole number of at least 0"),
        ('split = "random"\n' + MINIMAL, "split must be one of shuffled, stratified"),
        ("sets = []\n" + MINIMAL.split("\n", 1)[1], "at least one set"),
        ('criteria = ["loss"]\n' + MINIMAL, "criteria has the unknown names 'loss'"),
        (MINIMAL + "[criteria.x]\n", "must name its function"),
        (MINIMAL + '[criteria.x]\nfunction = "os.getpid"\nneeds = "all"\n', "'labels' or 'scores'"),
        (MINIMAL + "[criteria.x]\nweight = 3\n", "unknown keys"),
        (MINIMAL + '[criteria.x]\nfunction = "sys.path"\n', "sys.path is not a function"),
        (MINIMAL + '[criteria.x]\nfunction = "os.getpid"\nparams = [1]\n', "must be a table"),
        (
            MINIMAL + '[criteria.hamming]\ngreater_is_better = "no"\n',
            "must be true or false, got 'no'",
        ),
        ("title = 5\n" + MINIMAL, "title must be a text"),
        ("time_limit = 0\n" + MINIMAL, "time_limit must be a number of seconds above 0, got 0"),
        ('time_limit = "1"\n' + MINIMAL, "time_limit must be a number of seconds"),
        ("time_limit = inf\n" + MINIMAL, "time_limit must be a number of seconds"),
        ('file = "x"\n' + MINIMAL, "unknown key 'file'"),
        ("skip_missing = 1\n" + MINIMAL, "skip_missing must be true or false"),
        ('name = ""\n' + MINIMAL, "names of studies must be texts of 1 to 100"),
        (MINIMAL.replace("[algorithms.A]", '[algorithms."a\\nb"]'), "names of algorithms must"),
        ("sets = [1]\n" + MINIMAL.split("\n", 1)[1], "sets must be names, got 1"),
        (
            MINIMAL.replace('["yeast"]', "{m = {catalogue = 3}}"),
            "sets.m.catalogue must be a text, got 3",
        ),
        (MINIMAL.replace("pairmend.Pairwise", "tests.no."), "cannot import"),
        ("sets = 3\n" + MINIMAL.split("\n", 1)[1], "sets must be a table, got 3"),
        (MINIMAL.replace('["yeast"]', "{m = {file = 3}}"), "sets.m.file must be a text, got 3"),
        (MINIMAL.replace('["yeast"]', '{m = {fil = "a"}}'), "unknown keys"),
        ('algorithms = ["A"]\nsets = ["yeast"]', "algorithms must be a table"),
        (MINIMAL.replace("pairmend.Pairwise", "sklearn.preprocessing.Nothing"), "cannot import"),
        (
            MINIMAL.replace("pairmend.PairwiseClassifier", "sklearn.preprocessing.StandardScaler"),
            "with fit and predict",
        ),
    ],
)
def test_invalid_study_files_are_refused(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as raised:
        load_study(path)
    assert str(path) in str(raised.value)


def test_a_binary_file_is_refused(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not UTF-8 text"):
        load_study(path)


def test_shipped_studies():
    assert list(shipped_study("paper").sets) == list(paper_study().sets)
    mended = shipped_study("mended")
    assert mended.definition() == parse_study(mended.definition(), Path()).definition()
    with pytest.raises(ValueError, match="no study 'other' comes with pairmend; there are paper"):
        shipped_study("other")


def test_subsets_of_sets_of_the_catalogue():
    plain = {
        "sets": {"yeast": {"rows": 50}},
        "algorithms": {"LPW": {"class": "pairmend.PairwiseClassifier"}},
    }
    study = parse_study(plain, Path())
    assert study.sets["yeast"].rows == 50
    assert study.definition()["sets"] == {"yeast": {"catalogue": "yeast", "rows": 50}}
    for wrong in (0, 2.5, True, "many"):
        plain["sets"]["yeast"]["rows"] = wrong
        with pytest.raises(
            ValueError, match="sets.yeast.rows must be a (number of rows|whole number)"
        ):
            parse_study(plain, Path())
    plain["sets"]["yeast"] = {"one_hot": "yes"}
    with pytest.raises(ValueError, match="sets.yeast.one_hot must be true or false, got 'yes'"):
        parse_study(plain, Path())


ABSENT = (
    MINIMAL
    + '[algorithms.B]\nclass = "pairmend.baselines.BinaryRelevance"\n'
    + ('params = { estimator = { class = "no_such_package.Classifier" } }\n')
)


def test_algorithms_without_their_packages_are_left_out_or_refused(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text(ABSENT)
    with pytest.raises(ValueError, match="No module named 'no_such_package'"):
        load_study(path)
    path.write_text("skip_missing = true\n" + ABSENT)
    study = load_study(path)
    assert list(study.algorithms) == ["A"]
    assert study.left_out == {"B": ["no_such_package"]}
    assert list(study.narrowed(algorithms=["a"]).algorithms) == ["A"]
    with pytest.raises(ImportError, match="'b' needs packages that are not installed: no_such"):
        study.narrowed(algorithms=["A", "b"])
    path.write_text("skip_missing = true\n" + ABSENT.replace("pairmend.Pairwise", "no_such."))
    with pytest.raises(ValueError, match="No module named 'no_such'"):
        load_study(path)


def test_the_study_mended_does_without_optional_packages(monkeypatch):
    whole = shipped_study("mended")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name in (*BOOSTING, "mlrl") else find_spec(name),
    )
    study = shipped_study("mended")
    packages = {
        **{f"LightGBM{threshold}": ["lightgbm"] for threshold in ("", "-SCut", "-F1")},
        **{f"CatBoost{threshold}": ["catboost"] for threshold in ("", "-SCut", "-F1")},
        "BOOMER": ["mlrl"],
    }
    assert study.left_out == packages
    assert set(whole.algorithms) - set(study.algorithms) == set(packages) - set(whole.left_out)
    with pytest.raises(ImportError, match=r"pip install lightgbm catboost"):
        study.narrowed(algorithms=["LightGBM"])


def test_variants_of_mended_classifier_share_a_fit():
    fits = shared_fits(shipped_study("mended").algorithms)
    for base in ("", "-LR", "-NB", "-RF"):
        variants = {f"Mended-{kind}{base}" for kind in ("H", "Z", "Mi", "Ma")}
        assert variants in [set(names) for names in fits]
