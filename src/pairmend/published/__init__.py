"""The printed tables of the paper as data.

Source: the tables of characteristics and of full results in P. Trajdos and M. Kurzynski, "A
Correction Method of a Binary Classifier Applied to Multi-label Pairwise Models", International
Journal of Neural Systems, 2018, doi 10.1142/S0129065717500629. Losses are printed with three
digits, each the mean of ten folds; less is better.
"""

from pairmend.published.tables import (
    ALGORITHMS,
    CHARACTERISTICS,
    DOI,
    METRICS,
    SOURCE,
    PublishedSet,
    loss_table,
    losses,
    sets,
)

__all__ = [
    "ALGORITHMS",
    "CHARACTERISTICS",
    "DOI",
    "METRICS",
    "SOURCE",
    "PublishedSet",
    "loss_table",
    "losses",
    "sets",
]
