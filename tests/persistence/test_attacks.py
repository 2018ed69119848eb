"""Attacks by model files: each raises a ModelFileError, with bounded memory and time.

A successful attack would end the process, so each file is loaded in another process.
"""

import copy
import functools
import io
import json
import operator
import os
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn import ensemble
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")

import model_forgeries
import odd_classifiers
from bounded_reading import read_bounded
from pairmend.baselines import MLkNN
from pairmend.cli import main
from pairmend.datasets import MultiLabelData
from pairmend.persistence import ModelFileError, UntrustedTypesError, load_model, save_model

RNG = np.random.RandomState(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, :2] > 0).astype(int)
TEXTS = ["a red photo", "the blue sea", "sun on the sea", "a town"] * 10


def load_error(path):
    """Load a file in another process; return the message of the ModelFileError."""
    found, _, _ = read_bounded(path, memory=3 * 2**30, seconds=60)
    assert found.startswith(("ModelFileError: ", "UntrustedTypesError: ")), found
    return found


def rewrite(path, change=None, files=None, manifest=None, archive=zipfile.ZIP_DEFLATED):
    """Change the description, the files or the manifest of a model file."""
    stored, contents = model_forgeries.read_parts(path)
    root = json.loads(contents["model.json"])
    if change is not None:
        root = change(root) or root
    contents["model.json"] = json.dumps(root).encode()
    contents.update(files or {})
    return model_forgeries.write_parts(path, {**stored, **(manifest or {})}, contents, archive)


def node_of(value, first=10_000):
    """Return the node of a value without arrays, numbered from `first` on."""
    root = json.loads(model_forgeries.members_of(value)["model.json"])
    for node in model_forgeries.nodes_of(root):
        if "__id__" in node:
            node["__id__"] += first
    return {key: value for key, value in root.items() if key not in ("protocol", "_skops_version")}


def own(root):
    """Return the attributes of the object that a file holds."""
    return root["content"]["content"]


def put(root, name, node):
    """Set an attribute of the object."""
    if name not in own(root):
        root["content"]["key_types"]["content"].append(node_of([str])["content"][0])
    own(root)[name] = node


@pytest.fixture
def path(tmp_path):
    """A logistic regression."""
    save_model(LogisticRegression().fit(X, Y[:, 0]), tmp_path / "x.model")
    return tmp_path / "x.model"


@pytest.fixture
def neighbours(tmp_path):
    """Rows in a sparse array."""
    save_model(MLkNN(3).fit(sparse.csr_array(X * (X > 0)), Y), tmp_path / "knn.model")
    return tmp_path / "knn.model"


# Types and attributes


MEMBERS = [
    CountVectorizer(input="filename"), Pipeline([("a", StandardScaler())], memory="cache"),
    NearestNeighbors(),
]  # fmt: skip


@pytest.mark.parametrize("thing", MEMBERS)
def test_no_member_is_fitted_while_a_model_is_loaded(neighbours, tmp_path, thing):
    """A forged member of MLkNN could read files, or run a cache."""
    os.mkfifo(tmp_path / "fifo")

    def change(root):
        put(root, "neighbors_", node_of(thing))
        put(root, "_points", node_of([str(tmp_path / "fifo")], 30_000))

    load_error(rewrite(neighbours, change))


@pytest.mark.parametrize(("vectorizer", "name", "value"), [
    (CountVectorizer(), "input", "filename"), (TfidfVectorizer(), "input", "file"),
    (CountVectorizer(), "token_pattern", "(a+)+$"),
    (CountVectorizer(), "vocabulary_", {"sea": 10**8}),
])  # fmt: skip
def test_vectorizers_neither_read_files_nor_run_without_end(tmp_path, vectorizer, name, value):
    text = make_pipeline(vectorizer, LogisticRegression()).fit(TEXTS, [0, 1, 1, 0] * 10)
    save_model(text, tmp_path / "x.model")
    assert load_model(tmp_path / "x.model").predict(TEXTS).tolist() == text.predict(TEXTS).tolist()

    def change(root):
        step = own(root)["steps"]["content"][0]["content"][1]
        own(step)[name] = node_of(value)

    assert name in load_error(rewrite(tmp_path / "x.model", change))
    setattr(text[0], name, value)
    with pytest.raises(ModelFileError, match="has not been saved"):
        save_model(text, tmp_path / "x.model")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memory", "cache"), ("n_jobs", 100_000),
        *((name, np.sin) for name in ("predict", "decision_function", "__class__", "__reduce__")),
    ],
)  # fmt: skip
def test_caches_many_processes_and_replaced_methods_are_errors(path, name, value):
    assert name in load_error(rewrite(path, lambda root: put(root, name, node_of(value))))


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (FunctionTransformer(os.system), "posix.system"),
        (FunctionTransformer(eval), "builtins.eval"),
        (functools.partial(os.system, "true"), "functools.partial"),
        (operator.methodcaller("predict", 1), "operator.methodcaller"),
        (LogisticRegression().fit, "LogisticRegression"), (main, "pairmend.cli.main"),
        (odd_classifiers.Failing(), "odd_classifiers.Failing"),
        ({"a": [(odd_classifiers.Failing,)]}, "odd_classifiers.Failing"),
        (MultiLabelData, "MultiLabelData"),
    ],
)  # fmt: skip
def test_untrusted_types_are_named_in_the_error(path, thing, name):
    manifest, _ = model_forgeries.read_parts(path)
    model_forgeries.write_parts(path, manifest, model_forgeries.members_of(thing))
    with pytest.raises(UntrustedTypesError, match=name) as caught:
        load_model(path)
    assert caught.value.types


@pytest.mark.parametrize(
    ("loader", "module", "name"),
    [
        ("ObjectNode", "scipy.sparse._csr", "csr_array"), ("ObjectNode", "numpy", "ndarray"),
        ("ObjectNode", "sklearn.tree._tree", "Tree"),
        ("ObjectNode", "sklearn.calibration", "partial"),
        ("ObjectNode", "sklearn.linear_model._no_such_module", "Estimator"),
        ("ObjectNode", "pairmend", "RemovedModel"), ("ObjectNode", "pairmend", "SavedModel"),
        ("ConstructorFromReduceNode", "pairmend", "MLkNN"), ("ListNode", "pairmend", "MLkNN"),
        ("DictNode", "pairmend", "MLkNN"), ("TupleNode", "pairmend", "beta_reference"),
        ("FunctionNode", "pairmend", "MLkNN"), ("FunctionNode", "pairmend", "main"),
        ("TypeNode", "builtins", "eval"), ("TypeNode", "builtins", "map"),
        ("FunctionNode", "os", "system"), ("FunctionNode", "numpy", "fromfile"),
        ("PartialNode", "functools", "partial"),
        ("OperatorFuncNode", "operator", "methodcaller"), ("NdArrayNode", "numpy", "void"),
        ("NdArrayNode", "pairmend", "MLkNN"), ("LossNode", "subprocess", "Popen"),
        ("LossNode", "sklearn.linear_model._sgd_fast", "Popen"),
        ("QuantileForestNode", "quantile_forest", "QuantileForest"),
        ("CachedNode", "builtins", "dict"), ("NoSuchNode", "builtins", "dict"),
    ],
)  # fmt: skip
def test_types_are_created_by_their_own_loaders_only(path, loader, module, name):
    def change(root):
        empty, arguments = node_of({}, 20_000), node_of([], 30_000)
        node = {"__loader__": loader, "__module__": module, "__class__": name, "__id__": 9999}
        node |= {"content": arguments, "attrs": node_of([], 40_000)}
        match loader:
            case "ListNode" | "TupleNode":
                node["content"] = []
            case "DictNode":
                node |= {"content": {}, "key_types": arguments}
            case "ObjectNode":
                node["content"] = empty
            case "LossNode" | "QuantileForestNode":
                node |= {"content": empty, "__reduce__": {"args": arguments}}
            case "PartialNode":
                parts = enumerate(("func", "args", "kwds", "namespace"))
                node["content"] = {part: node_of({}, 50_000 + 1000 * k) for k, part in parts}
            case "NdArrayNode":
                node |= {"type": "numpy", "file": own(root)["coef_"]["file"]}
        put(root, "coef_" if loader == "NdArrayNode" else "x", node)

    assert f"{module}.{name}" in load_error(rewrite(path, change))


# Classes of other packages, and those with unchecked compiled code.
UNTRUSTED = [
    (odd_classifiers.Counting(), "odd_classifiers.Counting"), (SVC(), "SVC"),
    (ensemble.HistGradientBoostingClassifier(max_iter=2), "TreePredictor"),
    (ensemble.GradientBoostingClassifier(n_estimators=2), "GradientBoostingClassifier"),
    (KNeighborsClassifier(algorithm="brute"), "KNeighborsClassifier"),
    (KNeighborsClassifier(), "KNeighborsClassifier"),
    (ensemble.IsolationForest(n_estimators=2), "IsolationForest"),
]  # fmt: skip


@pytest.mark.parametrize(("classifier", "name"), UNTRUSTED)
def test_further_types_are_trusted_by_name(tmp_path, classifier, name):
    model = classifier.fit(X, Y[:, 0])
    with pytest.raises(UntrustedTypesError, match=f"{name}.*has not been saved") as caught:
        save_model(model, tmp_path / "x.model")
    assert not (tmp_path / "x.model").exists()
    save_model(model, tmp_path / "x.model", trusted=caught.value.types)
    assert name in load_error(tmp_path / "x.model")
    saved = load_model(tmp_path / "x.model", trusted=caught.value.types)
    np.testing.assert_array_equal(saved.predict(X), model.predict(X))


# Arrays


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def forged_csr(path, **parts):
    """Write a CSR matrix of 40 rows and 2 columns, with some parts exchanged, into a model file."""
    whole = sparse.csr_array(Y)
    valid = {
        "indices": whole.indices, "indptr": whole.indptr, "data": whole.data,
        "shape": np.array(whole.shape), "format": np.array(b"csr"), "_is_array": np.array(True),
    }  # fmt: skip
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{**valid, **parts})
    name = next(each for each in model_forgeries.read_parts(path)[1] if each.endswith(".npz"))
    return rewrite(path, files={name: buffer.getvalue()})


N_CELLS = sparse.csr_array(Y).nnz
EMPTY = np.zeros(0, dtype=np.int32)
FAR = np.r_[0, 10**8, np.zeros(39)].astype(np.int32)


@pytest.mark.parametrize(
    "parts",
    [
        *({"indices": np.full(N_CELLS, place, np.int32)} for place in (10**8, -(10**8))),
        *({"indices": np.full(N_CELLS, place)} for place in (1e8, np.nan)),
        {"indptr": np.full(41, 10**8, dtype=np.int32)},
        {"indptr": FAR}, {"indptr": FAR, "indices": EMPTY, "data": EMPTY},
        {"indptr": np.zeros(10, dtype=np.int32)},
        {"indptr": np.r_[-5, np.full(40, N_CELLS)].astype(np.int32)},
        {"data": np.zeros(3)}, {"data": np.full(N_CELLS, "x")},
        *({"shape": np.array(s)} for s in ([10**9, 2], [40, -2], [40, 2**60], [40, 2, 2])),
        *({"format": np.array(name)} for name in (b"bsr", b"dia")),
    ],
)  # fmt: skip
def test_sparse_arrays_are_checked_in_full(neighbours, parts):
    load_error(forged_csr(neighbours, **parts))


STATE = ("content", "content")


@pytest.mark.parametrize(("keys", "value"), [
    *((["tree_", "__reduce__", "args", "content", 2], value) for value in ("100000000", "-1")),
    (["tree_", "__reduce__", "args", "content", 0], "-1"), (["tree_", *STATE, "max_depth"], "1"),
    *((["tree_", *STATE, "node_count"], value) for value in ("1000000000", "0")),
    (["random_state", *STATE, "state", "content", "pos"], "-99"),
])  # fmt: skip
def test_sizes_of_trees_and_positions_of_random_generators_are_checked(tmp_path, keys, value):
    tree = DecisionTreeClassifier(max_depth=4, random_state=np.random.RandomState(0))
    save_model(tree.fit(X, (X[:, 0] * X[:, 1] > 0).astype(int)), tmp_path / "x.model")

    def change(root):
        node = functools.reduce(operator.getitem, keys, own(root))
        node["content"] = value

    expected = {"tree_": "a decision tree", "random_state": "random generator"}[keys[0]]
    assert expected in load_error(rewrite(tmp_path / "x.model", change))


def forged_tree(**fields):
    """A tree, some fields of whose first node are changed."""
    owner = DecisionTreeClassifier(max_depth=2).fit(X, Y[:, 0] + 2 * Y[:, 1])
    state = owner.tree_.__getstate__()
    nodes = state["nodes"].copy()
    for field, value in fields.items():
        nodes[field][0] = value
    owner.tree_.__setstate__({**state, "nodes": nodes})
    return owner


def forest_of(tree):
    forest = ensemble.RandomForestClassifier(2).fit(X, Y[:, 0])
    forest.estimators_[1] = tree
    return forest


def with_attribute(model, **attributes):
    model = model.fit(X, Y[:, 0])
    vars(model).update(attributes)
    return model


@pytest.mark.parametrize("model", [
    *(forest_of(forged_tree(left_child=child)) for child in (10**6, 0)),
    forest_of(forged_tree(right_child=-5)),
    *(forest_of(forged_tree(feature=feature)) for feature in (6, -1)),
    with_attribute(DecisionTreeClassifier(), n_features_in_=5),
    with_attribute(ensemble.RandomForestClassifier(2), n_features_in_=5),
    with_attribute(LogisticRegression(), tree_=forged_tree(left_child=10**6).tree_),
])  # fmt: skip
def test_trees_with_indices_out_of_range_are_errors(path, model):
    manifest, _ = model_forgeries.read_parts(path)
    model_forgeries.write_parts(path, manifest, model_forgeries.members_of(model))
    assert "tree" in load_error(path)


class Trap:
    """Creates a folder when it is read from a pickle."""

    def __reduce__(self):
        return os.mkdir, ("trace",)


def test_no_pickle_is_read(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [name for name in model_forgeries.read_parts(path)[1] if name.endswith(".npy")]
    trap = npy(np.array([Trap()], dtype=object))
    with pytest.raises(ModelFileError, match="allow_pickle=False"):
        load_model(rewrite(path, files=dict.fromkeys(names, trap)))
    assert not (tmp_path / "trace").exists()


# Memory and time


def add_zeros(path, n_cells, files=("zeros.npy",)):
    """Add attributes that refer to files of zeros."""

    def change(root):
        for number, name in enumerate(files):
            node = copy.deepcopy(own(root)["coef_"])
            put(root, f"x{number}", node | {"file": name, "__id__": 1000 + number})

    return rewrite(path, change, dict.fromkeys(files, npy(np.zeros(n_cells))))


def test_the_size_of_arrays_is_limited(path):
    assert add_zeros(path, 2**21).stat().st_size < 30_000
    load_model(path)
    with pytest.raises(ModelFileError, match=r"max_bytes=10000000.*raise max_bytes, or --max-mod"):
        load_model(path, max_bytes=10**7)
    with pytest.raises(ModelFileError, match="more than max_bytes=10"):
        load_model(path, max_bytes=10)
    assert "in the same file" in load_error(add_zeros(path, 3, ["zeros.npy"] * 2))


def test_sparse_bombs_are_counted_when_unpacked(neighbours):
    zeros = np.zeros(2**22, dtype=np.int8)  # 4 MiB, four times as much as indices
    indptr = np.full(41, len(zeros), dtype=np.int32)
    indptr[0] = 0
    bomb = forged_csr(neighbours, data=zeros, indices=zeros.astype(np.int32), indptr=indptr)
    with pytest.raises(ModelFileError, match="max_bytes"):
        load_model(bomb, max_bytes=10**7)


def test_nested_references_are_counted(path):
    """A list of two lists of two lists ...: each is written once, and there are 2^60."""

    def change(root):
        inner = node_of([], 20_000)
        for depth in range(60):
            reference = {"__id__": inner["__id__"]}
            inner = {**node_of([], 30_000), "__id__": 40_000 + depth, "content": [inner, reference]}
        put(root, "x", inner)

    assert "objects" in load_error(rewrite(path, change))


def test_forged_sizes_in_the_archive_are_an_error(path):
    """The directory of the archive declares 100 bytes where there are 32 MiB."""
    add_zeros(path, 2**22)
    manifest, content = path.read_bytes().split(b"\n", 3)[2:]
    size = len(npy(np.zeros(2**22)))
    content = content.replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little"))
    model_forgeries.write_parts(path, json.loads(manifest), content)
    load_error(path)


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unsupported_compression_is_an_error(path, kind):
    assert "unknown compression" in load_error(rewrite(path, archive=kind))


@pytest.mark.parametrize("change", [
    lambda root: root | {"protocol": 0}, lambda root: put(root, "x", {"__id__": root["__id__"]}),
    *(lambda root, text=text: put(root, "x", {**node_of("x"), "content": text})
      for text in ("[" * 100_000, "[1, 2]", '{"a": 1}', "1" * 10_000)),
    *(lambda root, name=name: own(root)["coef_"].update(file=name)
      for name in ("../../../etc/passwd", "/etc/passwd", "..\\x.npy", "no.npy", 7)),
])  # fmt: skip
def test_damaged_descriptions_and_files_outside_of_the_archive_are_errors(path, change):
    load_error(rewrite(path, change))


@pytest.mark.parametrize("files", [
    {"a.npy": npy(np.zeros(3)).replace(b"(3,)", b"(9999999999999,)")},
    {"a.npy": npy(np.zeros(3))[:-9]}, {"a.npy": b"x"}, {"schema.json": b"{}"},
    {"model.json": b"[" * 100_000 + b"]" * 100_000},
])  # fmt: skip
def test_damaged_members_are_an_error(path, files):
    name = next(iter(files))
    load_error(rewrite(path, lambda root: own(root)["coef_"].update(file=name), files))


@pytest.mark.parametrize("content", [b"", b"PK", b"x" * 100])
def test_content_that_is_not_an_archive(path, content):
    model_forgeries.write_parts(path, model_forgeries.read_parts(path)[0], content)
    assert "the model cannot be read" in load_error(path)


@pytest.mark.parametrize(
    "manifest",
    [
        {"feature_names": "abc"}, {"feature_names": ["a", "a", "b"]}, {"feature_names": [1, 2, 3]},
        {"feature_names": {"a": 1}}, {"feature_names": None}, {"label_names": ["a", None]},
        {"versions": [["a", "b"]]}, {"versions": {"pairmend": 1}}, {"kinds": {"a": 1}},
        {"kinds": ["number"]}, {"kinds": ["os.system"], "feature_names": ["a"]},
        {"left_out": "ab"}, {"tags": "seen"}, {"tags": ["seen"]}, {"tags": {"column": 1}},
    ],
)  # fmt: skip
def test_types_of_the_manifest_are_checked(path, manifest):
    with pytest.raises(ModelFileError, match="a part of its manifest is missing or invalid"):
        load_model(rewrite(path, manifest=manifest))
