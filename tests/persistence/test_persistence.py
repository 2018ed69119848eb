"""Saving and loading models."""

import functools
import io
import json
import operator
import os
import re
import shutil
import subprocess
import sys
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import odd_classifiers
import pairmend
from model_forgeries import read_parts, write_parts
from pairmend import (
    AdaptiveNeighbourhood,
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    GlobalNeighbourhood,
    MendedClassifier,
    PairwiseClassifier,
    RandomSubspaceNB,
    ThresholdedClassifier,
)
from pairmend.baselines import BinaryRelevance, ClassifierChainEnsemble, LabelPowerset, MLkNN, RAkEL
from pairmend.cli import main
from pairmend.datasets import MultiLabelData
from pairmend.pairwise import (
    BradleyTerryClassifier,
    CorrectedBinaryRelevance,
    CorrectedMulticlassClassifier,
    FourClassPairsClassifier,
    PairwisePerceptrons,
    ParallelHyperplanesSVM,
    QWeightedVoting,
    SharedFirstClassifier,
    TwoStageVoting,
)
from pairmend.persistence import (
    ModelFileError,
    ModelVersionWarning,
    UntrustedTypesError,
    load_model,
    save_model,
)
from pairmend.persistence.save_load import pack
from pairmend.persistence.trust import ROOMS, registered
from pairmend.thresholds import (
    BatchF1Thresholds,
    CardinalityThreshold,
    F1Thresholds,
    FixedThreshold,
    NeverEmpty,
    PrecisionControl,
    RecallControl,
    TopLabels,
)
from public_classifiers import CLASSIFIERS

skops_io = pytest.importorskip("skops.io", reason="needs pip install 'pairmend[models]'")

LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())


def frame(X):
    table = pd.DataFrame(X.copy(), columns=list("abcdef"))  # X may be read-only
    table["a"] = pd.Categorical(np.where(X[:, 0] > 1, "more", "less"), ["less", "more", "never"])
    table["b"] = pd.Categorical(np.round(X[:, 1]))
    table.loc[3, ["a", "c"]] = None
    return table


def wide(X):
    """So many features, and so few cells, that rows stay sparse."""
    sparse_part = sparse.csr_array(
        np.random.default_rng(0).binomial(1, 0.01, (len(X), 300)).astype(float)
    )
    return sparse.hstack([sparse.csr_array(X * (X > 3)), sparse_part], format="csr")


INPUTS = {
    "dense": np.array,
    "floats": lambda X: X.astype("f4"),
    "sparse": wide,
    "frame": frame,
    "numbers": lambda X: pd.DataFrame(X, columns=list("abcdef")),
}

# name: (classifier, what it is fitted on)
MODELS = {
    "plain, closed form": (PairwiseClassifier(random_state=0), "dense"),
    "votes": (PairwiseClassifier(LOGISTIC, voting="votes", random_state=0), "dense"),
    "tree": (PairwiseClassifier(DecisionTreeClassifier(), random_state=0), "floats"),
    "forest": (PairwiseClassifier(RandomForestClassifier(3), random_state=0), "dense"),
    "extra trees": (PairwiseClassifier(ExtraTreesClassifier(3), random_state=0), "sparse"),
    "frame": (PairwiseClassifier(random_state=0), "frame"),
    "corrected, closed form": (CorrectedPairwiseClassifier(random_state=0), "dense"),
    "corrected, sparse": (CorrectedPairwiseClassifier(validation=3, random_state=0), "sparse"),
    "corrected, sparse logistic": (
        CorrectedPairwiseClassifier(LogisticRegression(), random_state=0),
        "sparse",
    ),
    "corrected, frame": (CorrectedPairwiseClassifier(balance="labels", random_state=0), "frame"),
    "corrected, logistic": (
        CorrectedPairwiseClassifier(LOGISTIC, validation=3, overlap=0.5, random_state=0),
        "dense",
    ),
    "adaptive": (
        CorrectedPairwiseClassifier(
            LOGISTIC,
            neighbourhood=AdaptiveNeighbourhood(5, transform=StandardScaler()),
            reference="crisp",
            random_state=np.random.RandomState(0),
        ),
        "dense",
    ),
    "global": (
        CorrectedPairwiseClassifier(
            neighbourhood=GlobalNeighbourhood(), reference="crisp", random_state=0
        ),
        "floats",
    ),
    "pipeline": (
        make_pipeline(
            StandardScaler(), CorrectedPairwiseClassifier(reference="identity", random_state=0)
        ),
        "dense",
    ),
    **{
        f"mended, {criterion}, {kind}": (
            MendedClassifier(criterion=criterion, cv=2, random_state=0),
            kind,
        )
        for criterion, kind in (
            ("hamming", "dense"),
            ("zero_one", "sparse"),
            ("macro_f1", "floats"),
            ("micro_f1", "numbers"),
        )
    },
    "mended trees": (MendedClassifier(DecisionTreeClassifier(), cv=2, random_state=0), "dense"),
    "mended pairs": (MendedClassifier(PairwiseClassifier(LOGISTIC), cv=2, random_state=0), "dense"),
    "calibrated": (CalibratedLabelRanking(LOGISTIC, random_state=0), "dense"),
    "calibrated, closed form": (CalibratedLabelRanking(random_state=0), "frame"),
    "corrected relevance": (CorrectedBinaryRelevance(LOGISTIC, random_state=0), "dense"),
    "corrected relevance, sparse": (CorrectedBinaryRelevance(random_state=0), "sparse"),
    "corrected classes": (CorrectedMulticlassClassifier(LOGISTIC, random_state=0), "dense"),
    "corrected classes, frame": (
        CorrectedMulticlassClassifier(validation=2, random_state=0),
        "frame",
    ),
    "bradley-terry": (BradleyTerryClassifier(LOGISTIC, random_state=0), "dense"),
    "four classes": (FourClassPairsClassifier(random_state=0), "dense"),
    "parallel hyperplanes": (ParallelHyperplanesSVM(), "sparse"),
    "shared first": (SharedFirstClassifier(LOGISTIC, random_state=0), "numbers"),
    "qweighted": (QWeightedVoting(LOGISTIC, random_state=0), "dense"),
    "two-stage": (TwoStageVoting(random_state=0), "frame"),
    "perceptrons": (PairwisePerceptrons(average=True, random_state=0), "dense"),
    "perceptrons, sparse": (PairwisePerceptrons(random_state=0), "sparse"),
    "relevance": (BinaryRelevance(DecisionTreeClassifier(), random_state=0), "dense"),
    "chains": (ClassifierChainEnsemble(LOGISTIC, n_chains=2, random_state=0), "dense"),
    "powerset": (LabelPowerset(LOGISTIC, random_state=0), "dense"),
    "rakel": (RAkEL(LOGISTIC, random_state=0), "dense"),
    "nearest rows alone": (MLkNN(), "numbers"),
    "nearest rows alone, sparse": (MLkNN(3), "sparse"),
    **{
        f"thresholds, {type(threshold).__name__}": (
            ThresholdedClassifier(PairwiseClassifier(GaussianNB()), threshold, cv=2),
            "dense",
        )
        for threshold in (
            FixedThreshold(0.4),
            CardinalityThreshold(),
            F1Thresholds(),
            BatchF1Thresholds(),
            TopLabels(),
            NeverEmpty(),
            PrecisionControl(0.3, confidence=0.3),
            RecallControl(0.8),
        )
    },
    "base alone": (RandomSubspaceNB(random_state=0), "frame"),
}

PREDICT_ELSEWHERE = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    inputs = pickle.load(file)
from pairmend.persistence import load_model
for name, (path, X) in inputs.items():
    model = load_model(path).estimator
    inputs[name] = model.predict(X), model.predict_proba(X)
with open(sys.argv[1], "wb") as file:
    pickle.dump(inputs, file)
"""


@pytest.fixture(scope="module")
def fitted(small_set):
    X, Y = small_set
    fits = {}
    for name, (classifier, kind) in MODELS.items():
        classes_only = isinstance(classifier, RandomSubspaceNB | CorrectedMulticlassClassifier)
        y = Y[:, 0] + Y[:, 1] if classes_only else Y
        fits[name] = classifier.fit(INPUTS[kind](X), y), INPUTS[kind](X)
    return fits


def test_another_process_predicts_the_same_bit_for_bit(fitted, tmp_path):
    inputs = {}
    for number, (name, (model, X)) in enumerate(fitted.items()):
        inputs[name] = str(tmp_path / f"{number}.model"), X
        save_model(model, inputs[name][0])
    pd.to_pickle(inputs, tmp_path / "inputs", compression=None)
    subprocess.run([sys.executable, "-c", PREDICT_ELSEWHERE, tmp_path / "inputs"], check=True)
    there = pd.read_pickle(tmp_path / "inputs", compression=None)
    for name, (model, X) in fitted.items():
        np.testing.assert_array_equal(model.predict(X), there[name][0], err_msg=name)
        np.testing.assert_array_equal(model.predict_proba(X), there[name][1], err_msg=name)


def test_every_classifier_of_the_library_is_among_the_models():
    assert set(CLASSIFIERS) <= {type(_last(model)).__name__ for model, _ in MODELS.values()}


def _last(model):
    return model[-1] if hasattr(model, "steps") else model


def test_names_of_classes_are_unique():
    registered("NoSuchClass")  # imports all modules
    names = Counter(
        name
        for module_name, module in sys.modules.items()
        if module_name.startswith("pairmend.") and module_name.split(".")[1] in ROOMS
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module_name and name[0] != "_"
    )
    assert [name for name, count in names.items() if count > 1] == []


MOVED = {
    "pairmend/mended/corrector.py": "pairmend/mended/chosen.py",
    "pairmend/frames/kinds.py": "pairmend/_utils/column_kinds.py",
}


def test_models_are_loaded_after_modules_were_moved(fitted, tmp_path):
    root = tmp_path / "src"
    shutil.copytree(Path(pairmend.__file__).parent, root / "pairmend")
    names = {old[:-3].replace("/", "."): new[:-3].replace("/", ".") for old, new in MOVED.items()}
    for old, new in MOVED.items():
        (root / old).rename(root / new)
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for old, new in names.items():
            text = re.sub(rf"\b{re.escape(old)}\b", new, text)
        path.write_text(text, encoding="utf-8")
    models = {name: fitted[name] for name in ("mended, micro_f1, numbers", "frame")}
    inputs = {name: (str(tmp_path / name), X) for name, (_, X) in models.items()}
    for name, (model, _) in models.items():
        save_model(model, inputs[name][0])
    pd.to_pickle(inputs, tmp_path / "inputs", compression=None)
    environment = {**os.environ, "PYTHONPATH": str(root)}
    words = [sys.executable, "-c", PREDICT_ELSEWHERE, tmp_path / "inputs"]
    subprocess.run(words, check=True, env=environment)
    there = pd.read_pickle(tmp_path / "inputs", compression=None)
    for name, (model, X) in models.items():
        np.testing.assert_array_equal(model.predict_proba(X), there[name][1], err_msg=name)


@pytest.fixture
def path(fitted, tmp_path):
    save_model(fitted["corrected, logistic"][0], tmp_path / "x.model", label_names="abcd")
    return tmp_path / "x.model"


def forge(path, model, **manifest):
    """Write a model file with a valid checksum and any content."""
    valid = {"feature_names": [], "label_names": [], "kinds": None}
    valid |= {"tags": None, "left_out": []}
    valid["versions"] = _versions()
    content = model if isinstance(model, bytes) else pack(skops_io.dumps(model))
    return write_parts(path, {**valid, **manifest}, content)


def _versions():
    from importlib.metadata import version

    return {package: version(package) for package in ("pairmend", "scikit-learn")}


def test_names_and_versions_are_saved(fitted, tmp_path):
    model, _ = fitted["corrected, frame"]
    digest, _ = save_model(model, tmp_path / "x", label_names=["ä", "b,c", "d", "e"])
    saved = load_model(tmp_path / "x", sha256=digest.upper())
    assert saved.feature_names == tuple("abcdef")
    assert saved.label_names == ("ä", "b,c", "d", "e")
    assert saved.sha256 == digest
    assert {"pairmend", "scikit-learn"} <= set(saved.versions)
    save_model(model, tmp_path / "x")
    assert load_model(tmp_path / "x").label_names == ("0", "1", "2", "3")
    with pytest.raises(ModelFileError, match="another model than expected"):
        load_model(tmp_path / "x", sha256=digest)


def test_any_changed_byte_is_detected(path):
    whole = path.read_bytes()
    places = {*range(0, 200), *np.random.RandomState(0).randint(0, len(whole), 200).tolist()}
    for place in sorted(places):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        with pytest.raises(ModelFileError):
            load_model(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda whole: whole[:-1], "damaged or changed"),
        (lambda whole: whole + b"\n", "damaged or changed"),
        (lambda whole: b"", "not a model file"),
        (lambda whole: b"PK\3\4" + whole, "not a model file"),
        (
            lambda whole: whole.replace(b"model 4", b"model 2", 1),
            "format '2'; .* reads format 4. Load it with .* pairmend [0-9]",
        ),
        (lambda whole: b"pairmend-model 1\nx\ny", "Load it with the version that wrote it"),
    ],
)
def test_damaged_files_are_errors(path, change, message):
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


@pytest.mark.parametrize(
    "manifest",
    [{"feature_names": None}, {"label_names": [1]}, {"versions": []}],
)
def test_invalid_manifests_are_errors(tmp_path, fitted, manifest):
    with pytest.raises(ModelFileError, match="a part of its manifest is missing or invalid"):
        load_model(forge(tmp_path / "x", fitted["tree"][0], **manifest))


def test_other_versions_give_a_warning(path):
    manifest, files = read_parts(path)
    manifest["versions"]["scikit-learn"] = "1.2.3"
    write_parts(path, manifest, files)
    with pytest.warns(ModelVersionWarning, match="saved with scikit-learn 1.2.3 .here") as caught:
        load_model(path)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (FunctionTransformer(os.system), "posix.system"),
        (FunctionTransformer(eval), "builtins.eval"),
        (functools.partial(os.system, "true"), "functools.partial"),
        (operator.methodcaller("predict", 1), "operator.methodcaller"),
        (LogisticRegression().fit, "LogisticRegression"),
        (main, "pairmend.cli.main"),
        (odd_classifiers.Failing(), "odd_classifiers.Failing"),
        (np.array([odd_classifiers.Failing()]), "odd_classifiers.Failing"),
        ({"a": [(odd_classifiers.Failing,)]}, "odd_classifiers.Failing"),
    ],
)
def test_untrusted_types_are_named_in_the_error(tmp_path, thing, name):
    with pytest.raises(UntrustedTypesError, match=name) as caught:
        load_model(forge(tmp_path / "x", thing))
    assert caught.value.types


def test_classes_elsewhere_in_the_library_are_not_trusted(tmp_path):
    with pytest.raises(UntrustedTypesError, match="pairmend.datasets.data.MultiLabelData"):
        load_model(forge(tmp_path / "x", MultiLabelData))


@pytest.mark.parametrize("trusted", [False, True])
def test_classes_of_other_versions_are_named_in_the_error(tmp_path, trusted):
    name = "pairmend.RemovedModel"
    schema = {
        "__class__": "RemovedModel", "__module__": "pairmend", "__loader__": "ObjectNode",
        "__id__": 1,
        "content": None, "protocol": 2,
    }  # fmt: skip
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model.json", json.dumps(schema))
    path = forge(tmp_path / "x", buffer.getvalue())
    expected = f"saved by another version of pairmend: .*{name}.* Fit and save the model again"
    with pytest.raises(ModelFileError, match=expected) as caught:
        load_model(path, trusted=[name] if trusted else None)
    assert not isinstance(caught.value, UntrustedTypesError)


@pytest.mark.parametrize("thing", [BinaryRelevance().fit, MultiLabelData])
def test_classes_that_exist_are_not_of_other_versions(tmp_path, thing):
    with pytest.raises(UntrustedTypesError, match="not on the list of trusted types"):
        load_model(forge(tmp_path / "x", thing))


def test_a_name_in_a_file_imports_no_further_module(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "pairmend.__main__", raising=False)
    assert registered("Model") is None
    assert registered("MultiLabelData") is None
    assert "pairmend.__main__" not in sys.modules


def test_trusted_types_are_loaded(tmp_path, small_set):
    model = PairwiseClassifier(odd_classifiers.Counting()).fit(*small_set)
    with pytest.raises(UntrustedTypesError, match="has not been saved"):
        save_model(model, tmp_path / "x")
    save_model(model, tmp_path / "x", trusted=[odd_classifiers.Counting])
    with pytest.raises(UntrustedTypesError) as caught:
        load_model(tmp_path / "x")
    assert caught.value.types == ("odd_classifiers.Counting",)
    for trusted in (caught.value.types, [odd_classifiers.Counting]):
        again = load_model(tmp_path / "x", trusted).estimator
        np.testing.assert_array_equal(again.predict(small_set[0]), model.predict(small_set[0]))


def test_no_pickle_is_read(tmp_path, fitted):
    """An array in the file is replaced by a pickle that would create a folder."""
    trace = tmp_path / "trace"

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(trace),)

    trap = io.BytesIO()
    np.save(trap, np.array([Trap()], dtype=object), allow_pickle=True)
    content, changed = io.BytesIO(pack(skops_io.dumps(fitted["tree"][0]))), io.BytesIO()
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            new.writestr(name, trap.getvalue() if name.endswith(".npy") else old.read(name))
    with pytest.raises(ModelFileError, match="allow_pickle=False"):
        load_model(forge(tmp_path / "x", changed.getvalue()))
    assert not trace.exists()


@pytest.mark.parametrize("content", [b"", b"PK", b"x" * 100])
def test_content_that_is_not_an_archive(tmp_path, content):
    with pytest.raises(ModelFileError, match="the model cannot be read"):
        load_model(forge(tmp_path / "x", content))


def test_deep_nesting_is_an_error(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model.json", "[" * 100_000 + "]" * 100_000)
    with pytest.raises(ModelFileError, match="the model cannot be read"):
        load_model(forge(tmp_path / "x", buffer.getvalue()))


def _forged_tree(X, y, **fields):
    """A tree, some fields of whose first node are changed."""
    owner = DecisionTreeClassifier(max_depth=2).fit(X, y)
    state = owner.tree_.__getstate__()
    nodes = state["nodes"].copy()
    for field, value in fields.items():
        nodes[field][0] = value
    owner.tree_.__setstate__({**state, "nodes": nodes})
    return owner


@pytest.mark.parametrize(
    "fields",
    [
        {"left_child": 10**6},
        {"right_child": -5},
        {"left_child": 0},
        {"feature": 6},
        {"feature": -1},
    ],
)
def test_trees_with_indices_out_of_range_are_errors(tmp_path, small_set, fields):
    X, Y = small_set
    forest = RandomForestClassifier(2).fit(X, Y[:, 0])
    forest.estimators_[1] = _forged_tree(X, Y[:, 0], **fields)
    with pytest.raises(ModelFileError, match="nodes with children or features out of range"):
        load_model(forge(tmp_path / "x", forest))


def test_trees_with_other_numbers_of_features_are_errors(tmp_path, small_set):
    X, Y = small_set
    tree = DecisionTreeClassifier().fit(X, Y[:, 0])
    tree.n_features_in_ = 5
    with pytest.raises(ModelFileError, match="other features than its nodes"):
        load_model(forge(tmp_path / "x", tree))
    forest = RandomForestClassifier(2).fit(X, Y[:, 0])
    del forest.n_features_in_
    with pytest.raises(ModelFileError, match="other features than the ensemble"):
        load_model(forge(tmp_path / "x", forest))
    other = LogisticRegression()
    other.tree_ = _forged_tree(X, Y[:, 0], left_child=10**6).tree_
    with pytest.raises(ModelFileError, match="outside of a decision tree"):
        load_model(forge(tmp_path / "x", {"a": [other]}))


def test_a_failed_save_keeps_the_old_file(path, small_set):
    before = path.read_bytes()
    model = PairwiseClassifier().fit(*small_set)
    model.generator_ = (number for number in range(3))
    with pytest.raises(ModelFileError, match="the model cannot be saved"):
        save_model(model, path)
    with pytest.raises(ValueError, match="not fitted"):
        save_model(PairwiseClassifier(), path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["x.model"]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save_model(PairwiseClassifier().fit(*small_set), path / "nowhere" / "x")


def test_loading_gives_no_other_warnings(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(path)


def test_the_head_of_a_file_is_text(path):
    title, digest, manifest = path.read_bytes().split(b"\n", 3)[:3]
    assert title == b"pairmend-model 4"
    assert len(digest) == 64
    assert json.loads(manifest)["label_names"] == ["a", "b", "c", "d"]
