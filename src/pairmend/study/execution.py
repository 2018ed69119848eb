"""Execution of a task: folds (the same for all algorithms), fit, predict, losses, errors."""

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
from sklearn.model_selection import KFold

from pairmend._utils.interrupts import is_interrupt
from pairmend._utils.predictions import predicted_labels, predicted_scores
from pairmend._utils.typing import IntArray
from pairmend._utils.validation import seed_estimator, take_rows
from pairmend.model_selection import MultilabelStratifiedKFold
from pairmend.study.array_cache import CachedSet
from pairmend.study.definition import Study
from pairmend.study.devices import Mover
from pairmend.study.memory import peak_bytes, reset_peak
from pairmend.study.objects import as_text, describe
from pairmend.study.tasks import Batch, Task, prediction_params, seed_of


@dataclass(frozen=True)
class Outcome:
    """Result of a task.

    Attributes
    ----------
    task : Task
        The task.
    seed : int
        The seed of the classifier.
    fitted_by : str
        The algorithm whose fit it shares.
    values : dict
        Values of the metrics by name; empty if it failed.
    fit_seconds, predict_seconds : float
        Times of the fit, which other tasks may share, and of the prediction.
    peak_bytes : int or None
        Peak memory of the process, None where it is not available.
    warnings : str
        Warnings of the classifier, a line each.
    error, traceback : str
        Why it failed; empty if it did not.
    finished : str
        ISO time of the end.
    chosen : str
        JSON of the parameters that a search chose, empty without one.

    Examples
    --------
    >>> Outcome(Task("yeast", 0, 0, "FCM"), 7, "FCM", {"hamming": 0.25}).values
    {'hamming': 0.25}
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
    chosen: str = ""


def perform(
    study: Study,
    batch: Batch,
    data: CachedSet,
    *,
    fitted: Callable[[], None] = lambda: None,
) -> Iterator[Outcome]:
    """Fit once, call `fitted`, then yield the outcome of each algorithm; failures are outcomes."""
    seed = fold_seed(study, batch)
    tested = data.fold_of[:, batch.repeat] == batch.fold
    train, test = np.flatnonzero(~tested), np.flatnonzero(tested)
    reset_peak()
    model, failure = None, NO_FAILURE
    fit_warnings: list[warnings.WarningMessage] = []
    fit_seconds = float("nan")
    try:
        with _seeded_and_recorded(seed) as fit_warnings:
            first = study.algorithms[batch.algorithms[0]]
            move = Mover(study.device, first)
            rows, target = move(take_rows(data.X, train)), data.Y[train]
            started = time.perf_counter()
            with move.dispatching():
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
        predict_warnings: list[warnings.WarningMessage] = []
        reset_peak()
        if model is not None:
            failure = NO_FAILURE
            try:
                with _seeded_and_recorded(seed) as predict_warnings:
                    if params := prediction_params(study.algorithms[task.algorithm]):
                        model.set_params(**params)
                    rows, truth = move(take_rows(data.X, test)), data.Y[test]
                    started = time.perf_counter()
                    with move.dispatching():
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
            warnings=_texts([*fit_warnings, *predict_warnings]),
            finished=now(),
            error=failure.error,
            traceback=failure.traceback,
            chosen="" if failure.error else _chosen(model),
        )


def folds_of(study: Study, name: str, Y: IntArray) -> IntArray:
    """Return the fold that each row is tested in, for each repeat, of shape (n, n_repeats)."""
    fold_of = np.empty((len(Y), study.repeats), dtype=np.int64)
    for repeat in range(study.repeats):
        seed = seed_of(study.seed, name, repeat)
        folds = (
            MultilabelStratifiedKFold(study.folds, random_state=seed)
            if study.split == "stratified"
            else KFold(study.folds, shuffle=True, random_state=seed)
        )
        for fold, (_, test) in enumerate(folds.split(Y, Y)):
            fold_of[test, repeat] = fold
    return fold_of


def fold_seed(study: Study, batch: Batch) -> int:
    """Return the seed of a fold's classifiers, which algorithms that share a fit must share."""
    return seed_of(study.seed, batch.set, batch.repeat, batch.fold)


@contextmanager
def _seeded_and_recorded(seed: int) -> Iterator[list[warnings.WarningMessage]]:
    """Record warnings and seed the global random generators, which some classifiers use."""
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        with warnings.catch_warnings(record=True) as recorded:
            warnings.simplefilter("default")
            yield recorded
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002


def _chosen(model: Any) -> str:
    """Return the parameters that a fitted search chose as JSON, empty if it is no search."""
    best = getattr(model, "best_params_", None)
    return as_text(describe(best)) if isinstance(best, dict) else ""


def _predict(study: Study, model: Any, rows: Any, n_labels: int) -> dict[str, np.ndarray[Any, Any]]:
    """Predict labels, scores or both, as the metrics need."""
    ways = {"labels": predicted_labels, "scores": predicted_scores}
    needed = {criterion.needs for criterion in study.criteria.values()}
    return {kind: ways[kind](model, rows, n_labels) for kind in sorted(needed)}


def failures(study: Study, batch: Batch, error: Exception) -> Iterator[Outcome]:
    """Yield failed outcomes for all tasks of a batch."""
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
    """Return the current time in ISO format."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class _Failure(NamedTuple):
    error: str
    traceback: str


NO_FAILURE = _Failure("", "")


def _failure(error: BaseException) -> _Failure:
    if is_interrupt(error):
        raise KeyboardInterrupt from error
    # Notes follow the error, and its text may have many lines: take the first.
    first = traceback.format_exception_only(error)[0].strip().splitlines()[0]
    return _Failure(_storable(first), _storable("".join(traceback.format_exception(error))))


def _storable(text: str) -> str:
    """Escape characters that UTF-8 cannot encode, as in names of files that cannot be decoded."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _texts(recorded: list[warnings.WarningMessage]) -> str:
    lines = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in recorded)
    return _storable("\n".join(lines))
