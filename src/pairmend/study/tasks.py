"""Tasks of a study, batches of tasks that share a fit, and which of them are left to do."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pairmend.study.definition import Study
from pairmend.study.objects import as_text, describe


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
        at_prediction = _prediction_parameters(algorithm)
        key = _fit_key(algorithm, at_prediction) if at_prediction else name
        groups[key].append(name)
    return [tuple(names) for names in groups.values()]


def prediction_params(algorithm: Any) -> dict[str, Any]:
    """Return the parameters of a classifier that take effect at prediction."""
    return {name: getattr(algorithm, name) for name in _prediction_parameters(algorithm)}


def _prediction_parameters(algorithm: Any) -> tuple[str, ...]:
    """Return the names of the parameters that take effect at prediction."""
    return tuple(getattr(algorithm, "prediction_parameters", ()))


def _fit_key(algorithm: Any, at_prediction: tuple[str, ...]) -> tuple[Any, str]:
    """Return the class and the text of all parameters except those of prediction."""
    plain = describe(algorithm)
    every = plain.get("params", {})
    params = {key: value for key, value in every.items() if key not in at_prediction}
    return type(algorithm), as_text({**plain, "params": params})


def seed_of(*names: int | str) -> int:
    """Return a seed that depends only on names."""
    digest = hashlib.sha256(json.dumps(names).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
