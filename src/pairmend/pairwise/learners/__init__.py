"""Learners of all pairs: any classifier, naive Bayes in closed form, the same on a device."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self

from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend.kernels.pairs import LabelRows, ValidationDecisions


class PairLearner(ABC):
    """Trains a binary classifier for each pair of labels and predicts their supports.

    `n_jobs` is the number of processes for training and of threads for prediction. `seed` is the
    ``random_state`` of the base classifier where that is None.
    """

    decisions: ClassVar[type[ValidationDecisions]] = ValidationDecisions
    """Class of the decisions on a validation set."""

    decide: Callable[[Any, LabelRows, Callable[..., FloatArray]], FloatArray]
    """Method of learners whose errors are corrected; `X`, `label_rows` and `reference` are given.

    It returns the decisions for labels at the rows that have them, folded, (n_entries, L). There is
    a row for each entry of `label_rows` and a column for each label: the probabilities that their
    pair decides for the entry's label and for the column's label, as one number (see
    :mod:`pairmend.kernels.rrc`). They are a function, `reference`, of the supports. The column of
    the entry's own label holds an arbitrary number in [-1/2, 1/2].
    """

    def __init__(self, estimator: Any, *, n_jobs: int | None, seed: int):
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.seed = seed

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of floats that a row, and a pair, need in prediction, without supports."""
        return 0, 0

    @abstractmethod
    def fit(self, rows: Any, pairs: IntArray, owner: Any = None) -> Self:
        """Train all pairs, each on the `TrainingRows` that have exactly one of its labels.

        Pairs may have one label more than `rows.Y` has columns, the virtual one: against it, a
        label is trained on all rows, those with it and those without. Progress is reported for
        `owner`.
        """

    @abstractmethod
    def supports(self, X: MatrixLike, blocks: Iterable[slice]) -> Iterator[FloatArray]:
        """Yield the supports of blocks of pairs, (n, pairs of the block), by their first labels.

        A support is the probability of the pair's first label; 1/2 for a pair without rows.
        """
