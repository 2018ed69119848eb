"""Running a study: cross-validation of algorithms on sets, as tidy rows."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone

from pairmend._typing import MatrixLike
from pairmend._validation import seed_estimator, take_rows
from pairmend.metrics import LOSSES
from pairmend.model_selection import shuffled_folds


class Result(NamedTuple):
    """One measured loss."""

    set: str
    fold: int
    algorithm: str
    criterion: str
    value: float


def count_steps(sets: Mapping[str, Any], algorithms: Mapping[str, Any], n_folds: int) -> int:
    """Return how many results of one criterion a study has."""
    return len(sets) * len(algorithms) * n_folds


def run_study(
    sets: Mapping[str, tuple[MatrixLike, Any]],
    algorithms: Mapping[str, Any],
    *,
    n_folds: int = 10,
    seed: int = 0,
) -> Iterator[Result]:
    """Cross-validate algorithms on sets.

    Parameters
    ----------
    sets : mapping
        X and Y of each set by name.
    algorithms : mapping
        Unfitted multi-label classifiers by name, from any library. Those of ours that differ
        only in what takes effect at prediction share one fit. A ``random_state`` that is None
        is set.
    n_folds : int, default=10
        Number of folds, plain and shuffled.
    seed : int, default=0
        With the names of set and fold, the source of all randomness.

    Yields
    ------
    Result
        A row for each set, fold, algorithm and criterion.

    Examples
    --------
    >>> from pairmend.study import ALGORITHMS, generated_sets
    >>> sets = {"small": generated_sets()["generated-small"]}
    >>> results = list(run_study(sets, {"FCM": ALGORITHMS["FCM"]}, n_folds=2))
    >>> [(r.fold, r.criterion) for r in results[:4]]
    [(0, 'hamming'), (0, 'macro_f1'), (0, 'micro_f1'), (0, 'zero_one')]
    """
    for set_name, (X, target) in sets.items():
        Y = np.asarray(target)
        folds = shuffled_folds(len(Y), n_folds, _seed(seed, set_name))
        for fold, (train, test) in enumerate(folds):
            fitted: dict[str, Any] = {}
            for name, algorithm in algorithms.items():
                key = _fit_key(algorithm)
                if key not in fitted:
                    model = seed_estimator(algorithm, _seed(seed, set_name, fold))
                    fitted[key] = model.fit(take_rows(X, train), Y[train])
                model = fitted[key].set_params(**_prediction_params(algorithm))
                predicted = model.predict(take_rows(X, test))
                for criterion, loss in LOSSES.items():
                    value = float(loss(Y[test], predicted))
                    yield Result(set_name, fold, name, criterion, value)


def mean_losses(results: Iterable[Result]) -> dict[tuple[str, str, str], float]:
    """Average losses over folds.

    Parameters
    ----------
    results : iterable of Result
        Rows of a study.

    Returns
    -------
    dict
        Mean loss by set, algorithm and criterion.

    Examples
    --------
    >>> mean_losses([Result("s", 0, "FCM", "hamming", 0.2), Result("s", 1, "FCM", "hamming", 0.4)])
    {('s', 'FCM', 'hamming'): 0.3...}
    """
    folds = defaultdict(list)
    for result in results:
        folds[result.set, result.algorithm, result.criterion].append(result.value)
    return {key: fmean(values) for key, values in folds.items()}


def _seed(*names: object) -> int:
    """Make a seed of names, so that it depends on nothing else."""
    digest = hashlib.sha256("/".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def _prediction_params(algorithm: Any) -> dict[str, Any]:
    late = getattr(algorithm, "prediction_parameters", ())
    return {name: getattr(algorithm, name) for name in late}


def _fit_key(algorithm: Any) -> str:
    """Name what a fit depends on: the class and all parameters but those of prediction."""
    alike = clone(algorithm).set_params(**dict.fromkeys(_prediction_params(algorithm)))
    return joblib.hash(alike)
