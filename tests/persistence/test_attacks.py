"""Attacks by model files: each is refused, with memory and time bounded.

What must not happen would take the process with it, so each file is loaded in a process of its own.
"""

import copy
import io
import json
import os
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import model_forgeries
from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood, MLkNN
from pairmend.persistence import ModelFileError, UntrustedTypesError, load_model, save_model
from pairmend.persistence.container import Container, read_container, write_container
from pairmend.persistence.structures import _reachable
from pairmend.persistence.trust import ESTIMATORS, trusted_estimators

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs limits of resources")

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


class Elsewhere:
    """A process with bounded memory and time that loads files, and is replaced if it dies."""

    process = None

    def load(self, path):
        """Load a file; return what came of it."""
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


ELSEWHERE = Elsewhere()


def in_a_process(path):
    """Load a file elsewhere; return the message with which it was refused."""
    found = ELSEWHERE.load(path)
    assert found.startswith("refused: "), found
    return found


def rewrite(path, change=None, files=None, manifest=None, archive=zipfile.ZIP_DEFLATED):
    """Change the description, the files or the manifest of a model file."""
    container, _ = read_container(path)
    with zipfile.ZipFile(io.BytesIO(container.content)) as old:
        contents = {name: old.read(name) for name in old.namelist()}
    root = json.loads(contents["schema.json"])
    if change is not None:
        root = change(root) or root
    contents["schema.json"] = json.dumps(root).encode()
    contents.update(files or {})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", archive) as new:
        for name, data in contents.items():
            new.writestr(name, data)
    write_container(Container({**container.manifest, **(manifest or {})}, buffer.getvalue()), path)
    return path


def node_of(thing, first=10_000):
    """Describe a thing, with numbers that no other model has; it may have no arrays."""
    from skops.io import dumps

    from pairmend.persistence.packing import pack

    with zipfile.ZipFile(io.BytesIO(pack(dumps(thing)))) as archive:
        root = json.loads(archive.read("schema.json"))
    for node in model_forgeries._nodes(root):
        if "__id__" in node:
            node["__id__"] += first
    return {key: value for key, value in root.items() if key not in ("protocol", "_skops_version")}


def own(root):
    """Return the attributes of the object that a file holds."""
    return root["content"]["content"]


def put(root, name, node):
    """Give the object an attribute."""
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
def test_no_member_is_fitted_while_a_model_is_made(neighbours, tmp_path, thing):
    """MLkNN fitted whatever estimator its file named: one that reads files, or runs a cache."""
    os.mkfifo(tmp_path / "fifo")

    def change(root):
        node = node_of(thing)
        if isinstance(thing, Pipeline):
            own(node)["memory"] = node_of("cache", 20_000)
        put(root, "neighbors_", node)
        put(root, "_points", node_of([str(tmp_path / "fifo")], 30_000))

    in_a_process(rewrite(neighbours, change))


def test_making_trusted_objects_calls_nothing_of_members():
    """No class of the library calls a method of a member in __setstate__ or __new__."""

    class Trap:
        def __getattr__(self, name):
            raise AssertionError(f"{name} of a member was used")

    for cls in (MLkNN, GaussianNeighbourhood):
        made = cls.__new__(cls)
        made.__setstate__(
            dict.fromkeys(["neighbors_", "_points", "points_", "n_neighbors"], Trap())
        )


@pytest.mark.parametrize(
    ("vectorizer", "name", "value"),
    [
        (CountVectorizer(), "input", "filename"),
        (TfidfVectorizer(), "input", "file"),
        (HashingVectorizer(n_features=8), "input", "filename"),
        (HashingVectorizer(n_features=8), "n_features", 0),
        (CountVectorizer(), "token_pattern", "(a+)+$"),
        (CountVectorizer(), "analyzer", "strip"),
    ],
)
def test_vectorizers_read_no_files_and_end(tmp_path, vectorizer, name, value):
    text = make_pipeline(vectorizer, LogisticRegression()).fit(TEXTS, [0, 1, 1, 0] * 10)
    save_model(text, tmp_path / "x")
    np.testing.assert_array_equal(load_model(tmp_path / "x").predict(TEXTS), text.predict(TEXTS))

    def change(root):
        step = own(root)["steps"]["content"][0]["content"][1]
        own(step)[name] = node_of(value)

    assert name in in_a_process(rewrite(tmp_path / "x", change))
    text[0].set_params(**{name: value})
    with pytest.raises(ModelFileError, match="has not been saved"):
        save_model(text, tmp_path / "x")


def test_words_have_columns_of_the_matrix(tmp_path):
    text = make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, [0, 1, 1, 0] * 10)
    text[0].vocabulary_["sea"] = 10**8
    with pytest.raises(ModelFileError, match="columns are not 0, 1"):
        save_model(text, tmp_path / "x")


@pytest.mark.parametrize(("name", "value"), [("memory", "cache"), ("n_jobs", 100_000)])
def test_caches_and_many_processes_are_refused(tmp_path, name, value):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y[:, 0])
    save_model(model, tmp_path / "x")
    changed = rewrite(tmp_path / "x", lambda root: put(root, name, node_of(value)))
    assert f"{name}=" in in_a_process(changed)


@pytest.mark.parametrize("name", ["predict", "decision_function", "__class__", "__reduce__"])
def test_methods_are_not_replaced(path, name):
    in_a_process(rewrite(path, lambda root: put(root, name, node_of(np.sin))))


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
def test_types_are_made_by_their_own_loaders_only(path, loader, module, name):
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

    in_a_process(rewrite(path, change))


def test_older_protocols_are_refused(path):
    in_a_process(rewrite(path, lambda root: root | {"protocol": 0}))


# Arrays


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def forged_csr(**parts):
    """A CSR matrix of 40 rows and 2 columns as a file, with some parts exchanged."""
    whole = sparse.csr_array(Y)
    known = {
        "indices": whole.indices, "indptr": whole.indptr, "data": whole.data,
        "shape": np.array(whole.shape), "format": np.array(b"csr"), "_is_array": np.array(True),
    }  # fmt: skip
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{**known, **parts})
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
        {"_is_array": np.array(False)},
        {"more": np.array(1)},
    ],
)
def test_sparse_arrays_are_checked_in_full(neighbours, parts):
    def change(root):
        assert own(root)["_carriers"]["file"].endswith(".npz")

    container, _ = read_container(neighbours)
    with zipfile.ZipFile(io.BytesIO(container.content)) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".npz"))
    in_a_process(rewrite(neighbours, change, {name: forged_csr(**parts)}))


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["__reduce__", "args", "content", 2], "100000000"),
        (["__reduce__", "args", "content", 2], "-1"),
        (["__reduce__", "args", "content", 0], "-1"),
        (["content", "content", "node_count"], "1000000000"),
        (["content", "content", "node_count"], "0"),
        (["content", "content", "max_depth"], "1"),
    ],
)
def test_sizes_of_trees_are_checked_before_they_are_made(tmp_path, words, value):
    tree = DecisionTreeClassifier(max_depth=4).fit(X, (X[:, 0] * X[:, 1] > 0).astype(int))
    save_model(tree, tmp_path / "x")

    def change(root):
        node = own(root)["tree_"]
        for word in words:
            node = node[word]
        node["content"] = value

    assert "a decision tree" in in_a_process(rewrite(tmp_path / "x", change))


def test_positions_of_random_generators(tmp_path):
    random = np.random.RandomState(0)
    save_model(LogisticRegression(random_state=random).fit(X, Y[:, 0]), tmp_path / "x")

    def change(root):
        own(root)["random_state"]["content"]["content"]["state"]["content"]["pos"]["content"] = (
            "-99"
        )

    assert "random generator" in in_a_process(rewrite(tmp_path / "x", change))


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
def test_compiled_code_that_trusts_its_arrays_needs_trust(tmp_path, classifier):
    model = classifier.fit(X, Y[:, 0])
    with pytest.raises(UntrustedTypesError, match=type(model).__name__) as caught:
        save_model(model, tmp_path / "x")
    save_model(model, tmp_path / "x", trusted=caught.value.types)
    assert type(model).__name__ in in_a_process(tmp_path / "x")
    saved = load_model(tmp_path / "x", trusted=caught.value.types)
    np.testing.assert_array_equal(saved.predict(X), model.predict(X))


def test_forged_support_vectors_crash_nothing(tmp_path):
    model = SVC().fit(X, Y[:, 0])
    model._n_support = np.array([10**8, len(model.support_) - 10**8], dtype=np.int32)
    save_model(model, tmp_path / "x", trusted=["sklearn.svm._classes.SVC"])
    assert "SVC" in in_a_process(tmp_path / "x")


# Memory and time


def big(path, n_names, n_cells=2**24):
    """Name one array of zeros by many attributes."""
    zeros = {"zeros.npy": npy(np.zeros(n_cells))}

    def change(root):
        for number in range(n_names):
            node = copy.deepcopy(own(root)["coef_"])
            node |= {"file": "zeros.npy", "__id__": 1000 + number}
            put(root, f"x{number}", node)

    return rewrite(path, change, zeros)


def test_one_array_of_many_names_is_counted_as_often(path):
    assert big(path, 40).stat().st_size < 300_000
    message = in_a_process(path)  # 5 GiB
    assert "max_bytes=4294967296 (4.0 GiB)" in message
    assert "--max-model-bytes" in message


def test_the_limit_is_an_argument(path):
    big(path, 2, 2**20)
    load_model(path)
    with pytest.raises(ModelFileError, match=r"max_bytes=10000000 \(9.5 MiB\)"):
        load_model(path, max_bytes=10**7)
    with pytest.raises(ModelFileError, match="more than max_bytes=10"):
        load_model(path, max_bytes=10)


def test_sparse_bombs_are_counted_when_unpacked(neighbours):
    zeros = np.zeros(2**27, dtype=np.int8)  # 128 MiB, four times as much as indices
    parts = {"data": zeros, "indices": zeros.astype(np.int32), "shape": np.array([40, 2])}

    def change(root):
        for number in range(8):
            node = copy.deepcopy(own(root)["_carriers"])
            put(root, f"x{number}", node | {"__id__": 1000 + number, "file": "zeros.npz"})

    rewrite(neighbours, change, {"zeros.npz": forged_csr(**parts)})
    in_a_process(neighbours)


def test_references_that_double_themselves_are_counted(path):
    """A list of two lists of two lists ...: each is written once, and there are 2^60."""

    def change(root):
        inner = node_of([], 20_000)
        for depth in range(60):
            reference = {"__id__": inner["__id__"]}
            inner = {**node_of([], 30_000 + depth), "content": [inner, reference]}
        put(root, "x", inner)

    assert "objects" in in_a_process(rewrite(path, change))


def test_an_object_that_holds_itself_is_refused(path):
    in_a_process(rewrite(path, lambda root: put(root, "x", {"__id__": root["__id__"]})))


def test_shapes_are_not_believed(path):
    head = npy(np.zeros(3)).replace(b"(3,)", b"(9999999999999,)")

    def change(root):
        put(root, "x", own(root)["coef_"] | {"file": "a.npy", "__id__": 1000})

    in_a_process(rewrite(path, change, {"a.npy": head}))


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packing_without_limits_is_refused(path, kind):
    assert "unknown way" in in_a_process(rewrite(path, archive=kind))


def test_sizes_in_the_archive_are_not_believed(path):
    """The directory of the archive declares 100 bytes where there are 256 MiB."""
    big(path, 1, 2**25)
    container, _ = read_container(path)
    size = len(npy(np.zeros(2**25)))
    content = container.content.replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little"))
    write_container(Container(container.manifest, content), path)
    in_a_process(path)


@pytest.mark.parametrize("text", ["[" * 100_000, "[1, 2]", '{"a": 1}', "1" * 10_000])
def test_values_are_numbers_and_texts(path, text):
    in_a_process(rewrite(path, lambda root: put(root, "x", {**node_of("x"), "content": text})))


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
        {"categories": {"0": "abc"}},
        {"categories": {"7": ["a"]}},
        {"categories": [["a"]]},
        {"versions": [["a", "b"]]},
        {"versions": {"pairmend": 1}},
        {"frame": []},
        {"frame": {"library": "os", "kinds": [], "values": []}},
        {"frame": {"library": "pandas", "kinds": ["number"], "values": [None]}},
        {"frame": {"library": "pandas", "kinds": "numbe", "values": [None]}},
    ],
)
def test_types_of_the_manifest_are_checked(path, manifest):
    with pytest.raises(ModelFileError, match="its manifest lacks a part or holds another"):
        load_model(rewrite(path, manifest=manifest))


# What stays possible


FINE = [
    make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression()),
    make_pipeline(FunctionTransformer(np.arctan), SelectKBest(k=2), LinearSVC()),
    FeatureUnion([("a", StandardScaler()), ("b", FunctionTransformer())]),
    CalibratedClassifierCV(GaussianNB(), cv=2),
    CalibratedClassifierCV(GaussianNB(), cv=2, method="isotonic"),
    MLPClassifier((3,), max_iter=3),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2),
    BaggingClassifier(DecisionTreeClassifier(max_depth=2), 2),
    ExtraTreesClassifier(2),
    RandomForestClassifier(2),
    VotingClassifier([("a", GaussianNB()), ("b", RidgeClassifier())]),
    StackingClassifier([("a", GaussianNB()), ("b", SGDClassifier())], cv=2),
    GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=2),
    OneVsRestClassifier(LogisticRegression()),
    SGDClassifier(loss="log_loss"),
]


@pytest.mark.parametrize("classifier", FINE, ids=lambda each: type(each).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_common_classifiers_of_scikit_learn_are_saved_and_loaded(tmp_path, classifier):
    model = classifier.fit(X, Y[:, 0])
    save_model(model, tmp_path / "x")
    loaded = load_model(tmp_path / "x").estimator
    method = "predict" if hasattr(model, "predict") else "transform"
    np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))


@pytest.mark.parametrize(
    "classifier", [MultiOutputClassifier(GaussianNB()), ClassifierChain(LogisticRegression())]
)
def test_multi_label_classifiers_of_scikit_learn(tmp_path, classifier):
    model = classifier.fit(X, Y)
    save_model(model, tmp_path / "x")
    np.testing.assert_array_equal(load_model(tmp_path / "x").predict(X), model.predict(X))


def test_columns_and_texts_of_frames(tmp_path):
    frame = pd.DataFrame({"size": X[:, 0], "hue": ["red", "blue"] * 20, "text": TEXTS})
    columns = make_column_transformer(
        (StandardScaler(), ["size"]),
        (OneHotEncoder(handle_unknown="ignore"), ["hue"]),
        (TfidfVectorizer(max_features=4), "text"),
        remainder="passthrough",
    )
    model = make_pipeline(columns, LogisticRegression()).fit(frame, Y[:, 0])
    save_model(model, tmp_path / "x", X=frame)
    np.testing.assert_array_equal(load_model(tmp_path / "x").predict(frame), model.predict(frame))


def test_trusted_estimators_are_there():
    assert len(trusted_estimators()) == sum(map(len, ESTIMATORS.values()))


# At random


@pytest.mark.parametrize("compiled", [False, True])
def test_files_forged_at_random_are_refused_or_harmless(compiled):
    counts, failures = model_forgeries.run_batch(0, 40, compiled=compiled)
    assert not failures
    assert counts["refused"] > 10
    assert counts["predicted"] > 0


def test_forgeries_are_seen_where_they_do_harm(tmp_path):
    """A process that dies is a failure of its seed, and the next seeds are tried."""
    script = tmp_path / "dying.py"
    source = textwrap.dedent(
        """
        import sys
        sys.path.insert(0, {folder!r})
        import model_forgeries
        check = model_forgeries.outcome
        def outcome(path, rows):
            if path.name == "2.model":
                import os
                os.kill(os.getpid(), 11)
            return "refused"
        model_forgeries.outcome = outcome
        words = sys.argv
        model_forgeries.check_seeds(int(words[2]), int(words[3]), words[5])
        """
    )
    script.write_text(source.format(folder=os.path.dirname(model_forgeries.__file__)))
    old, model_forgeries.__file__ = model_forgeries.__file__, str(script)
    try:
        counts, failures = model_forgeries.run_batch(0, 5)
    finally:
        model_forgeries.__file__ = old
    assert list(failures) == [2]
    assert counts == {"before a failure": 2, "refused": 2}


# Compiled kernels


def forged_pairs(monkeypatch, change):
    """Predict by compiled kernels with a classifier whose parts were changed."""
    pytest.importorskip("numba")
    monkeypatch.setattr("pairmend._utils.compilation.WORTHWHILE", 0)
    model = CorrectedPairwiseClassifier(validation=2, random_state=0).fit(X, Y)
    expected = model.predict_proba(X)
    assert np.isfinite(expected).all()
    changed = change(structures_of(model))
    assert changed
    with pytest.raises(ValueError, match="a model (refers to|has)"):
        model.predict_proba(X)


def structures_of(model):
    """Return all objects of the library that a model holds, by class."""
    found = {}
    for thing in _reachable(model):
        if type(thing).__module__.startswith("pairmend."):
            found.setdefault(type(thing).__name__, []).append(thing)
    return found


def test_rows_that_validation_does_not_have_are_refused(monkeypatch):
    def change(found):
        for carried in found["LabelRows"]:
            carried.rows[:] = 10**9
        return found["LabelRows"]

    forged_pairs(monkeypatch, change)


def test_columns_that_rows_do_not_have_are_refused(monkeypatch):
    def change(found):
        for scorer in found["Scorer"]:
            scorer.table[:] = 10**9
        return found["Scorer"]

    forged_pairs(monkeypatch, change)
