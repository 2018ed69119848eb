"""Tasks of a study and their execution: folds, fit, predict, losses; errors become outcomes."""

import hashlib
import json
import random
import time
import traceback
import warnings
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.model_selection import KFold
from sklearn.utils import get_tags

from pairmend._utils.arrays import take_rows
from pairmend._utils.classifiers import predicted_labels, predicted_scores, seed_estimator
from pairmend._utils.typing import IntArray
from pairmend.model_selection import MultilabelStratifiedKFold
from pairmend.study.definition import Study
from pairmend.study.objects import as_text, describe
from pairmend.study.sources import CachedSet

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Files of Linux with the peak of memory, and to reset it; see proc(5)."""


class Task(NamedTuple):
    """Evaluation of one algorithm on one fold.

    Attributes
    ----------
    set : str
        Name of the data set.
    repeat, fold : int
        Numbers of the repeat and of the fold, from 0.
    algorithm : str
        Name of the algorithm.

    Examples
    --------
    >>> Task("yeast", 0, 0, "FCM").algorithm
    'FCM'
    """

    set: str
    repeat: int
    fold: int
    algorithm: str


@dataclass(frozen=True)
class Batch:
    """The tasks of a fold that share a fit, which has the name of the first algorithm with it."""

    set: str
    repeat: int
    fold: int
    algorithms: tuple[str, ...]
    fitted_by: str

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, one for each algorithm."""
        return tuple(Task(self.set, self.repeat, self.fold, name) for name in self.algorithms)

    def without(self, done: Set[Task]) -> "Batch":
        """Return the batch without tasks that are done."""
        left = tuple(task.algorithm for task in self.tasks if task not in done)
        return replace(self, algorithms=left)


class Predictions(NamedTuple):
    """True and predicted labels of test rows as bits, and scores in single precision, compressed.

    Attributes
    ----------
    n_rows, n_labels : int
        Number of test rows and of labels.
    truth, labels : bytes
        True and predicted label indicators.
    scores : bytes
        Scores of the labels; empty if they are not stored.

    Examples
    --------
    >>> stored = Predictions.of(np.array([[1, 0, 1]]), np.array([[1, 1, 0]]), None)
    >>> stored.arrays()
    (array([[1, 0, 1]]), {'labels': array([[1, 1, 0]])})
    """

    n_rows: int
    n_labels: int
    truth: bytes
    labels: bytes
    scores: bytes = b""

    @classmethod
    def of(cls, truth: IntArray, labels: IntArray, scores: Any) -> "Predictions":
        """Pack arrays of shape (n_rows, n_labels); scores may be None."""
        packed = b"" if scores is None else zlib.compress(scores.astype("<f4").tobytes())
        n_rows, n_labels = truth.shape
        return cls(n_rows, n_labels, _packed(truth), _packed(labels), packed)

    def arrays(self) -> tuple[IntArray, dict[str, Any]]:
        """Return true labels, and predicted labels and scores by kind."""
        shape, n_bits = (self.n_rows, self.n_labels), self.n_rows * self.n_labels
        truth, labels = (
            np.unpackbits(np.frombuffer(zlib.decompress(bits), np.uint8), count=n_bits)
            .reshape(shape)
            .astype(np.int64)
            for bits in (self.truth, self.labels)
        )
        found = {"labels": labels}
        if self.scores:
            scores = np.frombuffer(zlib.decompress(self.scores), "<f4")
            found["scores"] = scores.reshape(shape).astype(np.float64)
        return truth, found


def _packed(labels: IntArray) -> bytes:
    return zlib.compress(np.packbits(labels.astype(bool)).tobytes())


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
    predictions : Predictions or None
        Predictions of the test rows, if they are stored.

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
    predictions: Predictions | None = None


def batches_of(study: Study, name: str, done: Set[Task]) -> Iterator[Batch]:
    """Yield the batches of one set that are not done."""
    fits = shared_fits(study.algorithms)
    for repeat in range(study.repeats):
        for fold in range(study.folds):
            for algorithms in fits:
                batch = Batch(name, repeat, fold, algorithms, algorithms[0]).without(done)
                if batch.algorithms:
                    yield batch


def shared_fits(algorithms: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Group algorithms that differ only in parameters of prediction."""
    groups: dict[Any, list[str]] = defaultdict(list)
    for name, algorithm in algorithms.items():
        at_prediction = getattr(algorithm, "prediction_parameters", ())
        key: Any = name
        if at_prediction:
            plain = describe(algorithm)
            params = plain.get("params", {}).items()
            kept = {key: value for key, value in params if key not in at_prediction}
            key = type(algorithm), as_text({**plain, "params": kept})
        groups[key].append(name)
    return [tuple(names) for names in groups.values()]


def seed_of(*names: int | str) -> int:
    """Return a seed that depends only on names."""
    digest = hashlib.sha256(json.dumps(names).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def fold_seed(study: Study, batch: Batch) -> int:
    """Return the seed of a fold's classifiers, which algorithms that share a fit must share."""
    return seed_of(study.seed, batch.set, batch.repeat, batch.fold)


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


def perform(study: Study, batch: Batch, data: CachedSet) -> Iterator[Outcome]:
    """Fit once, then yield the outcome of each algorithm; failures are outcomes."""
    seed = fold_seed(study, batch)
    tested = data.fold_of[:, batch.repeat] == batch.fold
    train, test = np.flatnonzero(~tested), np.flatnonzero(tested)
    first = study.algorithms[batch.algorithms[0]]
    with _measured(study, first, seed) as fit:
        rows, target = fit.moved(take_rows(data.X, train)), data.Y[train]
        started = time.perf_counter()
        model = seed_estimator(first, seed).fit(rows, target)
        fit.seconds = time.perf_counter() - started
        del rows
    for task in batch.tasks:
        values, predictions = {}, None
        with _measured(study, first, seed) as prediction:
            if not fit.error:
                algorithm = study.algorithms[task.algorithm]
                names = getattr(algorithm, "prediction_parameters", ())
                if names:
                    model.set_params(**{name: getattr(algorithm, name) for name in names})
                rows = prediction.moved(take_rows(data.X, test))
                started = time.perf_counter()
                labels = predicted_labels(model, rows, data.Y.shape[1])
                prediction.seconds = time.perf_counter() - started
                scores = _scores(study, model, rows, data.Y.shape[1])
                # Metrics are computed from what is stored, so that those computed later are equal.
                predictions = Predictions.of(data.Y[test], labels, scores)
                truth, predicted = predictions.arrays()
                values = {
                    name: criterion(truth, predicted[criterion.needs])
                    for name, criterion in study.criteria.items()
                }
        peaks = fit.peak, prediction.peak
        best = None if fit.error or prediction.error else getattr(model, "best_params_", None)
        keeps = values and study.predictions != "none"
        if predictions and study.predictions == "labels":
            predictions = predictions._replace(scores=b"")
        yield Outcome(
            task=task,
            seed=seed,
            fitted_by=batch.fitted_by,
            values=values,
            fit_seconds=fit.seconds,
            predict_seconds=prediction.seconds,
            peak_bytes=max(peaks) if all(peaks) else None,
            warnings="\n".join(dict.fromkeys([*fit.warnings, *prediction.warnings])),
            finished=now(),
            error=fit.error or prediction.error,
            traceback=fit.traceback or prediction.traceback,
            chosen=as_text(describe(best)) if isinstance(best, dict) else "",
            predictions=predictions if keeps else None,
        )


def _scores(study: Study, model: Any, rows: Any, n_labels: int) -> Any:
    """Return scores if a metric needs them, or if they are to be stored and the model has some."""
    needed = any(criterion.needs == "scores" for criterion in study.criteria.values())
    if not needed and study.predictions != "scores":
        return None
    try:
        return predicted_scores(model, rows, n_labels)
    except Exception:  # classifiers can raise anything
        if needed:
            raise
        return None


def failures(study: Study, batch: Batch, error: Exception) -> Iterator[Outcome]:
    """Yield failed outcomes for all tasks of a batch."""
    first, text = failure_of(error)
    seed = fold_seed(study, batch)
    for task in batch.tasks:
        yield Outcome(task, seed, batch.fitted_by, {}, error=first, traceback=text, finished=now())


@dataclass
class _Measured:
    """What a fit or a prediction took, and how it ended."""

    device: str | None
    seconds: float = float("nan")
    peak: int = 0
    warnings: tuple[str, ...] = ()
    error: str = ""
    traceback: str = ""

    def moved(self, rows: Any) -> Any:
        """Return dense rows on the device as a tensor of torch; other rows as they are."""
        if self.device is None or not isinstance(rows, np.ndarray):
            return rows
        return import_module("torch").asarray(rows, device=self.device)


@contextmanager
def _measured(study: Study, algorithm: Any, seed: int) -> Iterator[_Measured]:
    """Measure a block, record its warnings and error, and seed the global random generators."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    measured = _Measured(study.device)
    recorded: list[warnings.WarningMessage] = []
    _reset_peak()
    try:
        if study.device and not get_tags(algorithm).array_api_support:
            measured.device = None
        with (
            warnings.catch_warnings(record=True) as recorded,
            sklearn.config_context(**({"array_api_dispatch": True} if measured.device else {})),
        ):
            warnings.simplefilter("default")
            yield measured
    except (Exception, SystemExit) as error:
        measured.error, measured.traceback = failure_of(error)
    measured.peak = _peak_bytes()
    measured.warnings = tuple(_storable(f"{w.category.__name__}: {w.message}") for w in recorded)


def now() -> str:
    """Return the current time in ISO format."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def failure_of(error: BaseException) -> tuple[str, str]:
    """Return the first line of an error, and its traceback."""
    # Notes follow the error, and its text may have many lines: take the first.
    first = traceback.format_exception_only(error)[0].strip().splitlines()[0]
    return _storable(first), _storable("".join(traceback.format_exception(error)))


def _storable(text: str) -> str:
    """Escape characters that UTF-8 cannot encode, as in names of files that cannot be decoded."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _reset_peak() -> None:
    """Reset the peak of memory, so that the next reading covers the time from here on."""
    try:
        CLEAR.write_bytes(b"5")
    except OSError:
        return


def _peak_bytes() -> int:
    """Return the peak of resident memory since the last reset, 0 where it is not available."""
    try:
        lines = STATUS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    peaks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peaks[0]) * 1024 if peaks and CLEAR.exists() else 0
