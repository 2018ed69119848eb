"""Forged model files: valid ones, changed at random, with a valid checksum.

For any file, either `load_model` raises a ModelFileError, or it loads and then predicts or raises
an ordinary exception; the process does not end, and needs neither much memory nor much time.
"""

import copy
import io
import json
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from model_forgeries import nodes_of, read_parts, write_parts
from pairmend import (
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    MendedClassifier,
    PairwiseClassifier,
)
from pairmend.baselines import BinaryRelevance, MLkNN
from pairmend.forests.estimator import MultiLabelBoosting
from pairmend.persistence import ModelFileError, load_model, save_model
from soak.state import State
from soak.workers import run_seeds

NAME = "models"
TARGET = 10_000
KIND = "forged"
MAX_BYTES = 2**28
"""Argument of `load_model`."""
LIMITS = [0, 1, -1, 2, 3, 7, 10**6, -(10**6), 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63)]
LITERALS = [
    *map(str, LIMITS), "null", "true", "1e308", "NaN", "-Infinity", '""', '"x"', '"filename"',
    "[]", "{}", "[[[]]]", '"precomputed"', "0.5", "-0.5", "", "1" * 5000,
]  # fmt: skip
NAMES = [
    ("builtins", "dict"), ("builtins", "list"), ("builtins", "eval"), ("builtins", "str"),
    ("os", "system"), ("subprocess", "Popen"), ("numpy", "ndarray"), ("numpy", "void"),
    ("numpy", "int64"), ("scipy.sparse._csr", "csr_array"), ("sklearn.pipeline", "Pipeline"),
    ("sklearn.tree._tree", "Tree"), ("sklearn.svm._classes", "SVC"), ("numpy", "dtype"),
    ("sklearn.linear_model._logistic", "LogisticRegression"),
    ("pairmend.baselines.ml_knn", "MLkNN"), ("pairmend", "MLkNN"), ("pairmend", "Design"),
]  # fmt: skip
LOADERS = [
    "DictNode", "ListNode", "TupleNode", "SetNode", "JsonNode", "ObjectNode", "TypeNode",
    "FunctionNode", "NdArrayNode", "SparseMatrixNode", "ConstructorFromReduceNode", "MethodNode",
    "PartialNode", "OperatorFuncNode", "TreeNode", "LossNode", "RandomStateNode", "CachedNode",
    "DefaultDictNode", "SliceNode", "BytesNode", "MaskedArrayNode", "RandomGeneratorNode",
]  # fmt: skip
DTYPES = ["<f8", "<f4", "<i8", "<i4", "|b1", "<u1", "<U3", "|S2", "<c16", "<M8[s]", "<f8", "<i8"]


def run_slice(state: State, deadline: float) -> None:
    """Check some files."""
    run_seeds(state, NAME, KIND, 500, deadline, max_seconds=120)


def check(kind: str, seed: int) -> None:
    """Forge a file, load it and predict."""
    with tempfile.TemporaryDirectory() as folder:
        outcome(*forge(seed, folder))


@cache
def originals():
    """Return valid files, as bytes, with rows to predict."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(40, 4))
    Y = (X[:, :3] + rng.normal(size=(40, 3)) > 0).astype(int)
    words = np.where(X[:, :1] > 0, "a red photo of the sea", "blue sky over town").ravel().tolist()
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    S = sparse.csr_array(X * (X > 0))
    models = [
        (PairwiseClassifier(random_state=0), X),
        (CorrectedPairwiseClassifier(validation=2, random_state=0), X),
        (
            CorrectedPairwiseClassifier(
                logistic, neighbourhood=GaussianNeighbourhood(2.0), random_state=0
            ),
            X,
        ),
        (MendedClassifier(cv=2, random_state=np.random.RandomState(0)), X),
        (MendedClassifier(MultiLabelBoosting(3), cv=2, random_state=0), X),
        (BinaryRelevance(RandomForestClassifier(2, max_depth=2), random_state=0), X),
        (BinaryRelevance(DecisionTreeClassifier(max_depth=2), random_state=0), S),
        (MLkNN(3), S),
        (CorrectedPairwiseClassifier(validation=2, random_state=0), S),
        (make_pipeline(CountVectorizer(), BinaryRelevance(LogisticRegression())), words),
    ]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for model, rows in models:
            path = Path(folder, "x")
            save_model(model.fit(rows, Y), path)
            found.append((path.read_bytes(), rows))
    return found


def forge(seed, folder):
    """Write a forged file; return its path and rows to predict."""
    rng = np.random.RandomState(seed)
    whole, rows = originals()[rng.randint(len(originals()))]
    path = Path(folder, f"{seed}.model")
    path.write_bytes(whole)
    path.write_bytes(mutate(path, rng))
    return path, rows


def mutate(path, rng):
    """Return a valid model file with one to three changes and a valid checksum."""
    manifest, files = read_parts(path)
    schema = json.loads(files["model.json"])
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        kind = rng.choice(["schema", "array", "literal", "manifest"], p=[0.4, 0.38, 0.2, 0.02])
        names = [name for name in files if name != "model.json"]
        literals = [node for node in nodes_of(schema) if node.get("__loader__") == "JsonNode"]
        if kind == "schema":
            _change_schema(schema, list(files), rng)
        elif kind == "literal" and literals:
            _any(literals, rng)["content"] = _any(LITERALS, rng)
        elif kind == "array" and names:
            name = _any(names, rng)
            change = _change_npz if name.endswith(".npz") else _change_npy
            files[name] = change(files[name], rng)
        elif kind == "manifest":
            values = [None, "abc", [1], {"x": 1}, [["a"]], 5, {"0": "ab"}]
            manifest[_any(list(manifest), rng)] = _any(values, rng)
    files["model.json"] = json.dumps(schema).encode()
    return write_parts(path, manifest, files).read_bytes()


def _any(things, rng):
    return things[rng.randint(len(things))]


def _change_schema(schema, files, rng):
    nodes = list(nodes_of(schema))
    node, other = _any(nodes, rng), _any(nodes, rng)
    content, key = node.get("content"), _any([*node, "x"], rng)
    match rng.randint(10):
        case 0:
            node["__module__"], node["__class__"] = _any(NAMES, rng)
        case 1:
            node["__loader__"] = _any(LOADERS, rng)
        case 2 | 3:  # another object in its place, or a reference, maybe to itself
            kept = copy.deepcopy(other) if other is not schema else {}
            node.clear()
            node.update(kept if rng.rand() < 0.5 else {"__id__": int(rng.randint(1, 40))})
        case 4:
            node.pop(key, None)
        case 5 if "file" in node:
            node["file"] = _any([*files, "no such file", 7], rng)
        case 6 if isinstance(content, dict) and content:
            content[_any(["memory", "n_jobs", "predict", "__class__", "x"], rng)] = _any(nodes, rng)
        case 7 if isinstance(content, list) and content:
            content.append(copy.deepcopy(_any(content, rng)))
        case 8 if isinstance(content, list) and content:
            content.pop(rng.randint(len(content)))
        case _:
            node[key] = _any([None, 0, "x", [], {}, [{}], True, -1], rng)


def _change_npy(data, rng):
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False) if rng.rand() < 0.85 else None
    except (ValueError, EOFError, SyntaxError, MemoryError):  # changed before
        array = None
    if array is None:
        return _change_bytes(data, rng)
    buffer = io.BytesIO()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.save(buffer, _change_array(array, rng), allow_pickle=False)
    return buffer.getvalue()


def _change_bytes(data, rng):
    """Change the head of an array or cut its cells."""
    match rng.randint(4):
        case 0:
            return data[: rng.randint(len(data) + 1)]
        case 1:
            return data + bytes(rng.randint(1, 100))
        case 2:
            return data.replace(b"'shape': (", b"'shape': (%d, " % _any(LIMITS, rng), 1)
        case _:
            place = rng.randint(len(data) + 1)
            return data[:place] + bytes([rng.randint(256)]) + data[place + 1 :]


def _change_array(array, rng):
    if array.dtype.names and len(array):  # nodes of a tree
        array = array.copy()
        cells = array[_any(array.dtype.names, rng)]
        cells[rng.randint(len(array))] = np.array(_any(LIMITS, rng)).astype(cells.dtype)
        return array if rng.rand() < 0.9 else array[: rng.randint(len(array) + 1)]
    is_number = array.dtype.kind in "iufb"
    match rng.randint(7):
        case 0 | 1 | 2 if array.size and is_number:
            array = array.copy()
            limit = _any([*LIMITS, 4, 39, 40, 41, float("nan"), float("inf"), 1e308], rng)
            places = rng.randint(array.size, size=1 if rng.rand() < 0.7 else array.size)
            array.flat[places] = np.array(limit).astype(array.dtype)
            return array
        case 3:
            return array.astype(_any(DTYPES, rng)) if is_number else array.ravel()[:0]
        case 4:
            return np.concatenate([array.ravel(), array.ravel()[:5]])
        case 5:
            return array[: len(array) // 2] if array.ndim else array.reshape(1)
        case _:
            return array.T if rng.rand() < 0.5 else array[..., np.newaxis]


def _change_npz(data, rng):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = _any(list(parts), rng)
    parts[name] = _change_npy(parts[name], rng)
    if rng.rand() < 0.1:
        del parts[_any(list(parts), rng)]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return buffer.getvalue()


def outcome(path, rows):
    """Load a file and predict; return "refused", "predicted", or "failed" for other exceptions.

    A MemoryError or SystemError is raised.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            saved = load_model(path, max_bytes=MAX_BYTES)
            saved.predict_both(rows)
        except ModelFileError:
            return "refused"
        except (MemoryError, SystemError):
            raise
        except Exception:  # a forged classifier may fail in any other way
            return "failed"
    return "predicted"
