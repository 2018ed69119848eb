"""Studies in Python and in study files, and their sets."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood
from pairmend.datasets import load, save_file
from pairmend.study import Study, load_study
from pairmend.study.execution import shared_fits
from pairmend.study.objects import as_text, build, describe
from pairmend.study.sources import Source, data_hash

OWN = """
title = "Ours"
folds = 4
repeats = 2
split = "stratified"

[sets.yeast]
[sets.made]
function = "pairmend.datasets.make_shapes"
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
MINIMAL = 'sets = ["yeast"]\n[algorithms.A]\nclass = "pairmend.PairwiseClassifier"\n'


def test_a_study_file(tmp_path):
    own, before = tmp_path / "ours.toml", list(sys.path)
    own.write_text(OWN)
    study = load_study(own)
    assert sys.path == before
    assert (study.name, study.title, study.folds, study.repeats) == ("ours", "Ours", 4, 2)
    mine = {"file": str(tmp_path / "mine.csv"), "labels": ["a", "b"], "one_hot": True}
    made = {"function": "pairmend.datasets.make_shapes", "params": {"n_samples": 50}}
    definition = study.definition()
    assert definition["sets"] == {"yeast": {"catalogue": "yeast"}, "made": made, "mine": mine}
    estimator = study.algorithms["one-vs-rest"].estimator
    assert isinstance(estimator, LogisticRegression)
    assert estimator.C == 0.5
    assert study.criteria["hamming"].title == "Hamming loss"
    assert study.criteria["jaccard"].greater_is_better
    assert study.criteria["jaccard"]([[1, 1]], [[1, 0]]) == 0.5
    assert study.criteria["ranking"].needs == "scores"
    # In Python sets and algorithms are the same tables.
    again = Study(definition["sets"], definition["algorithms"], study.criteria).definition()
    assert again["sets"] == definition["sets"]
    assert again["algorithms"] == definition["algorithms"]


@pytest.mark.parametrize("page", ["study.md", "tutorial_study.md"])
def test_the_examples_of_the_documentation_are_valid(page, tmp_path):
    text = (Path(__file__).parents[2] / "docs" / page).read_text("utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "ours.toml").write_text(example)
    algorithms = load_study(tmp_path / "ours.toml").algorithms
    assert len(algorithms) == (3 if page == "study.md" else 2)
    if page == "study.md":
        assert algorithms["tuned"].param_grid == {"estimator__C": [0.1, 1, 10]}


SETS, CLASS = '["yeast"]', "pairmend.PairwiseClassifier"
NO_FIT = "must be an object implementing"
INVALID = [
    ("sets = [", "Invalid value"), (b"\xff\xfe\x00", "utf-8"),
    ("fold = 3\n" + MINIMAL, "unknown key 'fold'"),
    ('sets = ["yeast"]', "missing 1 required .* 'algorithms'"),
    ('algorithms = ["A"]\nsets = ["yeast"]', "algorithms.* must be an instance of .*Mapping"),
    ("folds = 1\n" + MINIMAL, r"folds.* must be an int in the range \[2, inf\). Got 1"),
    (MINIMAL.replace("[algorithms.A]", '[algorithms.""]'), "names of algorithms must"),
    (MINIMAL.replace(SETS, "[]"), "names of sets must be one text or more"),
    (MINIMAL.replace("yeast", "yest"), "no set is named 'yest'; expected one of arts"),
    (MINIMAL.replace(SETS, "{m = {file = 3}}"), "'file' parameter of sets.m must be .* Got 3"),
    (MINIMAL.replace(SETS, '{m = {fil = "a"}}'), "unknown keys"),
    (MINIMAL.replace(SETS, "{yeast = {rows = 0}}"), "rows.* of sets.yeast must be an int in"),
    (MINIMAL + "[criteria.x]\n", "missing 2 required .* 'function'"),
    (MINIMAL + '[criteria.x]\nfunction = "os.getpid"\nneeds = "all"\n', "needs.* a str among"),
    (MINIMAL + '[criteria.x]\nfunction = "sys.path"\n', "function"),
    (MINIMAL + '[criteria.hamming]\ngreater_is_better = "no"\n', "greater_is_better.* must be"),
    (MINIMAL.replace("pairmend.Pairwise", "tests.no."), "cannot import"),
    (MINIMAL.replace(CLASS, "sklearn.preprocessing.StandardScaler"), NO_FIT),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), INVALID)
def test_invalid_study_files_are_refused(tmp_path, text, message):
    path, before = tmp_path / "bad.toml", list(sys.path)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message) as raised:
        load_study(path)
    assert str(path) in str(raised.value)
    assert sys.path == before


def test_studies_of_the_package():
    study = load_study("paper")
    assert len(study.sets) == 29
    assert (study.folds, study.repeats, study.split, study.alpha) == (10, 1, "shuffled", 0.1)
    assert list(study.criteria) == ["hamming", "macro_f1", "micro_f1", "zero_one"]
    fcm_w, fcm_o = study.algorithms["FCM-W"], study.algorithms["FCM-O"]
    assert (fcm_w.balance, fcm_w.overlap) == ("labels", 0.0)
    assert (fcm_o.balance, fcm_o.overlap) == (None, 0.5)
    mended = load_study("mended")
    fits = [set(names) for names in shared_fits(mended.algorithms)]
    for base in ("", "-LR", "-NB", "-RF"):
        assert {f"Mended-{kind}{base}" for kind in ("H", "Z", "Mi", "Ma")} in fits
    assert mended.definition()["sets"]["arts"] == {"catalogue": "arts", "rows": 1500}
    # Of what differs only in parameters of prediction, the family has one fit for each base.
    assert len(load_study("family").algorithms) > len(shared_fits(load_study("family").algorithms))
    with pytest.raises(FileNotFoundError, match="no study file other; studies that come with"):
        load_study("other")


def test_algorithms_without_their_packages_are_left_out(monkeypatch):
    whole = load_study("mended")
    absent = {"LightGBM": "lightgbm", "CatBoost": "catboost", "BOOMER": "mlrl"}
    for package in absent.values():
        monkeypatch.setitem(sys.modules, package, None)
    study = load_study("mended")
    assert {name: [absent[name.partition("-")[0]]] for name in study.left_out} == study.left_out
    assert {"LightGBM", "LightGBM-SCut", "CatBoost-F1", "BOOMER"} < set(study.left_out)
    gone = set(whole.algorithms) - set(study.algorithms)
    assert gone == set(study.left_out) - set(whole.left_out)
    with pytest.raises(ValueError, match="Not installed: LightGBM needs lightgbm"):
        study.narrowed(algorithms=["LightGBM"])


def test_sets_of_the_catalogue_functions_and_files(tmp_path, shared):
    whole = Source.of("simplehc", {}).load(None, False)
    assert whole.Y.shape == (3000, 10)
    part, again = (Source.of("simplehc", {"rows": 20}).load(None, False) for _ in range(2))
    assert part.Y.shape == (20, 10)
    np.testing.assert_array_equal(part.X, again.X)
    assert {tuple(row) for row in part.X} <= {tuple(row) for row in whole.X}
    make = {"function": "pairmend.datasets.make_shapes"}
    first, second, third = (
        Source.of("made", {**make, "params": params}).load(None, False)
        for params in ({}, {}, {"random_state": 1})
    )
    assert data_hash(first) == data_hash(second) != data_hash(third), "random_state is 0"
    save_file(first, tmp_path / "made.csv")
    filed = Source.of("made", {"file": "made.csv", "labels": list(first.label_names)}, tmp_path)
    np.testing.assert_array_equal(filed.load(None, False).Y, first.Y)
    birds = Source.of("birds", {"one_hot": True}).load(shared / "data", False)
    assert not birds.categories
    assert birds.X.shape[1] > load("birds", shared / "data").X.shape[1]


@pytest.mark.parametrize(("parts", "message"), [
    ({"sets": "yeast"}, "sets.* must be"), ({"sets": {"one": 3}}, "must be"),
    ({"sets": {"one": (np.eye(2), np.eye(3))}}, "a row for"),
    ({"criteria": []}, "criteria"), ({"criteria": {"x": max}}, "criteri"),
])  # fmt: skip
def test_invalid_studies_are_refused(sets, algorithms, parts, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Study(**{"sets": sets, "algorithms": algorithms, **parts})


# Estimators as plain data


def test_estimators_are_recreated_from_their_description():
    model = Pipeline([
        ("scale", StandardScaler(with_mean=False)), ("call", FunctionTransformer(func=describe)),
        ("last", CorrectedPairwiseClassifier(neighbourhood=GaussianNeighbourhood(beta=4))),
    ])  # fmt: skip
    again = build(describe(model), "here")
    assert describe(again) == describe(model)
    assert again[-1].neighbourhood.beta == 4
    assert again[1].func is describe
    logistic = {"class": "sklearn.linear_model.LogisticRegression"}
    assert describe(LogisticRegression(verbose=1)) == logistic
    one, other = (as_text(describe(BaggingClassifier(max_features=n))) for n in (1, 1.0))
    assert one != other, "1 is one feature, 1.0 all of them"
    plain = {"class": "sklearn.feature_extraction.text.TfidfVectorizer"}
    model = build({**plain, "params": {"ngram_range": [1, 2]}}, "here")
    assert model.ngram_range == (1, 2)
    assert describe(model)["params"] == {"ngram_range": [1, 2]}
    one, other = (describe(type("Local", (LogisticRegression,), {})()) for _ in range(2))
    assert one["opaque"] == other["opaque"]
    assert one != other


@pytest.mark.parametrize(("plain", "message"), [
    ({"class": "LogisticRegression"}, "'LogisticRegression', expected module.name"),
    ({"class": "sklearn.svm.Nothing"}, "no attribute 'Nothing'"),
    ({"class": "sklearn.svm.LinearSVC", "params": {"c": 1}}, "unexpected keyword argument 'c'"),
    ({"class": "sklearn.svm.LinearSVC", "parms": {}}, "unknown keys"),
    ({"class": "sys.path"}, "not a callable"),
    ({"object": "numpy.log1p", "params": {}}, "unknown keys"),
    ({"class": "fractions.Fraction", "params": {"denominator": 0}}, "ZeroDivisionError"),
])  # fmt: skip
def test_invalid_descriptions_are_refused(plain, message):
    with pytest.raises((ValueError, ImportError), match=message):
        build(plain, "algorithms.x")
