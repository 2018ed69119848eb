"""The optimum of penalized logistic regressions of several labels that share their rows.

scikit-learn's solvers fit one label at a time, and stop at a tolerance that leaves errors of some
percent in probabilities. Here a product with the rows is one for all labels, and Newton's method
ends where probabilities are exact up to rounding, so that they depend neither on the machine nor on
the device. The linear equations of a Newton step are solved by conjugate gradients, all labels side
by side. With wide sparse rows this takes several times as long as scikit-learn's solver.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from pairmend._utils.arrays import Array, Namespace
from pairmend._utils.computing import batches, one_blas_thread
from pairmend._utils.typing import BoolArray, FloatArray, IntArray

TOLERANCE = 1e-10
"""Largest norm of the gradient at the optimum, for 1,000 rows or fewer; with more, it grows with
them. The error of a coefficient is at most C times that norm."""
LOOSEST_STEP = 0.25
"""Largest relative error of a Newton step; it decreases with the gradient."""
TIGHTEST_STEP = 0.1
"""Smallest relative error of a Newton step, relative to that which reaches the tolerance."""
TINY = 1e-12
"""Added to the diagonal of Hessians, which may vanish for the intercept."""
MAX_PRODUCTS = 1000
"""Largest number of iterations of conjugate gradients in one Newton step."""
SLACK = 1000
"""Relative change of a loss that counts as rounding, in units of the last place."""
MAX_IDLE = 3
"""Number of steps in a row without a smaller gradient, after which the rest is rounding."""
MAX_HALVINGS = 30
"""Number of times that a step is halved which does not lower the loss."""
ROTATED_PER_LABEL = 100
"""Number of features per label up to which features are replaced by principal components. These
need a fraction of the iterations, but an eigendecomposition."""
MAX_ROTATED = 2000
"""Largest number of features, or of rows if they are fewer, for that eigendecomposition."""
MIN_DENSITY = 0.1
"""Share of cells that are not 0 from which on products with dense rows are faster."""
BLOCK_CELLS = 2**15
"""Number of cells of a block of rows, and of its values for labels."""
SPARSE_CELLS = 2**17
"""The same for sparse rows."""
VALUES_PER_FEATURE = 4
"""Smallest number of stored values of a block of sparse rows, per feature. The sum over a block has
a value for each feature and label, however few values the block has."""
MAX_CELLS = 2**23
"""Largest number of rows times labels that are solved at once with numpy."""
MAX_COEFFICIENTS = 2**20
"""Largest number of features times labels that are solved at once with numpy."""
MAX_SPARSE_LABELS = 128
"""Largest number of labels of sparse rows that are solved at once: sums stay in the cache."""
LARGEST = 1e4
"""Largest magnitude of a feature with which steps may be computed in single precision."""
ARRAYS = 12
"""Number of arrays of rows times labels, or of features times labels, in memory at once."""


@dataclass(frozen=True)
class LogisticOptimum:
    """The optimum of several labels.

    Attributes
    ----------
    coef : ndarray of shape (n_features, n_labels)
        Coefficients.
    intercept : ndarray of shape (n_labels,)
        Intercepts.
    n_iter : ndarray of int, shape (n_labels,)
        Number of Newton steps.
    converged : ndarray of bool, shape (n_labels,)
        Whether the gradient vanished up to the tolerance, or the loss did not decrease further. The
        tolerance is relative to weights of mean 1 and features of the order of 1: if weights differ
        by a factor of more than 1e9, or features are smaller than 1e-9, coefficients are inexact.
    """

    coef: FloatArray
    intercept: FloatArray
    n_iter: IntArray
    converged: BoolArray

    def warn_unless_converged(self) -> None:
        """Warn of labels whose optimum was not reached."""
        failed = ~self.converged
        if failed.any():
            warnings.warn(
                f"The logistic regressions of {np.count_nonzero(failed)} of {len(failed)} labels "
                f"did not converge in {self.n_iter[failed].max()} Newton steps. Scale "
                "the features and sample weights, increase max_iter, or decrease C.",
                ConvergenceWarning,
                stacklevel=2,
            )


class LogisticRows:
    """Rows of which the weighted logistic losses of labels are minimized, with several penalties.

    Parameters
    ----------
    X : array or CSR of shape (n_samples, n_features)
        Rows in double precision, of numpy or another array library.
    Y : ndarray of bool, shape (n_samples, n_labels)
        Label indicators; each label has both classes.
    sample_weight : ndarray of shape (n_samples,)
        Weights of rows, not negative.
    overwrite : bool, default=False
        Whether X may be changed, which saves a copy.
    """

    @one_blas_thread()
    def __init__(self, X: Any, Y: BoolArray, sample_weight: FloatArray, *, overwrite: bool = False):
        self.space = Namespace.of(np.empty(0) if sparse.issparse(X) else X)
        used = np.flatnonzero(sample_weight > 0)
        if len(used) < len(sample_weight):
            X = X[used] if sparse.issparse(X) else self.space.take(X, self.space.asarray(used))
            Y, sample_weight = Y[used], sample_weight[used]
        # With weights of mean 1, the tolerance does not depend on their unit.
        unit = sample_weight.max(initial=0) or 1.0
        unit *= float(np.mean(sample_weight / unit)) if len(used) else 1.0
        self.unit, self.weights, self.Y = unit, sample_weight / unit, Y
        self.n_features = X.shape[1]
        self.occupied: Any = slice(None)
        if sparse.issparse(X):
            # Hashed texts have mostly empty columns, whose coefficients are 0.
            self.occupied = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]))
            X = X if len(self.occupied) == X.shape[1] else X[:, self.occupied]
            if X.nnz >= MIN_DENSITY * X.shape[0] * X.shape[1]:
                X, overwrite = X.toarray(), True
        self.basis: list[Array] = []
        n_rotated = min(MAX_ROTATED, ROTATED_PER_LABEL * Y.shape[1])
        if not sparse.issparse(X) and min(X.shape) <= n_rotated:
            X, self.basis = _principal_components(X, self.weights, self.space, overwrite=overwrite)
        self.X = X

    @one_blas_thread()
    def fit(
        self,
        C: float,
        max_iter: int = 100,
        *,
        start: LogisticOptimum | None = None,
        tolerance: float = TOLERANCE,
    ) -> LogisticOptimum:
        """Return the optimum of a penalty; `start` is one of similar rows, or of another penalty.

        The loss is the sum over rows, plus half the squared norm of the coefficients divided by C.
        The intercept is not penalized. The tolerance is the largest norm of the gradient for 1,000
        rows or fewer.
        """
        X, space, n_labels = self.X, self.space, self.Y.shape[1]
        # The conjugate gradients need no more digits than the tolerance has.
        is_single = tolerance > TOLERANCE and self._largest() <= LARGEST
        on_device = not isinstance(X, np.ndarray) and not sparse.issparse(X)
        n_at_once = _labels_at_once(X, space.max_bytes // (8 * ARRAYS) if on_device else None)
        first = self._first_values() if start is None else self._in_basis(start)
        coef, intercept = np.empty((X.shape[1], n_labels)), np.empty(n_labels)
        n_iter, converged = np.zeros(n_labels, dtype=np.int64), np.ones(n_labels, dtype=bool)
        for labels in batches(n_labels, n_at_once):
            blocks = [X] if on_device else _blocks(X, labels.stop - labels.start)
            given = self.Y[:, labels], self.weights, float(C) * self.unit, space
            own = _Labels(blocks, *given, is_single=is_single)
            found = own.solve(first[:, labels], max_iter, tolerance)
            coef[:, labels], intercept[labels], n_iter[labels], converged[labels] = found
        for matrix in reversed(self.basis):
            coef = space.numpy(matrix @ space.asarray(coef))
        of_all = np.zeros((self.n_features, n_labels))
        of_all[self.occupied] = coef
        return LogisticOptimum(of_all, intercept, n_iter, converged)

    def _largest(self) -> float:
        """Return the largest magnitude of a feature."""
        cells, xp = self.X.data if sparse.issparse(self.X) else self.X, self.space.xp
        return max(float(xp.max(cells)), -float(xp.min(cells))) if 0 not in cells.shape else 0.0

    def _first_values(self) -> FloatArray:
        """Return coefficients of 0, and the intercepts of the shares of the labels."""
        share = np.clip((self.weights @ self.Y) / self.weights.sum(), 1e-12, 1 - 1e-12)
        first = np.zeros((self.X.shape[1] + 1, self.Y.shape[1]))
        first[-1] = np.log(share / (1 - share))
        return first

    def _in_basis(self, start: LogisticOptimum) -> FloatArray:
        """Return the coefficients and intercepts of an optimum, in the basis of the rows."""
        coef = start.coef[self.occupied]
        for matrix in self.basis:
            coef = self.space.numpy(matrix.T @ self.space.asarray(coef))
        return np.vstack([coef, start.intercept])


def _principal_components(
    X: Array, weights: FloatArray, namespace: Namespace, *, overwrite: bool
) -> tuple[Array, list[Array]]:
    """Return rows in an orthonormal basis, and matrices whose product is the basis.

    Their Hessians are nearly diagonal, which makes conjugate gradients converge fast.
    """
    xp = namespace.xp
    basis = []
    if X.shape[1] > X.shape[0]:  # optimal coefficients are sums of rows
        orthonormal, triangle = xp.linalg.qr(X.T)
        basis.append(orthonormal)
        X, overwrite = triangle.T, False
    # The sum over a block has a value for each two features: blocks have as many rows as features.
    blocks = _blocks(X, 1, min_rows=X.shape[1]) if isinstance(X, np.ndarray) else [X]
    products = sum(
        (block * namespace.asarray(weights[rows])[:, None]).T @ block
        for block, rows in zip(blocks, _places(blocks), strict=True)
    )
    _, rotation = xp.linalg.eigh(products)
    if overwrite and isinstance(X, np.ndarray) and X.flags.writeable:
        for block in blocks:
            block[...] = block @ rotation
    else:
        X = X @ rotation
    return X, [*basis, rotation]


def _labels_at_once(X: Any, max_values: int | None) -> int:
    """Return how many labels are solved at once, by the memory for values of rows and features.

    `max_values` is the number of values that a device has memory for, None with numpy.
    """
    n_rows, n_features = X.shape
    by_rows = (max_values or MAX_CELLS) // max(1, n_rows)
    by_features = (max_values or MAX_COEFFICIENTS) // max(1, n_features)
    most = MAX_SPARSE_LABELS if sparse.issparse(X) else by_rows
    return max(1, min(by_rows, by_features, most))


def _blocks(rows: Any, n_labels: int, min_rows: int = 1) -> list[Any]:
    """Return rows in blocks which, with their values for labels, stay in a processor's cache."""
    n_rows, n_features = rows.shape
    width, n_cells = n_features, BLOCK_CELLS
    if sparse.issparse(rows):
        n_cells = SPARSE_CELLS
        width = max(1, rows.nnz // max(1, n_rows))
        min_rows = VALUES_PER_FEATURE * n_features // width
    n_per_block = max(1, min_rows, n_cells // max(1, width, n_labels))
    return [rows[part] for part in batches(n_rows, n_per_block)]


def _places(blocks: list[Any]) -> list[slice]:
    """Return the rows of each block."""
    ends = np.cumsum([block.shape[0] for block in blocks]).tolist()
    return [slice(end - block.shape[0], end) for block, end in zip(blocks, ends, strict=True)]


class _Labels:
    """Losses of labels, their gradients and Hessians; rows come in blocks.

    Vectors of a label have its coefficients and, last, its intercept. Newton steps may be computed
    in single precision.
    """

    is_single = False

    def __init__(
        self,
        blocks: list[Any],
        Y: BoolArray,
        weights: FloatArray,
        C: float,
        namespace: Namespace,
        *,
        is_single: bool = False,
    ):
        self.namespace, self.is_single = namespace, is_single
        # Transposing a sparse matrix takes 10 µs, which adds up in products with small blocks.
        self.blocks = [(block, block.T) for block in blocks]
        self.step_blocks = [(block, block.T) for block in map(self._for_steps, blocks)]
        places = _places(blocks)
        self.Y = [namespace.asarray(Y[rows]) for rows in places]
        self.weights = [namespace.asarray(weights[rows])[:, None] for rows in places]
        self.n_rows, n_features = len(Y), blocks[0].shape[1]
        penalty = np.full((n_features + 1, 1), 1 / C)
        penalty[-1] = 0  # the intercept
        self.penalty = namespace.asarray(penalty)

    def solve(
        self, first: FloatArray, max_iter: int, tolerance: float
    ) -> tuple[FloatArray, FloatArray, IntArray, BoolArray]:
        """Return what a `LogisticOptimum` has, by Newton's method from first values."""
        space, xp = self.namespace, self.namespace.xp
        W = first.copy()
        n_labels = W.shape[1]
        n_iter, converged = np.zeros(n_labels, dtype=np.int64), np.zeros(n_labels, dtype=bool)
        limit = tolerance * max(1.0, self.n_rows / 1000)
        slack = SLACK * float(xp.finfo(space.float64).eps)
        active = np.arange(n_labels)
        V = space.asarray(W)
        loss, gradient, curvature = self._evaluate(V, active)
        smallest, n_idle = np.full(n_labels, np.inf), np.zeros(n_labels)
        decrease = np.full(n_labels, np.inf)
        while len(active):
            norm = space.numpy(xp.sqrt(xp.sum(gradient * gradient, axis=0)))
            # Near the optimum, a gradient that no longer shrinks is rounding.
            is_idle = (norm > smallest[active] / 2) & (decrease <= slack * loss)
            n_idle[active] = np.where(is_idle, n_idle[active] + 1, 0)
            smallest[active] = np.minimum(norm, smallest[active])
            done = (norm <= limit) | (n_idle[active] == MAX_IDLE)
            if done.any():
                W[:, active[done]] = space.numpy(V)[:, done]
                converged[active[done]] = True
                keep = np.flatnonzero(~done)
                active, norm, loss = active[keep], norm[keep], loss[keep]
                V, gradient, *curvature = self._columns([V, gradient, *curvature], keep)
            if not len(active) or n_iter[active[0]] >= max_iter:
                break
            n_iter[active] += 1
            relative_error = np.minimum(LOOSEST_STEP, np.sqrt(norm / self.n_rows))
            relative_error = np.maximum(relative_error, TIGHTEST_STEP * limit / norm)
            step = self._newton_step(gradient, curvature, relative_error)
            size = np.ones(len(active))
            for _ in range(MAX_HALVINGS):
                moved = V + step * space.asarray(size)
                new_loss, new_gradient, new_curvature = self._evaluate(moved, active)
                worse = ~(new_loss <= loss * (1 + slack))
                if not worse.any():
                    break
                size[worse] /= 2
            else:  # numbers too large for double precision
                W[:, active[worse]] = space.numpy(V)[:, worse]
                keep = np.flatnonzero(~worse)
                active, loss, new_loss = active[keep], loss[keep], new_loss[keep]
                moved, new_gradient, *new_curvature = self._columns(
                    [moved, new_gradient, *new_curvature], keep
                )
            decrease = loss - new_loss
            V, loss, gradient, curvature = moved, new_loss, new_gradient, new_curvature
        W[:, active] = space.numpy(V)
        return W[:-1], W[-1], n_iter, converged

    def _for_steps(self, values: Any) -> Any:
        """Return an array or a sparse matrix in the precision of steps."""
        if not self.is_single:
            return values
        if isinstance(values, np.ndarray) or sparse.issparse(values):
            return values.astype(np.float32)
        return self.namespace.xp.astype(values, self.namespace.xp.float32)

    def _columns(self, arrays: list[Array], columns: IntArray) -> list[Array]:
        """Select columns of arrays."""
        at = self.namespace.asarray(columns)
        return [self.namespace.xp.take(array, at, axis=1) for array in arrays]

    def _evaluate(self, V: Array, labels: IntArray) -> tuple[FloatArray, Array, list[Array]]:
        """Return losses, gradients, and the curvature of the loss in each row, by block."""
        space, xp = self.namespace, self.namespace.xp
        loss = 0.5 * xp.sum(self.penalty * V * V, axis=0)
        gradient = self.penalty * V
        curvature = []
        n_all = self.Y[0].shape[1]
        taken = None if len(labels) == n_all else space.asarray(labels)
        for (block, transposed), Y, weights in zip(self.blocks, self.Y, self.weights, strict=True):
            scores = block @ V[:-1, :] + V[-1:, :]
            Y = Y if taken is None else xp.take(Y, taken, axis=1)
            is_right = (scores > 0) == Y
            size = xp.abs(scores)
            e = xp.exp(-size)
            larger = 1 / (1 + e)
            smaller = e * larger
            of_row = xp.log1p(e) + xp.where(is_right, 0.0 * size, size)
            loss = loss + xp.sum(of_row * weights, axis=0)
            # Without a difference of nearly equal numbers: rows may have large weights.
            error = xp.where(is_right, smaller, larger)
            residual = xp.where(Y, -error, error) * weights
            gradient = gradient + self._with_intercept(transposed, residual)
            curvature.append(smaller * larger * weights)
        return space.numpy(loss), gradient, curvature

    def _with_intercept(self, transposed: Any, values: Array) -> Array:
        """Return the product of a transposed block, with ones as last row, with values."""
        xp = self.namespace.xp
        return xp.concat([transposed @ values, xp.sum(values, axis=0, keepdims=True)], axis=0)

    def _newton_step(
        self, gradient: Array, curvature: list[Array], relative_error: FloatArray
    ) -> Array:
        """Solve for the Newton step by preconditioned conjugate gradients.

        Columns whose error is small enough are set aside once they are half of all.
        """
        space, xp = self.namespace, self.namespace.xp
        found = np.zeros(gradient.shape)
        columns = np.arange(gradient.shape[1])
        inverse = self._for_steps(1 / (self._diagonal(curvature) + TINY))
        curvature = [self._for_steps(own) for own in curvature]
        residual = self._for_steps(-gradient)
        step = 0.0 * residual
        conditioned = residual * inverse
        direction = conditioned
        error = space.numpy(xp.sum(residual * conditioned, axis=0))
        limit = relative_error**2 * error
        for _ in range(MAX_PRODUCTS):
            product = self._hessian_product(direction, curvature)
            along = space.numpy(xp.sum(direction * product, axis=0))
            live = (error > limit) & (along > 0)
            length = self._factors(np.where(live, error / np.where(live, along, 1), 0))
            step = step + length * direction
            residual = residual - length * product
            conditioned = residual * inverse
            new_error = space.numpy(xp.sum(residual * conditioned, axis=0))
            live &= new_error > limit
            if not live.any():
                break
            ratio = self._factors(np.where(live, new_error / np.where(live, error, 1), 0))
            direction, error = conditioned + ratio * direction, new_error
            if 2 * np.count_nonzero(live) <= len(live):
                found[:, columns] = space.numpy(step)
                keep = np.flatnonzero(live)
                columns, error, limit = columns[keep], error[keep], limit[keep]
                step, residual, direction, inverse, *curvature = self._columns(
                    [step, residual, direction, inverse, *curvature], keep
                )
        found[:, columns] = space.numpy(step)
        return space.asarray(found)

    def _factors(self, values: FloatArray) -> Array:
        """Return a factor for each label in the precision of steps."""
        return self._for_steps(self.namespace.asarray(values))

    def _hessian_product(self, vectors: Array, curvature: list[Array]) -> Array:
        """Return the products of the Hessians of labels with a vector each."""
        product = self._for_steps(self.penalty) * vectors
        for (block, transposed), own in zip(self.step_blocks, curvature, strict=True):
            values = (block @ vectors[:-1, :] + vectors[-1:, :]) * own
            product = product + self._with_intercept(transposed, values)
        return product

    def _diagonal(self, curvature: list[Array]) -> Array:
        """Return the diagonals of the Hessians of labels."""
        diagonal = self.penalty
        for (_, transposed), own in zip(self.blocks, curvature, strict=True):
            is_sparse = sparse.issparse(transposed)
            squares = transposed.power(2) if is_sparse else transposed * transposed
            diagonal = diagonal + self._with_intercept(squares, own)
        return diagonal
