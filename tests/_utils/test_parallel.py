"""Backends of joblib that return all results at once."""

import inspect
from contextlib import nullcontext

import numpy as np
import pytest
from joblib import parallel_config
from joblib.parallel import ThreadingBackend
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.parallel import delayed

from pairmend._utils.progress import iterate_calls, messages_to, run_calls
from pairmend.baselines import BinaryRelevance
from public_classifiers import CLASSIFIERS, data_for, made, rows

WITH_JOBS = [
    name for name, cls in CLASSIFIERS.items() if "n_jobs" in inspect.signature(cls).parameters
]


class WithoutGenerators(ThreadingBackend):
    supports_return_generator = False


@pytest.mark.parametrize("is_reported", [False, True])
@pytest.mark.parametrize("base", [None, GaussianNB()])
@pytest.mark.parametrize("name", WITH_JOBS)
def test_a_backend_without_generators_changes_no_prediction(name, base, is_reported):
    params = {} if base is None or name == "ThresholdedClassifier" else {"estimator": base}
    if not set(params) <= set(inspect.signature(CLASSIFIERS[name]).parameters):
        pytest.skip("has no base classifier")
    X, y = data_for(name)
    expected = made(name, **params).fit(X, y).predict(X)
    with parallel_config(backend=WithoutGenerators()):
        with messages_to([].append) if is_reported else nullcontext():
            clf = made(name, **params, n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(clf.predict(X), expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork beside threads
def test_the_multiprocessing_backend():
    X, Y = rows()
    expected = BinaryRelevance(GaussianNB()).fit(X, Y).predict_proba(X)
    clf = BinaryRelevance(GaussianNB(), n_jobs=2)
    with parallel_config(backend="multiprocessing"):
        np.testing.assert_array_equal(clf.fit(X, Y).predict_proba(X), expected)


def test_results_are_computed_one_by_one():
    computed = []
    results = iterate_calls((delayed(computed.append)(k) for k in range(3)), n_jobs=1)
    assert computed == []
    assert next(results) is None
    assert computed == [0]


def test_invalid_options_are_refused():
    with pytest.raises(ValueError, match="batch_size"):
        iterate_calls([], batch_size=0)


def test_results_are_in_the_order_of_the_calls():
    calls = (delayed(pow)(k, 2) for k in range(7))
    with parallel_config(backend="threading"):
        assert run_calls(None, calls, 7, "call", "done", n_jobs=2) == [k**2 for k in range(7)]
