"""Local fuzzy confusion matrices of pairs, as sparse matrix products."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairmend._pairs import FIRST, SECOND, PairRows
from pairmend._typing import FloatArray


def memberships(members: PairRows, overlap: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Memberships of rows in the two classes of their pair.

    A row with one of the two labels belongs to that class; a row with both belongs to
    each with the weight ``overlap``: 0 for FCM, 1/2 for FCM-O (section 3.4.3).

    Parameters
    ----------
    members : PairRows
        Validation rows of each pair.
    overlap : float
        Membership of rows that carry both labels.

    Returns
    -------
    v_first, v_second : ndarray of shape (n_entries,)

    Examples
    --------
    >>> members = PairRows(np.array([0, 3]), np.array([0, 1, 3]), np.array([1, 0, -1]))
    >>> v_first, v_second = memberships(members, overlap=0.5)
    >>> v_first.tolist(), v_second.tolist()
    ([1.0, 0.5, 0.0], [0.0, 0.5, 1.0])
    """
    side = members.side
    return (
        np.where(side == FIRST, 1.0, np.where(side == SECOND, 0.0, overlap)),
        np.where(side == SECOND, 1.0, np.where(side == FIRST, 0.0, overlap)),
    )


def class_sizes(members: PairRows, row_weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Add up the rows that carry exactly one label of each pair.

    Parameters
    ----------
    members : PairRows
        Validation rows of each pair.
    row_weights : ndarray of shape (n_entries,)
        How much the row of each entry counts.

    Returns
    -------
    n_first, n_second : ndarray of shape (n_pairs,)

    Examples
    --------
    >>> members = PairRows(np.array([0, 4]), np.arange(4), np.array([1, 0, -1, -1]))
    >>> n_first, n_second = class_sizes(members, np.ones(4))
    >>> n_first.tolist(), n_second.tolist()
    ([1.0], [2.0])
    """

    def size(side: int) -> NDArray[np.float64]:
        alone = row_weights * (members.side == side)
        return np.bincount(members.pair, alone, members.n_pairs).astype(float)

    return size(FIRST), size(SECOND)


def balance_weights(n_first: FloatArray, n_second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights of the two classes of a pair, against imbalance (FCM-W, section 3.4.2).

    With the sizes of :func:`class_sizes` they make the two classes count alike.

    Parameters
    ----------
    n_first, n_second : ndarray of shape (n_pairs,)
        How many validation rows each class has.

    Returns
    -------
    w_first, w_second : ndarray of shape (n_pairs,)
        ``min(1, n_second / n_first)`` and the other way round; a class without rows,
        which has nothing to weigh, gets 1.

    Examples
    --------
    >>> w_first, w_second = balance_weights(np.array([10, 2, 0]), np.array([5, 4, 3]))
    >>> w_first.tolist(), w_second.tolist()
    ([0.5, 1.0, 1.0], [1.0, 0.5, 0.0])
    """

    def weight(own: FloatArray, other: FloatArray) -> FloatArray:
        return np.minimum(1, np.where(own > 0, other / np.where(own > 0, own, 1), 1))

    return weight(n_first, n_second), weight(n_second, n_first)


def local_confusion(
    weights: FloatArray,
    members: PairRows,
    v_first: FloatArray,
    v_second: FloatArray,
    r_first: FloatArray,
    r_second: FloatArray,
) -> FloatArray:
    """Count, around each point, what the pair classifiers decided against the truth.

    With weights w, memberships v in the true class and probabilities r = P(h | x) of the
    decision h, the sums over validation rows (section 3.4.1, before division by the
    neighbourhood's size) are

        e[truth, decision] = sum of w * v[truth] * r[decision]

    Each of the four is summed for itself: a difference of two sums would leave rounding
    where the method needs to see an exact zero.

    Parameters
    ----------
    weights : ndarray of shape (t, M)
        Weights of the validation rows around each point.
    members : PairRows
        Validation rows of each of the B pairs.
    v_first, v_second : ndarray of shape (n_entries,)
        Memberships, see :func:`memberships`.
    r_first, r_second : ndarray of shape (n_entries,)
        Probabilities that the pair's classifier decides for its first and for its second
        label.

    Returns
    -------
    ndarray of shape (t, B, 2, 2)
        Indices: point, pair, truth, decision.

    Examples
    --------
    >>> members = PairRows(np.array([0, 2]), np.array([0, 1]), np.array([1, -1]))
    >>> e = local_confusion(np.array([[1.0, 0.5]]), members,
    ...                     *memberships(members), np.array([0.75, 0.5]), np.array([0.25, 0.5]))
    >>> e[0, 0].tolist()
    [[0.75, 0.25], [0.25, 0.25]]
    """
    n_pairs, n_points = members.n_pairs, weights.shape[0]
    values = np.stack(
        [v_first * r_first, v_first * r_second, v_second * r_first, v_second * r_second]
    ).astype(weights.dtype, copy=False)
    # Four stacked matrices (pairs x validation rows), without the entries that are zero.
    used = values != 0
    before = np.concatenate([[0], np.cumsum(used)])  # used entries before each, all four in a row
    starts = np.arange(4)[:, np.newaxis] * used.shape[1] + members.indptr[:-1]
    indptr = np.append(before[starts], before[-1])
    columns = np.broadcast_to(members.rows, values.shape)[used]
    stacked = sparse.csr_array(
        (values[used], columns, indptr), shape=(4 * n_pairs, weights.shape[1])
    )
    return (stacked @ weights.T).reshape(2, 2, n_pairs, n_points).transpose(3, 2, 0, 1)
