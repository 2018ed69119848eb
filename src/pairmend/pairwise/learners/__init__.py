"""Learners of all pairs, and the choice of one by the base classifier and the rows."""

from typing import Any

from pairmend._utils.namespaces import foreign_namespace
from pairmend._utils.typing import MatrixLike
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.learners.base import PairLearner, TrainingRows
from pairmend.pairwise.learners.device import DevicePairLearner
from pairmend.pairwise.learners.generic import GenericPairLearner
from pairmend.pairwise.learners.naive_bayes import SubspaceNBPairLearner

__all__ = [
    "DevicePairLearner",
    "GenericPairLearner",
    "PairLearner",
    "SubspaceNBPairLearner",
    "TrainingRows",
    "make_pair_learner",
]


def make_pair_learner(
    estimator: Any, X: MatrixLike, *, n_jobs: int | None, seed: int
) -> PairLearner:
    """Return the learner for an unfitted base classifier and rows like X."""
    if type(estimator) is not RandomSubspaceNB:  # a subclass may behave differently
        return GenericPairLearner(estimator, n_jobs=n_jobs, seed=seed)
    if foreign_namespace(X) is not None:
        return DevicePairLearner(estimator, seed=seed)
    return SubspaceNBPairLearner(estimator, n_jobs=n_jobs, seed=seed)
