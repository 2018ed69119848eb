"""The pieces of work a study is made of."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pairmend.study.definition import Study
from pairmend.study.objects import Unmade, as_text, describe


class Task(NamedTuple):
    """One classifier, judged on one fold."""

    set: str
    repeat: int
    fold: int
    algorithm: str


@dataclass(frozen=True)
class Batch:
    """The tasks of a fold that share a fit.

    Attributes
    ----------
    set, repeat, fold
        Where it belongs.
    algorithms : tuple of str
        Names of those that are judged.
    fitted_by : str
        The first algorithm of the study that has this fit, whether or not it is judged here.
    """

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
        """Return what is left of it when some tasks are done."""
        left = tuple(task.algorithm for task in self.tasks if task not in done)
        return replace(self, algorithms=left)


def batches_of(study: Study, name: str, done: Set[Task]) -> Iterator[Batch]:
    """Yield the work to be done on one set.

    Parameters
    ----------
    study : Study
        The study.
    name : str
        Name of the set.
    done : set of Task
        Tasks that are done already.

    Yields
    ------
    Batch
    """
    fits = shared_fits(study.algorithms)
    for repeat in range(study.repeats):
        for fold in range(study.folds):
            for algorithms in fits:
                batch = Batch(name, repeat, fold, algorithms, algorithms[0]).without(done)
                if batch.algorithms:
                    yield batch


def shared_fits(algorithms: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Group algorithms that differ only in what takes effect at prediction.

    Parameters
    ----------
    algorithms : mapping of str to classifier

    Returns
    -------
    list of tuple of str

    Examples
    --------
    >>> from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier
    >>> shared_fits({
    ...     "LPW": PairwiseClassifier(),
    ...     "FCM": CorrectedPairwiseClassifier(),
    ...     "FCM-O": CorrectedPairwiseClassifier(overlap=0.5),
    ... })
    [('LPW',), ('FCM', 'FCM-O')]
    """
    groups: dict[Any, list[str]] = defaultdict(list)
    for name, algorithm in algorithms.items():
        late = _late(algorithm)
        groups[_fit_key(algorithm, late) if late else name].append(name)
    return [tuple(names) for names in groups.values()]


def prediction_params(algorithm: Any) -> dict[str, Any]:
    """Return those parameters of a classifier that take effect at prediction."""
    return {name: getattr(algorithm, name) for name in _late(algorithm)}


def _late(algorithm: Any) -> tuple[str, ...]:
    """Return the names of the parameters that take effect at prediction."""
    owner = algorithm.type if isinstance(algorithm, Unmade) else algorithm
    return tuple(getattr(owner, "prediction_parameters", ()))


def _fit_key(algorithm: Any, late: tuple[str, ...]) -> tuple[Any, str]:
    """Name what a fit depends on: the class and all parameters but those of prediction."""
    plain = describe(algorithm)
    params = {key: value for key, value in plain.get("params", {}).items() if key not in late}
    made = algorithm.type if isinstance(algorithm, Unmade) else type(algorithm)
    return made, as_text({**plain, "params": params})


def seed_of(*names: int | str) -> int:
    """Make a seed of names, so that it depends on nothing else.

    Examples
    --------
    >>> seed_of(0, "yeast", 1) == seed_of(0, "yeast", 1) != seed_of(0, "yeast", 2)
    True
    """
    digest = hashlib.sha256(json.dumps(names).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
