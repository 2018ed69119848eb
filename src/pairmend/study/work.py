"""Doing a piece of work: fit on a fold's training rows, judge on its test rows."""

import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from pairmend._validation import seed_estimator, take_rows
from pairmend.model_selection import shuffled_folds, stratified_folds
from pairmend.study.criteria import predicted_labels, predicted_scores
from pairmend.study.definition import Study
from pairmend.study.memory import peak_bytes, reset_peak
from pairmend.study.tasks import Batch, Task, prediction_params, seed_of


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    Attributes
    ----------
    task : Task
    values : dict
        Values of the criteria by name; empty if it failed.
    seed : int
        The seed of the classifier.
    fit_seconds, predict_seconds : float
        The fit's time is that of the fit it shares with others.
    peak_bytes : int or None
        The most memory the process had, None where the system does not tell.
    fitted_by : str
        The algorithm whose fit it shares.
    warnings : str
        What the classifier warned of, a line each.
    error, traceback : str
        Why it failed; empty if it did not.
    finished : str
        When, as ISO time.
    """

    task: Task
    seed: int
    fitted_by: str
    values: dict[str, float]
    fit_seconds: float = float("nan")
    predict_seconds: float = float("nan")
    peak_bytes: int | None = None
    warnings: str = ""
    error: str = ""
    traceback: str = ""
    finished: str = ""


def perform(study: Study, batch: Batch, X: Any, Y: Any) -> Iterator[Outcome]:
    """Fit once, then judge each algorithm of a batch.

    Parameters
    ----------
    study : Study
        Where algorithms and criteria come from.
    batch : Batch
        What to do.
    X, Y : matrix and array
        The set.

    Yields
    ------
    Outcome
        One for each algorithm, as soon as it is there; failures are outcomes, too.
    """
    seed = fold_seed(study, batch)
    reset_peak()
    model, failure, told = None, NOTHING, []
    started = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            train, test = _rows(study, batch, Y)
            first = study.algorithms[batch.algorithms[0]]
            model = seed_estimator(first, seed).fit(take_rows(X, train), Y[train])
            rows, truth = take_rows(X, test), Y[test]
    except Exception as error:
        failure = _failure(error)
    fit_seconds = time.perf_counter() - started
    for task in batch.tasks:
        values: dict[str, float] = {}
        predict_seconds = float("nan")
        heard: list[warnings.WarningMessage] = []
        if model is not None:
            failure = NOTHING
            try:
                with warnings.catch_warnings(record=True) as heard:
                    warnings.simplefilter("default")
                    if late := prediction_params(study.algorithms[task.algorithm]):
                        model.set_params(**late)
                    started = time.perf_counter()
                    predicted = _predict(study, model, rows)
                    predict_seconds = time.perf_counter() - started
                    values = {
                        name: criterion(truth, predicted[criterion.needs])
                        for name, criterion in study.criteria.items()
                    }
            except Exception as error:
                failure = _failure(error)
        yield Outcome(
            task=task,
            seed=seed,
            fitted_by=batch.fitted_by,
            values=values,
            fit_seconds=fit_seconds,
            predict_seconds=predict_seconds,
            peak_bytes=peak_bytes(),
            warnings=_texts([*told, *heard]),
            finished=_now(),
            error=failure.error,
            traceback=failure.traceback,
        )


def fold_seed(study: Study, batch: Batch) -> int:
    """Return the seed of a fold's classifiers.

    It is the same for all algorithms: those that share a fit must share the seed, and the
    others are compared with the same luck.
    """
    return seed_of(study.seed, batch.set, batch.repeat, batch.fold)


def _rows(study: Study, batch: Batch, Y: Any) -> tuple[Any, Any]:
    seed = seed_of(study.seed, batch.set, batch.repeat)
    folds = (
        stratified_folds(Y, study.folds, seed)
        if study.split == "stratified"
        else shuffled_folds(len(Y), study.folds, seed)
    )
    return list(folds)[batch.fold]


def _predict(study: Study, model: Any, rows: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Predict what the criteria need, once."""
    ways = {"labels": predicted_labels, "scores": predicted_scores}
    needed = {criterion.needs for criterion in study.criteria.values()}
    return {kind: ways[kind](model, rows) for kind in sorted(needed)}


def failures(study: Study, batch: Batch, error: Exception) -> Iterator[Outcome]:
    """Yield the outcomes of a batch that failed before it began."""
    for task in batch.tasks:
        yield Outcome(
            task=task,
            seed=fold_seed(study, batch),
            fitted_by=batch.fitted_by,
            values={},
            finished=_now(),
            error=_failure(error).error,
            traceback=_failure(error).traceback,
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class _Failure(NamedTuple):
    error: str
    traceback: str


NOTHING = _Failure("", "")


def _failure(error: Exception) -> _Failure:
    last = traceback.format_exception_only(error)[-1].strip()
    return _Failure(last, "".join(traceback.format_exception(error)))


def _texts(told: list[warnings.WarningMessage]) -> str:
    return "\n".join(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in told))
