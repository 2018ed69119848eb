"""Reading the printed tables, which are CSV files in this folder."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

DOI = "10.1142/S0129065717500629"
SOURCE = (
    "P. Trajdos and M. Kurzynski, “A Correction Method of a Binary Classifier Applied to "
    f"Multi-label Pairwise Models”, International Journal of Neural Systems, 2018, doi {DOI}"
)
"""The paper that printed the tables."""

ALGORITHMS = ("LPW", "FCM", "FCM-W", "FCM-O")
"""The algorithms, numbered 1 to 4 in the paper."""

METRICS = ("hamming", "macro_f1", "micro_f1", "zero_one")
"""The losses, by their names in `pairmend.metrics.LOSSES`."""

CHARACTERISTICS = ("N", "d", "L", "LC", "LD", "avIR", "AVsc")
"""Characteristics that the paper prints for each set; ``d`` counts features and labels."""


@dataclass(frozen=True)
class PublishedSet:
    """A row of the printed table of sets.

    Attributes
    ----------
    number : int
        Its number in the paper.
    name : str
        Its name there.
    characteristics : mapping
        Its numbers by the names of `CHARACTERISTICS`.

    Examples
    --------
    >>> from pairmend import published
    >>> published.sets()[29].name
    'Yeast'
    """

    number: int
    name: str
    characteristics: Mapping[str, float]


@cache
def sets() -> Mapping[int, PublishedSet]:
    """Return the printed characteristics of the 29 sets.

    Returns
    -------
    mapping
        A `PublishedSet` by its number in the paper.

    Examples
    --------
    >>> from pairmend import published
    >>> yeast = published.sets()[29]
    >>> yeast.name, yeast.characteristics["LC"]
    ('Yeast', 4.237)
    """
    return MappingProxyType(
        {
            int(row["set"]): PublishedSet(
                int(row["set"]),
                row["name"],
                MappingProxyType({name: float(row[name]) for name in CHARACTERISTICS}),
            )
            for row in _rows("datasets.csv")
        }
    )


@cache
def losses() -> Mapping[tuple[int, str, str], float]:
    """Return the printed losses.

    Returns
    -------
    mapping
        A loss by number of the set, name of the metric and algorithm.

    Examples
    --------
    >>> from pairmend import published
    >>> published.losses()[29, "hamming", "FCM-W"]
    0.247
    """
    return MappingProxyType(
        {
            (int(row["set"]), row["criterion"], algorithm): float(row[algorithm])
            for row in _rows("losses.csv")
            for algorithm in ALGORITHMS
        }
    )


def loss_table(criterion: str) -> "pd.DataFrame":
    """Return the printed losses of one metric as a table for `pairmend.stats`; needs pandas.

    Parameters
    ----------
    criterion : {"hamming", "macro_f1", "micro_f1", "zero_one"}
        Name of the loss, as in `pairmend.metrics.LOSSES`.

    Returns
    -------
    DataFrame
        A row for each set, by number, and a column for each algorithm.

    Examples
    --------
    >>> from pairmend import published
    >>> published.loss_table("zero_one").loc[[5, 6]]
           LPW    FCM  FCM-W  FCM-O
    set
    5    0.943  0.744  0.744  0.741
    6    0.895  0.902  0.923  0.907
    """
    if criterion not in METRICS:
        raise ValueError(
            f"criterion is {criterion!r}, but the paper has losses for {', '.join(METRICS)}"
        )
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "a table of losses needs pandas, which is not installed: pip install 'pairmend[study]'"
        ) from error
    return pd.DataFrame(
        [[losses()[number, criterion, name] for name in ALGORITHMS] for number in sets()],
        index=pd.Index(list(sets()), name="set"),
        columns=list(ALGORITHMS),
    )


def _rows(name: str) -> list[dict[str, str]]:
    text = resources.files("pairmend.published").joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
