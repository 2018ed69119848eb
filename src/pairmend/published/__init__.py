"""The printed tables of the paper as data frames.

Source: the tables of characteristics and of full results in P. Trajdos and M. Kurzynski, "A
Correction Method of a Binary Classifier Applied to Multi-label Pairwise Models", International
Journal of Neural Systems, 2018, doi 10.1142/S0129065717500629. Losses are printed with three
digits, each the mean of ten folds; less is better.
"""

from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SOURCE", "losses", "sets"]

SOURCE = (
    "P. Trajdos and M. Kurzynski, “A Correction Method of a Binary Classifier Applied to "
    "Multi-label Pairwise Models”, International Journal of Neural Systems, 2018, "
    "doi 10.1142/S0129065717500629"
)
"""The paper that printed the tables."""

ALGORITHMS = ("LPW", "FCM", "FCM-W", "FCM-O")
"""The algorithms, numbered 1 to 4 in the paper."""

CHARACTERISTICS = ("N", "d", "L", "LC", "LD", "avIR", "AVsc")
"""Characteristics that the paper prints for each set; ``d`` counts features and labels."""


def sets() -> "pd.DataFrame":
    """Return the printed characteristics of the 29 sets; needs pandas.

    Returns
    -------
    DataFrame
        A row for each set, by its number in the paper, with its ``name`` there and its
        characteristics: rows N, features and labels d, labels L, label cardinality LC, label
        density LD, mean imbalance ratio avIR, mean concurrence AVsc.

    Examples
    --------
    >>> from pairmend import published
    >>> published.sets().loc[29, ["name", "N", "LC"]].map(str).to_list()
    ['Yeast', '2417', '4.237']
    """
    return _read("datasets.csv").set_index("set")


def losses() -> "pd.DataFrame":
    """Return the printed losses; needs pandas.

    Returns
    -------
    DataFrame
        A row for each set, by number, and each metric ("hamming", "macro_f1", "micro_f1" and
        "zero_one", as in `pairmend.metrics.LOSSES`), with a column for each algorithm. The table
        of one metric, as `pairmend.stats` needs it, is ``losses().xs("zero_one", level=1)``.

    Examples
    --------
    >>> from pairmend import published
    >>> published.losses().xs("zero_one", level="criterion").loc[[5, 6]]
           LPW    FCM  FCM-W  FCM-O
    set
    5    0.943  0.744  0.744  0.741
    6    0.895  0.902  0.923  0.907
    """
    return _read("losses.csv").set_index(["set", "criterion"])[list(ALGORITHMS)]


def _read(name: str) -> "pd.DataFrame":
    import pandas as pd

    with resources.files("pairmend.published").joinpath(name).open() as file:
        return pd.read_csv(file)
