"""Compiled code and numpy have the same results."""

import ast
import builtins
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from scipy import sparse

from pairmend import (
    AdaptiveNeighbourhood,
    CorrectedPairwiseClassifier,
    PairwiseClassifier,
)
from pairmend._utils import computing
from pairmend._utils.computing import has_numba, use_compiled

needs_numba = pytest.mark.skipif(not has_numba(), reason="needs pip install 'pairmend[fast]'")


def compiled_from(n_values):
    return mock.patch.object(computing, "WORTHWHILE_COMPILED", n_values)


@pytest.fixture(scope="module")
def problem():
    """Labels that share rows and labels that do not, features of all sizes."""
    rng = np.random.RandomState(1)
    n, n_labels = 300, 8
    Y = rng.rand(n, n_labels) < [0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.0, 1.0]
    Y[:, 4] &= ~Y[:, :4].any(axis=1)
    Y[:, 3] |= Y[:, 5]  # few rows have label 3 alone
    X = rng.randn(n, 21) * np.logspace(-3, 3, 21) + (Y @ rng.randn(n_labels, 21))
    return X, Y


SETTINGS = {
    "default": {},
    "cross-fitted": {"validation": 3},
    "virtual label": {"calibration_label": True},
    "adaptive": {"neighbourhood": AdaptiveNeighbourhood(k=7)},
    "information": {"weighting": "information"},
    "crisp": {"reference": "crisp"},
}
LAYOUTS = {
    "dense": np.asarray,
    "column by column": np.asfortranarray,
    "every second": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "sparse": lambda X: sparse.csr_array(np.where(np.arange(21) % 9, 0, X)),
    "missing": lambda X: np.where(np.arange(X.size).reshape(X.shape) % 17, X, np.nan),
    "two-valued": lambda X: np.column_stack([X, X[:, :2] > 0]),
    "far": lambda X: np.where(np.arange(X.size).reshape(X.shape) == 40, 1e99, X),
}
GIVEN = {"nothing": {}, "weights": {"sample_weight": np.arange(300) % 4 / 2}}


@needs_numba
@pytest.mark.parametrize("given_to_fit", GIVEN)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_predictions_are_the_same(problem, setting, layout, given_to_fit):
    X, Y = problem
    X, setting, given_to_fit = LAYOUTS[layout](X), SETTINGS[setting], GIVEN[given_to_fit]
    found = []
    for worthwhile in (0, np.inf):
        with compiled_from(worthwhile):
            plain = PairwiseClassifier(random_state=0).fit(X, Y, **given_to_fit)
            clf = CorrectedPairwiseClassifier(random_state=0, **setting)
            clf.fit(X, Y, **given_to_fit)
            found.append([plain.pair_support(X), clf.pair_corrected(X), clf.confusion(X)])
            for variant in ({}, {"balance": "labels"}, {"overlap": 0.5}):
                found[-1].append(clf.set_params(**variant).predict(X))
    for loops, arrays_ in zip(*found, strict=True):
        np.testing.assert_allclose(loops, arrays_, rtol=0, atol=1e-9)


@needs_numba
def test_inputs_are_not_modified(problem):
    X, Y = (part.copy() for part in problem)
    X.flags.writeable = Y.flags.writeable = False
    with compiled_from(0):
        clf = CorrectedPairwiseClassifier(random_state=0).fit(X, Y)
        assert np.isfinite(clf.predict_proba(X)).all()


TRIPLE = """
from pairmend._utils.computing import compiled

@compiled
def triple(value):
    return 3 * value
"""

UNUSABLE_CACHE = """
import importlib, pathlib, resource, signal, sys
import triples

def files():
    return [*pathlib.Path(sys.argv[1]).rglob("*triple*.nbc")]

print(triples.triple(1))
assert files()
for file in files():
    file.write_bytes(b"")
print(importlib.reload(triples).triple(1))
for file in files():
    file.unlink()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
print(importlib.reload(triples).triple(1))
assert not any(file.stat().st_size > 100 for file in files())
"""


def run_python(code, *arguments, folder, **environment):
    """Run code in a new process; return the words that it prints."""
    ran = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()


@needs_numba
def test_a_changed_function_is_compiled_again(tmp_path):
    code = "import triples; print(triples.triple(1))"
    for factor in (3, 4):
        (tmp_path / "triples.py").write_text(TRIPLE.replace("3", str(factor)))
        for _ in range(2):  # compiled, then read from the cache
            cache = {"NUMBA_CACHE_DIR": tmp_path / "cache", "PYTHONDONTWRITEBYTECODE": 1}
            assert run_python(code, folder=tmp_path, **cache) == [str(factor)]
        os.utime(tmp_path / "triples.py", (1, 1))


CALLER = """
from pairmend._utils.computing import compiled
from triples import triple

@compiled
def six(value):
    return 2 * triple(value)
"""
CALL = """
from numba.core.errors import TypingError
import callers
try:
    print(callers.six(1))
except TypingError:
    print("refused")
"""


@needs_numba
def test_a_function_of_another_file_is_refused(tmp_path):
    """Numba would not see when that function changes, and keep the old result."""
    (tmp_path / "callers.py").write_text(CALLER)
    for factor in (3, 4):
        (tmp_path / "triples.py").write_text(TRIPLE.replace("3", str(factor)))
        cache = {"NUMBA_CACHE_DIR": tmp_path / "cache", "PYTHONDONTWRITEBYTECODE": 1}
        assert run_python(CALL, folder=tmp_path, **cache) == ["refused"]


def test_compiled_functions_read_their_arguments_only():
    found = []
    for path in Path(computing.__file__).parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(each, ast.Name) and each.id == "compiled" for each in node.decorator_list
            ):
                names = [each for part in node.body for each in ast.walk(part)]
                names = [each for each in names if isinstance(each, ast.Name)]
                known = {each.id for each in names if isinstance(each.ctx, ast.Store)}
                known |= {each.arg for each in node.args.args} | set(dir(builtins)) | {"np"}
                assert {each.id for each in names} <= known, node.name
                found.append(node.name)
    assert found


@needs_numba
def test_without_a_folder_for_the_cache(tmp_path):
    """No folder that numba tries can be written."""
    (tmp_path / "triples.py").write_text(TRIPLE)
    file = tmp_path / "__pycache__"
    file.touch()
    code = "import triples; print(triples.triple(1))"
    folders = {"NUMBA_CACHE_DIR": file / "a", "XDG_CACHE_HOME": file / "b", "HOME": file / "c"}
    found = run_python(code, folder=tmp_path, PYTHONDONTWRITEBYTECODE=1, **folders)
    assert found == ["3"]


@needs_numba
@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
def test_an_unusable_cache_is_ignored(tmp_path):
    """The cache is written, then its file is broken, then the disk is full."""
    (tmp_path / "triples.py").write_text(TRIPLE)
    cache = tmp_path / "cache"
    found = run_python(UNUSABLE_CACHE, cache, folder=tmp_path, NUMBA_CACHE_DIR=cache)
    assert found == ["3", "3", "3"]


def test_numpy_is_used_without_numba(problem):
    has_numba.cache_clear()
    try:
        with mock.patch.dict(sys.modules, {"numba": None}), compiled_from(0):
            assert not use_compiled(10**9)
            assert CorrectedPairwiseClassifier().fit(*problem).predict(problem[0]).any()
    finally:
        has_numba.cache_clear()


PROGRAM = """
import sys
import numpy as np
from pairmend import CorrectedPairwiseClassifier
from pairmend._utils.computing import use_compiled

for n, d in {shapes}:
    rng = np.random.RandomState(0)
    X, Y = rng.rand(n, d), rng.rand(n, 14) < 0.4
    CorrectedPairwiseClassifier(random_state=0).fit(X, Y).predict(X)
    print("numba" in sys.modules)
print(use_compiled(10**9))
"""


@needs_numba
@pytest.mark.parametrize(
    ("shapes", "switch", "expected"),
    [([(150, 10)], "0", "False True"), ([(9, 2)], "1", "False False")],
)
def test_numba_is_not_imported_for_small_arrays_or_if_disabled(shapes, switch, expected):
    found = run_python(PROGRAM.format(shapes=shapes), folder=None, NUMBA_DISABLE_JIT=switch)
    assert found == expected.split()
