"""Tasks of a study and their execution: folds, fit, predict, losses; errors become outcomes."""

import hashlib
import json
import random
import time
import traceback
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from io import BytesIO
from itertools import product
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
    """Evaluation of one algorithm on one fold, both numbers from 0."""

    set: str
    repeat: int
    fold: int
    algorithm: str


class Batch(NamedTuple):
    """Tasks of a fold that share a fit and a seed; the fit has the name of an algorithm."""

    tasks: tuple[Task, ...]
    fitted_by: str
    seed: int

    def without(self, done: Set[Task]) -> "Batch":
        """Return the batch without tasks that are done."""
        return self._replace(tasks=tuple(task for task in self.tasks if task not in done))


def packed(truth: IntArray, labels: IntArray, scores: Any = None) -> bytes:
    """Return labels as bits, and scores in single precision if there are some, compressed."""
    arrays: dict[str, Any] = {"shape": truth.shape}
    arrays |= {"truth": np.packbits(truth > 0), "labels": np.packbits(labels > 0)}
    if scores is not None:
        arrays["scores"] = scores.astype("<f4")
    file = BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def unpacked(stored: bytes) -> dict[str, Any]:
    """Return what was packed: truth, labels, and scores in double precision."""
    with np.load(BytesIO(stored)) as file:
        shape, found = tuple(file["shape"]), {}
        for name in ("truth", "labels"):
            bits = np.unpackbits(file[name], count=np.prod(shape))
            found[name] = bits.reshape(shape).astype(np.int64)
        if "scores" in file:
            found["scores"] = file["scores"].astype(np.float64)
    return found


@dataclass(frozen=True)
class Outcome:
    """Result of a task: its row of the table of tasks, values of metrics, packed predictions."""

    task: Task
    row: dict[str, Any]
    values: dict[str, float]
    predictions: bytes | None = None

    @property
    def error(self) -> str:
        """Why the task failed; empty if it did not."""
        return str(self.row["error"])


def batches_of(study: Study, name: str, done: Set[Task]) -> Iterator[Batch]:
    """Yield the batches of one set that are not done."""
    for repeat, fold in product(range(study.repeats), range(study.folds)):
        seed = seed_of(study.seed, name, repeat, fold)  # which algorithms that share a fit share
        for algorithms in shared_fits(study.algorithms):
            tasks = tuple(Task(name, repeat, fold, algorithm) for algorithm in algorithms)
            if (batch := Batch(tasks, algorithms[0], seed).without(done)).tasks:
                yield batch


def shared_fits(algorithms: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Group algorithms that differ only in parameters of prediction."""
    groups: dict[Any, list[str]] = defaultdict(list)
    for name, algorithm in algorithms.items():
        key: Any = name
        if at_prediction := getattr(algorithm, "prediction_parameters", ()):
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
    (task, *_), seed = batch.tasks, batch.seed
    tested = data.fold_of[:, task.repeat] == task.fold
    train, test = np.flatnonzero(~tested), np.flatnonzero(tested)
    first = study.algorithms[task.algorithm]
    with _measured(study, first, seed) as fit:
        rows, target = fit.moved(take_rows(data.X, train)), data.Y[train]
        started = time.perf_counter()
        model = seed_estimator(first, seed).fit(rows, target)
        fit.seconds = time.perf_counter() - started
        del rows
    for task in batch.tasks:
        values: dict[str, float] = {}
        with _measured(study, first, seed) as prediction:
            if not fit.error:
                algorithm = study.algorithms[task.algorithm]
                if names := getattr(algorithm, "prediction_parameters", ()):
                    model.set_params(**{name: getattr(algorithm, name) for name in names})
                rows = prediction.moved(take_rows(data.X, test))
                started = time.perf_counter()
                labels = predicted_labels(model, rows, data.Y.shape[1])
                prediction.seconds = time.perf_counter() - started
                scores = _scores(study, model, rows, data.Y.shape[1])
                # Metrics are computed from what is stored, so that those computed later are equal.
                stored = packed(data.Y[test], labels, scores)
                found = unpacked(stored)
                values = {
                    name: criterion(found["truth"], found[criterion.needs])
                    for name, criterion in study.criteria.items()
                }
                if study.predictions == "labels":
                    stored = packed(data.Y[test], labels)
        chosen = getattr(model, "best_params_", None) if values else None
        row = {
            "fit_seconds": fit.seconds,
            "predict_seconds": prediction.seconds,
            "peak_bytes": max(fit.peak, prediction.peak) or None,
            "warnings": "\n".join(dict.fromkeys([*fit.warnings, *prediction.warnings])),
            "error": fit.error or prediction.error,
            "traceback": fit.traceback or prediction.traceback,
            "chosen": as_text(describe(chosen)) if isinstance(chosen, dict) else "",
        }
        kept = stored if values and study.predictions != "none" else None
        yield _outcome(batch, task, row, values, kept)


def failures(batch: Batch, error: Exception) -> Iterator[Outcome]:
    """Yield failed outcomes for all tasks of a batch."""
    row = dict.fromkeys(("fit_seconds", "predict_seconds", "peak_bytes"))
    row |= {"warnings": "", "chosen": "", **failure_of(error)}
    for task in batch.tasks:
        yield _outcome(batch, task, row, {})


def _outcome(
    batch: Batch, task: Task, row: Any, values: dict[str, float], kept: bytes | None = None
) -> Outcome:
    known = {"status": "failed" if row["error"] else "done", "seed": batch.seed}
    known |= {"fitted_by": batch.fitted_by, "finished": now(), **task._asdict()}
    return Outcome(task, {**known, **row}, values, kept)


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


@dataclass
class _Measured:
    """What a fit or a prediction took, and how it ended."""

    device: str | None
    seconds: float | None = None
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
    with suppress(OSError):  # a later reading then covers the time from here on
        CLEAR.write_bytes(b"5")
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
        vars(measured).update(failure_of(error))
    measured.peak = _peak_bytes()
    measured.warnings = tuple(_storable(f"{w.category.__name__}: {w.message}") for w in recorded)


def now() -> str:
    """Return the current time in ISO format."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def failure_of(error: BaseException) -> dict[str, str]:
    """Return the first line of an error, and its traceback."""
    # Notes follow the error, and its text may have many lines: take the first.
    first = traceback.format_exception_only(error)[0].strip().splitlines()[0]
    whole = "".join(traceback.format_exception(error))
    return {"error": _storable(first), "traceback": _storable(whole)}


def _storable(text: str) -> str:
    """Escape characters that UTF-8 cannot encode, as in names of files that cannot be decoded."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _peak_bytes() -> int:
    """Return the peak of resident memory since the last reset, 0 where it is not available."""
    lines = STATUS.read_text(encoding="utf-8").splitlines() if CLEAR.exists() else []
    peaks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peaks[0]) * 1024 if peaks else 0
