"""Doing a piece of work: fit on a fold's training rows, judge on its test rows."""

import random
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from pairmend._utils.predictions import predicted_labels, predicted_scores
from pairmend._utils.typing import IntArray
from pairmend._utils.validation import seed_estimator, take_rows
from pairmend.model_selection.splits import shuffled_folds, stratified_folds
from pairmend.study.definition import Study
from pairmend.study.interrupts import is_interrupt
from pairmend.study.memory import peak_bytes, reset_peak
from pairmend.study.shelf import ShelvedSet
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


def perform(
    study: Study,
    batch: Batch,
    data: ShelvedSet,
    *,
    fitted: Callable[[], None] = lambda: None,
) -> Iterator[Outcome]:
    """Fit once, then judge each algorithm of a batch.

    Parameters
    ----------
    study : Study
        Where algorithms and criteria come from.
    batch : Batch
        What to do.
    data : ShelvedSet
        The set.
    fitted : callable, default=nothing
        Is called when the fit is finished.

    Yields
    ------
    Outcome
        One for each algorithm, as soon as it is there; failures are outcomes, too.

    Raises
    ------
    KeyboardInterrupt
        An interrupt is not a failure, in whatever form it surfaces.
    """
    seed = fold_seed(study, batch)
    tested = data.fold_of[:, batch.repeat] == batch.fold
    train, test = np.flatnonzero(~tested), np.flatnonzero(tested)
    reset_peak()
    model, failure, told = None, NOTHING, []
    fit_seconds = float("nan")
    try:
        with _watched(seed) as told:
            first = study.algorithms[batch.algorithms[0]]
            rows, target = take_rows(data.X, train), data.Y[train]
            started = time.perf_counter()
            model = seed_estimator(first, seed).fit(rows, target)
            fit_seconds = time.perf_counter() - started
            del rows
    except (Exception, SystemExit) as error:
        failure = _failure(error)
    fitted()
    fit_peak = peak_bytes()
    for task in batch.tasks:
        values: dict[str, float] = {}
        predict_seconds = float("nan")
        heard: list[warnings.WarningMessage] = []
        reset_peak()
        if model is not None:
            failure = NOTHING
            try:
                with _watched(seed) as heard:
                    if late := prediction_params(study.algorithms[task.algorithm]):
                        model.set_params(**late)
                    rows, truth = take_rows(data.X, test), data.Y[test]
                    started = time.perf_counter()
                    predicted = _predict(study, model, rows, data.Y.shape[1])
                    predict_seconds = time.perf_counter() - started
                    values = {
                        name: criterion(truth, predicted[criterion.needs])
                        for name, criterion in study.criteria.items()
                    }
            except (Exception, SystemExit) as error:
                failure = _failure(error)
        predict_peak = peak_bytes()
        yield Outcome(
            task=task,
            seed=seed,
            fitted_by=batch.fitted_by,
            values=values,
            fit_seconds=fit_seconds,
            predict_seconds=predict_seconds,
            peak_bytes=max(fit_peak, predict_peak) if fit_peak and predict_peak else None,
            warnings=_texts([*told, *heard]),
            finished=now(),
            error=failure.error,
            traceback=failure.traceback,
        )


def folds_of(study: Study, name: str, Y: IntArray) -> IntArray:
    """Split the rows of a set.

    Parameters
    ----------
    study : Study
        Says how.
    name : str
        The set.
    Y : ndarray of shape (n, L)
        Its label indicators.

    Returns
    -------
    ndarray of int, shape (n, n_repeats)
        The fold each row is tested in, in each repeat.
    """
    fold_of = np.empty((len(Y), study.repeats), dtype=np.int64)
    for repeat in range(study.repeats):
        seed = seed_of(study.seed, name, repeat)
        folds = (
            stratified_folds(Y, study.folds, seed)
            if study.split == "stratified"
            else shuffled_folds(len(Y), study.folds, seed)
        )
        for fold, (_, test) in enumerate(folds):
            fold_of[test, repeat] = fold
    return fold_of


def fold_seed(study: Study, batch: Batch) -> int:
    """Return the seed of a fold's classifiers.

    It is the same for all algorithms: those that share a fit must share the seed, and the
    others are compared with the same luck.
    """
    return seed_of(study.seed, batch.set, batch.repeat, batch.fold)


@contextmanager
def _watched(seed: int) -> Iterator[list[warnings.WarningMessage]]:
    """Collect warnings, and seed the random numbers that whole programs share.

    Some classifiers draw from them whatever their ``random_state``.
    """
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            yield told
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002


def _predict(study: Study, model: Any, rows: Any, n_labels: int) -> dict[str, np.ndarray[Any, Any]]:
    """Predict what the criteria need, once."""
    ways = {"labels": predicted_labels, "scores": predicted_scores}
    needed = {criterion.needs for criterion in study.criteria.values()}
    return {kind: ways[kind](model, rows, n_labels) for kind in sorted(needed)}


def failures(study: Study, batch: Batch, error: Exception) -> Iterator[Outcome]:
    """Yield the outcomes of a batch that failed before it began."""
    for task in batch.tasks:
        yield Outcome(
            task=task,
            seed=fold_seed(study, batch),
            fitted_by=batch.fitted_by,
            values={},
            finished=now(),
            error=_failure(error).error,
            traceback=_failure(error).traceback,
        )


def now() -> str:
    """Return the time, in ISO form."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class _Failure(NamedTuple):
    error: str
    traceback: str


NOTHING = _Failure("", "")


def _failure(error: BaseException) -> _Failure:
    if is_interrupt(error):
        raise KeyboardInterrupt from error
    # Notes follow the error itself, and texts may have many lines: the first tells most.
    first = traceback.format_exception_only(error)[0].strip().splitlines()[0]
    return _Failure(_storable(first), _storable("".join(traceback.format_exception(error))))


def _storable(text: str) -> str:
    """Replace what no file can hold, such as the names of files that cannot be decoded."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _texts(told: list[warnings.WarningMessage]) -> str:
    lines = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in told)
    return _storable("\n".join(lines))
