"""Adjustment of p-values: Holm, Shaffer, Bergmann-Hommel.

Holm's procedure is valid for any tests. Shaffer's and Bergmann and Hommel's are for tests of all
pairs of algorithms, and use that not every set of such hypotheses can be true together: if the
first is equal to the second and the second to the third, then the first is equal to the third.
"""

from functools import cache
from math import comb

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairmend.stats.tables import PValues, check_choice, read_p_values

METHODS = ("holm", "shaffer", "bergmann-hommel")

# The usual limit: 9 algorithms have 21147 partitions, 10 have 115975, and from there time and
# memory grow more than fivefold with every further one.
MOST_ALGORITHMS = 9


def adjust(p_values: PValues, method: str = "holm") -> pd.Series:
    """Adjust p-values for their number.

    Parameters
    ----------
    p_values : Series, mapping or array-like of shape (n,)
        P-values of any tests; for ``"shaffer"`` and ``"bergmann-hommel"`` one for each pair of
        algorithms, in the order (0, 1), (0, 2), …, (1, 2), …
    method : {"holm", "shaffer", "bergmann-hommel"}, default="holm"
        - ``"holm"``: Holm's step-down procedure, for any tests.
        - ``"shaffer"``: like Holm's, with the number of hypotheses left replaced by the largest
          number not above it of such hypotheses that can be true together (static procedure).
        - ``"bergmann-hommel"``: the largest, over the exhaustive sets I that contain a hypothesis,
          of ``|I|`` times the smallest p-value of I. Never above Shaffer's, which is never above
          Holm's; for up to 9 algorithms. Of two pairs, the one with the larger p-value can have
          the smaller adjusted one.

    Returns
    -------
    Series
        Adjusted p-values in the order given.

    References
    ----------
    S. Holm (1979), A simple sequentially rejective multiple test procedure. J. P. Shaffer (1986),
    Modified sequentially rejective multiple test procedures. B. Bergmann, G. Hommel (1988),
    Improvements of general multiple test procedures for redundant systems of hypotheses.
    S. García, F. Herrera (2008), An extension on "Statistical comparisons of classifiers over
    multiple data sets" for all pairwise comparisons.

    Examples
    --------
    >>> adjust({"hamming": 0.01, "macro_f1": 0.4, "micro_f1": 0.6, "zero_one": 0.004}).to_dict()
    {'hamming': 0.03, 'macro_f1': 0.8, 'micro_f1': 0.8, 'zero_one': 0.016}
    >>> adjust([0.01, 0.02, 0.04], "bergmann-hommel").tolist()
    [0.03, 0.03, 0.04]
    """
    check_choice("method", method, METHODS)
    raw = read_p_values(p_values)
    values, left = raw.to_numpy(), np.arange(len(raw), 0, -1)
    if method == "bergmann-hommel":
        members = exhaustive_sets(_algorithms_of(raw))
        bounds = members.sum(axis=1) * np.where(members, values, np.inf).min(axis=1)
        adjusted = np.where(members, bounds[:, None], 0).max(axis=0)
    else:
        if method == "shaffer":
            possible = np.array(sorted(_true_counts(_algorithms_of(raw))))
            left = possible[np.searchsorted(possible, left, side="right") - 1]
        order = np.argsort(values, kind="stable")
        adjusted = np.empty(len(values))
        adjusted[order] = np.maximum.accumulate(values[order] * left)
    return pd.Series(np.minimum(adjusted, 1), index=raw.index)


@cache
def exhaustive_sets(n_algorithms: int) -> NDArray[np.bool_]:
    """All sets of hypotheses "these two are equal" that can be exactly the true ones.

    Algorithms equal to each other form groups, so each partition of the algorithms gives one set:
    the pairs within its groups.

    Parameters
    ----------
    n_algorithms : int
        From 2 to 9.

    Returns
    -------
    ndarray of shape (n_exhaustive_sets, n_pairs)
        Which pairs each set contains, pairs in the order (0, 1), (0, 2), … The empty set is left
        out. Read-only.

    Examples
    --------
    >>> exhaustive_sets(3).astype(int)
    array([[1, 1, 1],
           [1, 0, 0],
           [0, 1, 0],
           [0, 0, 1]])
    """
    if not 2 <= n_algorithms <= MOST_ALGORITHMS:
        raise ValueError(
            f"exhaustive sets, and with them Bergmann-Hommel, are for 2 to {MOST_ALGORITHMS} "
            f"algorithms, and {n_algorithms} were given: use Shaffer's adjustment "
            "('shaffer'), which has no limit and is nearly as powerful"
        )
    # A partition is a row of group numbers, numbered in order of appearance. One column is added
    # at a time, with every existing group and a new one.
    groups = np.zeros((1, 1), dtype=np.int8)
    for _ in range(n_algorithms - 1):
        choices = groups.max(axis=1) + 2
        ends = np.cumsum(choices)
        chosen = np.arange(ends[-1]) - np.repeat(ends - choices, choices)
        groups = np.column_stack([np.repeat(groups, choices, axis=0), chosen.astype(np.int8)])
    first, second = np.triu_indices(n_algorithms, 1)
    members: NDArray[np.bool_] = (groups[:, first] == groups[:, second])[:-1]  # the last is empty
    members.flags.writeable = False
    return members


def _algorithms_of(raw: pd.Series) -> int:
    n_algorithms = round((1 + np.sqrt(1 + 8 * len(raw))) / 2)
    if comb(n_algorithms, 2) != len(raw):
        raise ValueError(
            f"p_values has {len(raw)} number(s), and all pairs of algorithms are 1, 3, 6, 10, …: "
            "pass one for each pair in the order (0, 1), (0, 2), …, or use method='holm'"
        )
    return n_algorithms


@cache
def _true_counts(n_algorithms: int) -> frozenset[int]:
    """Return the possible numbers of true hypotheses, Shaffer's S(k)."""
    if n_algorithms < 2:
        return frozenset([0])
    return frozenset(
        comb(size, 2) + count
        for size in range(1, n_algorithms + 1)
        for count in _true_counts(n_algorithms - size)
    )
