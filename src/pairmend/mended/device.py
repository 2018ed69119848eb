"""MendedClassifier on arrays of other libraries than numpy: what is computed on their device.

Base classifiers are trained and predict on the device of X. There the nearest landmarks of training
rows are found, and the probabilities of labels corrected. The search of corrections, of a bounded
number of rows, stacking weights, label sets and thresholds are computed with numpy.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from pairmend._utils import arrays
from pairmend._utils.computing import batches
from pairmend._utils.typing import FloatArray, IntArray, Matrix
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.kernels.local_sums import TIE, TOLERANCE, nearest_landmark
from pairmend.mended.corrector import LabelCorrector
from pairmend.mended.rows import log_odds

ARRAYS = 4
"""Number of arrays of the size of a chunk's weights in memory at once."""


def rows_of_device(
    owner: Any, X: arrays.Array, y: Any, fit_params: dict[str, Any], namespace: arrays.Namespace
) -> tuple[arrays.Array, FloatArray, Any, dict[str, Any]]:
    """Return the checked rows on the device, and with numpy the rows, targets and parameters."""
    X = arrays.check_device_rows(X, namespace, owner)
    arrays.check_magnitude(X)
    arrays.warn_of_n_jobs(owner, namespace)
    params = {name: arrays.as_numpy(value) for name, value in fit_params.items()}
    return X, namespace.numpy(X).astype(np.float64), arrays.as_numpy(y), params


def base_for_arrays(base: Any, *, mostly_zeros: bool) -> Any:
    """Return the base classifier for a device; an error if it takes arrays of numpy only.

    The logistic regression of the library leaves rows that are `mostly_zeros` unscaled.
    """
    if type(base) is ScaledLogisticRegression:
        return clone(base).set_params(standardize=base.standardize and not mostly_zeros)
    if not get_tags(base).array_api_support:
        raise ValueError(
            f"The base classifier {base} takes arrays of numpy only. Pass these, or a base "
            "classifier that supports the array API, such as LogisticRegression or GaussianNB of "
            "scikit-learn."
        )
    return base


def corrected_on_device(
    corrector: LabelCorrector, X: arrays.Array, proba: FloatArray, namespace: arrays.Namespace
) -> FloatArray:
    """Correct the probabilities of rows as ``corrector.corrected`` does."""
    given = namespace.asarray(proba)
    sums = {name: sums_around(corrector, name, X, given, namespace) for name in corrector.scalings}
    p_true = {
        name: (namespace.asarray(on), namespace.asarray(off))
        for name, (on, off) in corrector.total.p_true.items()
    }
    terms = corrector.terms_of_sums(given, sums, p_true, namespace.xp)
    return corrector.stacked({name: namespace.numpy(term) for name, term in terms.items()})


def sums_around(
    corrector: LabelCorrector,
    name: str,
    X: arrays.Array,
    proba: arrays.Array,
    namespace: arrays.Namespace,
) -> arrays.Array:
    """Return the sums over the landmarks in one scaling, see `kernels.local_sums.LandmarkSums`.

    Weights have the precision of X, unless rows are so far from the landmarks' mean that their
    distances would lose their digits.
    """
    xp, beta = namespace.xp, corrector.corrections[name].beta
    neighbourhood = corrector.scalings[name].neighbourhood
    given = log_odds(proba, xp=xp) if name == "log_odds" else xp.astype(X, namespace.float64)
    affine = neighbourhood._affine_map()
    assert affine is not None
    mean, factor = (namespace.asarray(part) for part in affine)
    queries = (given - mean) * factor
    points = namespace.asarray(corrector.scalings[name].landmarks)
    table = namespace.asarray(corrector.tables[name])
    rounding = beta * xp.max(xp.sum(queries * queries, axis=1)) * float(xp.finfo(X.dtype).eps)
    dtype = X.dtype if bool(rounding <= TOLERANCE) else namespace.float64
    offsets = xp.astype(beta * xp.sum(points * points, axis=1), dtype)
    # The nearest row has the weight 1; of light rows, see `kernels.local_sums.nearness_scale`.
    capped = xp.astype(xp.clip(table[:, -1], 0.0, 1.0), dtype)
    points, table = xp.astype(2 * beta * points, dtype), xp.astype(table, dtype)
    found = []
    for rows in batches(queries.shape[0], _chunk_size(points.shape[0], namespace)):
        weights = xp.astype(queries[rows, :], dtype) @ points.T
        weights -= offsets
        weights -= xp.max(weights, axis=1, keepdims=True)
        weights = xp.exp(weights)
        found.append(weights @ table / xp.max(weights * capped, axis=1, keepdims=True))
    return xp.concat(found, axis=0)


def nearest_on_device(namespace: arrays.Namespace, queries: Matrix, landmarks: Matrix) -> IntArray:
    """Return the nearest landmark of each query, as `kernels.local_sums.nearest_landmark` does."""
    if sparse.issparse(queries):
        return nearest_landmark(queries, landmarks)
    xp, points = namespace.xp, namespace.asarray(landmarks)
    squares = xp.sum(points * points, axis=1)
    found = []
    for rows in batches(len(queries), _chunk_size(points.shape[0], namespace)):
        here = namespace.asarray(queries[rows])
        exponents = here @ points.T - 0.5 * squares
        best = xp.sqrt(xp.take(squares, xp.argmax(exponents, axis=1)))
        slack = TIE * best * (xp.sqrt(xp.sum(here * here, axis=1)) + best / 2)
        least = xp.max(exponents, axis=1) - slack
        # The first of the ties: argmax of the array API takes numbers only.
        first = xp.argmax(xp.astype(exponents >= least[:, None], xp.float32), axis=1)
        found.append(namespace.numpy(first))
    return np.concatenate(found)


def _chunk_size(n_columns: int, namespace: arrays.Namespace) -> int:
    """Return the number of rows whose arrays with these columns fit into memory."""
    return max(1, int(namespace.max_bytes) // (8 * ARRAYS * n_columns))
