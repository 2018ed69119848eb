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
from types import SimpleNamespace
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
from pairmend.study.sources import Rows


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
    values: Mapping[str, float]
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


def perform(study: Study, batch: Batch, data: Rows) -> Iterator[Outcome]:
    """Fit once, then yield the outcome of each algorithm; failures are outcomes."""
    (task, *_), n_labels = batch.tasks, data.Y.shape[1]
    tested = data.fold_of[:, task.repeat] == task.fold
    train, test = np.flatnonzero(~tested), np.flatnonzero(tested)
    first, model = study.algorithms[task.algorithm], None
    needs_scores = any(criterion.needs == "scores" for criterion in study.criteria.values())
    with _measured(study, first, batch.seed) as fit:
        rows, target = _moved(study, first, take_rows(data.X, train)), data.Y[train]
        started = time.perf_counter()
        model = seed_estimator(first, batch.seed).fit(rows, target)
        fit.seconds = time.perf_counter() - started
        del rows
    for task in batch.tasks:
        values: dict[str, float] = {}
        stored = scores = None
        with _measured(study, first, batch.seed) as prediction:
            if not fit.error:
                algorithm = study.algorithms[task.algorithm]
                if names := getattr(algorithm, "prediction_parameters", ()):
                    model.set_params(**{name: getattr(algorithm, name) for name in names})
                rows = _moved(study, first, take_rows(data.X, test))
                started = time.perf_counter()
                labels = predicted_labels(model, rows, n_labels)
                prediction.seconds = time.perf_counter() - started
                if needs_scores or study.predictions == "scores":
                    with suppress(*() if needs_scores else (Exception,)):
                        scores = predicted_scores(model, rows, n_labels)
                # Metrics are computed from what is stored, so that those computed later are equal.
                stored = packed(data.Y[test], labels, scores)
                found = unpacked(stored)
                values = {
                    name: criterion(found["truth"], found[criterion.needs])
                    for name, criterion in study.criteria.items()
                }
                if study.predictions != "scores":
                    stored = packed(data.Y[test], labels) if study.predictions == "labels" else None
        chosen = getattr(model, "best_params_", None) if values else None
        row = {
            "fit_seconds": fit.seconds,
            "predict_seconds": prediction.seconds,
            "warnings": "\n".join(dict.fromkeys([*fit.warnings, *prediction.warnings])),
            "error": fit.error or prediction.error,
            "traceback": fit.traceback or prediction.traceback,
            "chosen": as_text(describe(chosen)) if isinstance(chosen, dict) else "",
        }
        yield _outcome(batch, task, row, values, stored if values else None)


def failures(batch: Batch, error: Exception) -> Iterator[Outcome]:
    """Yield failed outcomes for all tasks of a batch."""
    for task in batch.tasks:
        yield _outcome(batch, task, {"warnings": "", "chosen": "", **failure_of(error)})


def _outcome(
    batch: Batch, task: Task, row: dict[str, Any], values: Any = (), stored: bytes | None = None
) -> Outcome:
    known = {"status": "failed" if row["error"] else "done", "seed": batch.seed}
    known |= {"fitted_by": batch.fitted_by, "finished": now()}
    return Outcome(task, {**task._asdict(), **known, **row}, dict(values), stored)


def _moved(study: Study, algorithm: Any, rows: Any) -> Any:
    """Return dense rows as a tensor on the device of the study, if the algorithm takes these."""
    if not (isinstance(rows, np.ndarray) and _takes_tensors(study, algorithm)):
        return rows
    return import_module("torch").asarray(rows, device=study.device)


def _takes_tensors(study: Study, algorithm: Any) -> bool:
    return study.device is not None and get_tags(algorithm).array_api_support


@contextmanager
def _measured(study: Study, algorithm: Any, seed: int) -> Iterator[Any]:
    """Measure a block, record its warnings and error, and seed the global random generators."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    measured = SimpleNamespace(seconds=None, error="", traceback="")
    recorded: list[warnings.WarningMessage] = []
    try:
        with (
            warnings.catch_warnings(record=True) as recorded,
            sklearn.config_context(array_api_dispatch=_takes_tensors(study, algorithm) or None),
        ):
            warnings.simplefilter("default")
            yield measured
    except (Exception, SystemExit) as error:
        vars(measured).update(failure_of(error))
    measured.warnings = [_storable(f"{w.category.__name__}: {w.message}") for w in recorded]


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
