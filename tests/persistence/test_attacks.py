"""Attacks by model files: each raises a ModelFileError, with bounded memory and time.

A successful attack would end the process, so each file is loaded in another process.
"""

import copy
import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import (
    GradientBoostingClassifier,
    IsolationForest,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import model_forgeries
from pairmend import GaussianNeighbourhood
from pairmend.baselines import MLkNN
from pairmend.persistence import ModelFileError, UntrustedTypesError, load_model, save_model

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")

RNG = np.random.RandomState(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, :2] > 0).astype(int)
TEXTS = ["a red photo", "the blue sea", "sun on the sea", "a town"] * 10

WORKER = """
import resource, signal, sys, warnings
import numpy as np
from pairmend.persistence import ModelFileError, load_model
warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for line in sys.stdin:
    signal.alarm(60)
    try:
        model = load_model(line.rstrip())
        model.estimator.predict(np.zeros((3, 3)))
        print("loaded", flush=True)
    except ModelFileError as error:
        print("refused:", ascii(str(error)), flush=True)
    except Exception as error:
        print("failed:", ascii(repr(error)), flush=True)
    signal.alarm(0)
"""


class LoadingProcess:
    """A process with bounded memory and time that loads files; it is replaced if it ends."""

    process = None

    def load(self, path):
        """Load a file; return the outcome."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-c", WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            status, self.process = self.process.wait(), None
            return f"died with status {status}"
        return line.strip()


LOADING_PROCESS = LoadingProcess()


def load_error(path):
    """Load a file in another process; return the message of the ModelFileError."""
    found = LOADING_PROCESS.load(path)
    assert found.startswith("refused: "), found
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
    from skops.io import dumps

    from pairmend.persistence.save_load import pack

    with zipfile.ZipFile(io.BytesIO(pack(dumps(value)))) as archive:
        root = json.loads(archive.read("model.json"))
    for node in model_forgeries._nodes(root):
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
    save_model(MLkNN(3).fit(X, Y), tmp_path / "knn.model")
    return tmp_path / "knn.model"


# Code and files


@pytest.mark.parametrize(
    "thing",
    [
        CountVectorizer(input="filename"),
        Pipeline([("a", StandardScaler())], memory="cache"),
        NearestNeighbors(),
    ],
)
def test_no_member_is_fitted_while_a_model_is_loaded(neighbours, tmp_path, thing):
    """A forged member of MLkNN could read files, or run a cache."""
    os.mkfifo(tmp_path / "fifo")

    def change(root):
        node = node_of(thing)
        if isinstance(thing, Pipeline):
            own(node)["memory"] = node_of("cache", 20_000)
        put(root, "_indicators", node)
        put(root, "_fit_X", node_of([str(tmp_path / "fifo")], 30_000))

    load_error(rewrite(neighbours, change))


def test_loading_calls_no_methods_of_members():
    """No class of the library calls a method of a member in __setstate__ or __new__."""

    class Trap:
        def __getattr__(self, name):
            raise AssertionError(f"{name} of a member was used")

    for cls in (MLkNN, GaussianNeighbourhood):
        made = cls.__new__(cls)
        made.__setstate__(dict.fromkeys(["_fit_X", "points_", "n_neighbors"], Trap()))


@pytest.mark.parametrize(
    ("vectorizer", "name", "value"),
    [
        (CountVectorizer(), "input", "filename"),
        (TfidfVectorizer(), "input", "file"),
        (CountVectorizer(), "token_pattern", "(a+)+$"),
    ],
)
def test_vectorizers_neither_read_files_nor_run_without_end(tmp_path, vectorizer, name, value):
    text = make_pipeline(vectorizer, LogisticRegression()).fit(TEXTS, [0, 1, 1, 0] * 10)
    save_model(text, tmp_path / "x")
    np.testing.assert_array_equal(load_model(tmp_path / "x").predict(TEXTS), text.predict(TEXTS))

    def change(root):
        step = own(root)["steps"]["content"][0]["content"][1]
        own(step)[name] = node_of(value)

    assert name in load_error(rewrite(tmp_path / "x", change))
    text[0].set_params(**{name: value})
    with pytest.raises(ModelFileError, match="has not been saved"):
        save_model(text, tmp_path / "x")


def test_columns_of_words_are_checked(tmp_path):
    text = make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, [0, 1, 1, 0] * 10)
    text[0].vocabulary_["sea"] = 10**8
    with pytest.raises(ModelFileError, match="columns are not 0, 1"):
        save_model(text, tmp_path / "x")


@pytest.mark.parametrize(("name", "value"), [("memory", "cache"), ("n_jobs", 100_000)])
def test_caches_and_many_processes_are_errors(tmp_path, name, value):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y[:, 0])
    save_model(model, tmp_path / "x")
    changed = rewrite(tmp_path / "x", lambda root: put(root, name, node_of(value)))
    assert f"{name}=" in load_error(changed)


@pytest.mark.parametrize("name", ["predict", "decision_function", "__class__", "__reduce__"])
def test_methods_are_not_replaced(path, name):
    load_error(rewrite(path, lambda root: put(root, name, node_of(np.sin))))


@pytest.mark.parametrize(
    ("loader", "module", "name"),
    [
        ("ObjectNode", "scipy.sparse._csr", "csr_array"),
        ("ObjectNode", "numpy", "ndarray"),
        ("ObjectNode", "sklearn.tree._tree", "Tree"),
        ("ConstructorFromReduceNode", "pairmend.baselines.ml_knn", "MLkNN"),
        ("ListNode", "pairmend.baselines.ml_knn", "MLkNN"),
        ("DictNode", "pairmend.baselines.ml_knn", "MLkNN"),
        ("TupleNode", "pairmend.kernels.rrc", "beta_reference"),
        ("TypeNode", "builtins", "eval"),
        ("TypeNode", "builtins", "map"),
        ("FunctionNode", "os", "system"),
        ("FunctionNode", "numpy", "fromfile"),
        ("PartialNode", "functools", "partial"),
        ("OperatorFuncNode", "operator", "methodcaller"),
        ("NdArrayNode", "numpy", "void"),
        ("NdArrayNode", "pairmend.baselines.ml_knn", "MLkNN"),
        ("LossNode", "subprocess", "Popen"),
        ("LossNode", "sklearn.linear_model._sgd_fast", "Popen"),
        ("QuantileForestNode", "quantile_forest", "QuantileForest"),
        ("CachedNode", "builtins", "dict"),
        ("NoSuchNode", "builtins", "dict"),
    ],
)
def test_types_are_created_by_their_own_loaders_only(path, loader, module, name):
    def change(root):
        empty = node_of({}, 20_000)
        arguments = node_of([], 30_000)
        node = {"__loader__": loader, "__module__": module, "__class__": name, "__id__": 9999}
        node |= {"content": arguments, "attrs": arguments}
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
                node["content"] = dict.fromkeys(("func", "args", "kwds", "namespace"), empty)
            case "NdArrayNode":
                node |= {"type": "numpy", "file": own(root)["coef_"]["file"]}
        put(root, "x", node)

    load_error(rewrite(path, change))


def test_older_protocols_are_an_error(path):
    load_error(rewrite(path, lambda root: root | {"protocol": 0}))


# Arrays


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def forged_csr(**parts):
    """A CSR matrix of 40 rows and 2 columns as a file, with some parts exchanged."""
    whole = sparse.csr_array(Y)
    valid = {
        "indices": whole.indices, "indptr": whole.indptr, "data": whole.data,
        "shape": np.array(whole.shape), "format": np.array(b"csr"), "_is_array": np.array(True),
    }  # fmt: skip
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{**valid, **parts})
    return buffer.getvalue()


N_CELLS = sparse.csr_array(Y).nnz


@pytest.mark.parametrize(
    "parts",
    [
        {"indices": np.full(N_CELLS, 10**8, dtype=np.int32)},
        {"indices": np.full(N_CELLS, -(10**8), dtype=np.int32)},
        {"indices": np.zeros(N_CELLS)},
        {"indptr": np.full(41, 10**8, dtype=np.int32)},
        {"indptr": np.r_[0, 10**8, np.zeros(39)].astype(np.int32)},
        {"indptr": np.zeros(10, dtype=np.int32)},
        {"indptr": np.r_[-5, np.full(40, N_CELLS)].astype(np.int32)},
        {"data": np.zeros(3)},
        {"data": np.full(N_CELLS, "x")},
        {"shape": np.array([10**9, 2])},
        {"shape": np.array([40, -2])},
        {"shape": np.array([40, 2**60])},
        {"shape": np.array([40, 2, 2])},
        {"format": np.array(b"bsr")},
        {"format": np.array(b"dia")},
    ],
)
def test_sparse_arrays_are_checked_in_full(neighbours, parts):
    (name,) = (n for n in model_forgeries.read_parts(neighbours)[1] if n.endswith(".npz"))
    load_error(rewrite(neighbours, files={name: forged_csr(**parts)}))


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["__reduce__", "args", "content", 2], "100000000"),
        (["__reduce__", "args", "content", 2], "-1"),
        (["__reduce__", "args", "content", 0], "-1"),
        (["content", "content", "node_count"], "1000000000"),
        (["content", "content", "node_count"], "0"),
        (["content", "content", "max_depth"], "1"),
    ],
)
def test_sizes_of_trees_are_checked(tmp_path, keys, value):
    tree = DecisionTreeClassifier(max_depth=4).fit(X, (X[:, 0] * X[:, 1] > 0).astype(int))
    save_model(tree, tmp_path / "x")

    def change(root):
        node = own(root)["tree_"]
        for key in keys:
            node = node[key]
        node["content"] = value

    assert "a decision tree" in load_error(rewrite(tmp_path / "x", change))


def test_positions_of_random_generators(tmp_path):
    random = np.random.RandomState(0)
    save_model(LogisticRegression(random_state=random).fit(X, Y[:, 0]), tmp_path / "x")

    def change(root):
        own(root)["random_state"]["content"]["content"]["state"]["content"]["pos"]["content"] = (
            "-99"
        )

    assert "random generator" in load_error(rewrite(tmp_path / "x", change))


@pytest.mark.parametrize(
    "classifier",
    [
        SVC(),
        GradientBoostingClassifier(n_estimators=2),
        KNeighborsClassifier(algorithm="brute"),
        KNeighborsClassifier(),
        IsolationForest(n_estimators=2),
    ],
)
def test_classes_with_unchecked_compiled_code_are_not_trusted(tmp_path, classifier):
    model = classifier.fit(X, Y[:, 0])
    with pytest.raises(UntrustedTypesError, match=type(model).__name__) as caught:
        save_model(model, tmp_path / "x")
    save_model(model, tmp_path / "x", trusted=caught.value.types)
    assert type(model).__name__ in load_error(tmp_path / "x")
    saved = load_model(tmp_path / "x", trusted=caught.value.types)
    np.testing.assert_array_equal(saved.predict(X), model.predict(X))


def test_forged_support_vectors_are_not_loaded(tmp_path):
    model = SVC().fit(X, Y[:, 0])
    model._n_support = np.array([10**8, len(model.support_) - 10**8], dtype=np.int32)
    save_model(model, tmp_path / "x", trusted=["sklearn.svm._classes.SVC"])
    assert "SVC" in load_error(tmp_path / "x")


# Memory and time


def add_zeros(path, n_names, n_cells=2**21):
    """Add many attributes that refer to one array of zeros."""
    zeros = {"zeros.npy": npy(np.zeros(n_cells))}

    def change(root):
        for number in range(n_names):
            node = copy.deepcopy(own(root)["coef_"])
            node |= {"file": "zeros.npy", "__id__": 1000 + number}
            put(root, f"x{number}", node)

    return rewrite(path, change, zeros)


def test_an_array_is_counted_for_each_attribute(path):
    assert add_zeros(path, 320).stat().st_size < 300_000
    message = load_error(path)  # 5 GiB
    assert "max_bytes=4294967296 (4 GiB)" in message
    assert "--max-model-bytes" in message


def test_the_limit_is_an_argument(path):
    add_zeros(path, 2, 2**20)
    load_model(path)
    with pytest.raises(ModelFileError, match=r"max_bytes=10000000"):
        load_model(path, max_bytes=10**7)
    with pytest.raises(ModelFileError, match="more than max_bytes=10"):
        load_model(path, max_bytes=10)


def test_sparse_bombs_are_counted_when_unpacked(neighbours):
    zeros = np.zeros(2**22, dtype=np.int8)  # 4 MiB, four times as much as indices
    parts = {"data": zeros, "indices": zeros.astype(np.int32), "shape": np.array([40, 2])}

    def change(root):
        nodes = own(root).values()
        stored = next(node for node in nodes if str(node.get("file")).endswith(".npz"))
        for number in range(256):  # 5 GiB
            put(root, f"x{number}", stored | {"__id__": 1000 + number, "file": "zeros.npz"})

    rewrite(neighbours, change, {"zeros.npz": forged_csr(**parts)})
    load_error(neighbours)


def test_nested_references_are_counted(path):
    """A list of two lists of two lists ...: each is written once, and there are 2^60."""

    def change(root):
        inner = node_of([], 20_000)
        for depth in range(60):
            reference = {"__id__": inner["__id__"]}
            inner = {**node_of([], 30_000 + depth), "content": [inner, reference]}
        put(root, "x", inner)

    assert "objects" in load_error(rewrite(path, change))


def test_an_object_that_contains_itself_is_an_error(path):
    load_error(rewrite(path, lambda root: put(root, "x", {"__id__": root["__id__"]})))


def test_forged_shapes_are_an_error(path):
    head = npy(np.zeros(3)).replace(b"(3,)", b"(9999999999999,)")

    def change(root):
        put(root, "x", own(root)["coef_"] | {"file": "a.npy", "__id__": 1000})

    load_error(rewrite(path, change, {"a.npy": head}))


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unsupported_compression_is_an_error(path, kind):
    assert "unknown compression" in load_error(rewrite(path, archive=kind))


def test_forged_sizes_in_the_archive_are_an_error(path):
    """The directory of the archive declares 100 bytes where there are 32 MiB."""
    add_zeros(path, 1, 2**22)
    manifest, content = path.read_bytes().split(b"\n", 3)[2:]
    size = len(npy(np.zeros(2**22)))
    content = content.replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little"))
    model_forgeries.write_parts(path, json.loads(manifest), content)
    load_error(path)


@pytest.mark.parametrize("text", ["[" * 100_000, "[1, 2]", '{"a": 1}', "1" * 10_000])
def test_values_are_numbers_and_texts(path, text):
    load_error(rewrite(path, lambda root: put(root, "x", {**node_of("x"), "content": text})))


# The manifest


@pytest.mark.parametrize(
    "manifest",
    [
        {"feature_names": "abc"},
        {"feature_names": ["a", "a", "b"]},
        {"feature_names": [1, 2, 3]},
        {"feature_names": {"a": 1}},
        {"label_names": "abc"},
        {"label_names": ["a", None]},
        {"versions": [["a", "b"]]},
        {"versions": {"pairmend": 1}},
        {"kinds": {}},
        {"kinds": ["number"]},
        {"kinds": ["os.system"], "feature_names": ["a"]},
        {"left_out": "ab"},
        {"tags": "seen"},
        {"tags": {"column": 1}},
        {"tags": {"separator": ";"}},
    ],
)
def test_types_of_the_manifest_are_checked(path, manifest):
    with pytest.raises(ModelFileError, match="a part of its manifest is missing or invalid"):
        load_model(rewrite(path, manifest=manifest))
