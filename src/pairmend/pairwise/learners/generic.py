"""Any scikit-learn classifier as a pair learner: one clone for each problem."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from pairmend._utils.arrays import take_rows
from pairmend._utils.classifiers import class_probabilities, seed_estimator
from pairmend._utils.progress import iterate_calls, run_calls
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.training import take_params, unit_weight
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.frames.columns import hint_of_encoder
from pairmend.frames.encoder import encoded_once
from pairmend.kernels.pairs import LabelRows, pairs_of
from pairmend.kernels.rrc import decide, fold_rounded
from pairmend.pairwise.learners import PairLearner


@dataclass(frozen=True)
class ConstantClassifier:
    """A classifier that predicts the same probabilities of classes for every row."""

    shares: tuple[float, ...]

    @property
    def classes_(self) -> IntArray:
        """All classes."""
        return np.arange(len(self.shares))

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the shares for every row."""
        return np.tile(self.shares, (count_rows(X), 1))


@dataclass(frozen=True)
class SmallProblem:
    """Rows with classes 0 to n_classes - 1; the name is used in error messages.

    With names of classes, the classifier is trained on these.
    """

    name: str
    rows: IntArray
    y: IntArray
    n_classes: int = 2
    class_names: Any = None


def train_problems(
    estimator: Any,
    X: MatrixLike,
    problems: Iterable[SmallProblem],
    fit_params: dict[str, Any],
    *,
    n_jobs: int | None,
    owner: Any = None,
    n_problems: int = 0,
) -> list[Any]:
    """Train a clone of a classifier on each problem, without rows of weight 0.

    If ``fit`` of the classifier has a parameter ``feature_statistics``, its method of that name is
    called once with all rows, and the result is passed to the fit of every problem. The progress of
    `n_problems` pairs is reported for `owner`.
    """
    shared, weights = {}, fit_params.get("sample_weight")
    if has_fit_parameter(estimator, "feature_statistics"):
        statistics = estimator.feature_statistics(X, sample_weight=weights)
        shared["feature_statistics"] = statistics
    unit = 1.0 if weights is None else unit_weight(weights)
    calls = (
        delayed(_train)(estimator, X, problem, fit_params, shared, unit) for problem in problems
    )
    return run_calls(owner, calls, n_problems, "pair", "trained", n_jobs=n_jobs)


def _train(
    estimator: Any,
    X: MatrixLike,
    problem: SmallProblem,
    fit_params: dict[str, Any],
    shared: dict[str, Any],
    unit: float,
) -> Any:
    weights = fit_params.get("sample_weight")
    if weights is not None:
        present = weights[problem.rows] > 0
        problem = replace(problem, rows=problem.rows[present], y=problem.y[present])
        weights = weights[problem.rows]
    counts = np.bincount(problem.y, weights=weights, minlength=problem.n_classes)
    if np.count_nonzero(counts) < 2:
        smoothed = counts / unit + 1
        return ConstantClassifier(tuple((smoothed / smoothed.sum()).tolist()))
    params = {**take_params(X, fit_params, problem.rows), **shared}
    y = problem.y if problem.class_names is None else problem.class_names[problem.y]
    try:
        return clone(estimator).fit(take_rows(X, problem.rows), y, **params)
    except Exception as error:
        n_rows = np.bincount(problem.y, minlength=problem.n_classes).tolist()
        note = f"while training {problem.name} on {n_rows} rows of its classes. "
        error.add_note((note + hint_of_encoder(X)).strip())
        raise


def predict_models(
    models: Sequence[Any], X: MatrixLike, *, n_classes: int = 2, n_jobs: int | None
) -> FloatArray:
    """Return class probabilities of shape (n_rows, n_models, n_classes)."""
    probabilities = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_predict)(model, X, n_classes) for model in models
    )
    return np.stack(probabilities, axis=1)


def _predict(model: Any, X: MatrixLike, n_classes: int = 2) -> FloatArray:
    """Return the probabilities of classes 0 to n_classes - 1.

    Without ``predict_proba`` the prediction has the probability 1. Classifiers that need
    probabilities reject such a base classifier before training.
    """
    found = np.zeros((count_rows(X), n_classes))
    if hasattr(model, "predict_proba"):
        found[:, np.asarray(model.classes_, dtype=np.int64)] = class_probabilities(model, X)
    else:
        found[np.arange(len(found)), model.predict(X)] = 1
    return found


class GenericPairLearner(PairLearner):
    """Trains one clone of a classifier for each pair: ``models_``, in the order of the pairs."""

    def fit(self, rows: Any, pairs: IntArray, owner: Any = None) -> "GenericPairLearner":
        """Train all pairs, each on the rows that have exactly one of its labels."""
        estimator = seed_estimator(self.estimator, self.seed)
        X, self._encoder = encoded_once(estimator, rows.X)
        models = train_problems(
            estimator,
            X,
            _problems(rows.Y, pairs),
            rows.fit_params,
            n_jobs=self.n_jobs,
            owner=owner,
            n_problems=len(pairs),
        )
        self._pairs, self.models_ = pairs, models
        return self

    def _encoded(self, X: MatrixLike) -> MatrixLike:
        """Encode rows if the classifiers of the pairs were trained on encoded rows."""
        return X if self._encoder is None else self._encoder.encode(X)

    def supports(self, X: MatrixLike, blocks: Iterable[slice]) -> Iterator[FloatArray]:
        """Yield the supports for the first labels of blocks of pairs, (n, block) each."""
        X = self._encoded(X)
        for labels in blocks:
            block = pairs_of(labels, int(self._pairs[-1, 1]) + 1)
            yield predict_models(self.models_[block], X, n_jobs=self.n_jobs)[..., 1]

    def support_of(self, X: MatrixLike, pair: int) -> FloatArray:
        """Return the support of one pair for its first label."""
        return _predict(self.models_[pair], self._encoded(X))[:, 1]

    def decide(
        self, X: MatrixLike, label_rows: LabelRows, reference: Callable[..., FloatArray]
    ) -> FloatArray:
        """Return the decisions for labels at the rows that have them, folded."""
        X = self._encoded(X)
        out = np.full((len(label_rows.rows), label_rows.n_labels), 0.5)
        rows = [label_rows.rows[label_rows.entries(label)] for label in range(label_rows.n_labels)]
        used = [m for m, (i, j) in enumerate(self._pairs) if len(rows[i]) or len(rows[j])]
        calls = (
            delayed(_predict_support_at)(
                self.models_[m], X, np.union1d(*(rows[i] for i in self._pairs[m]))
            )
            for m in used
        )
        results = iterate_calls(calls, n_jobs=self.n_jobs, prefer="threads")
        for (i, j), (where, support) in zip(self._pairs[used], results, strict=True):
            folded = decide(fold_rounded(support), reference)
            out[label_rows.entries(i), j] = folded[np.searchsorted(where, rows[i])]
            out[label_rows.entries(j), i] = -folded[np.searchsorted(where, rows[j])]
        return out


def _predict_support_at(model: Any, X: MatrixLike, rows: IntArray) -> tuple[IntArray, FloatArray]:
    return rows, _predict(model, take_rows(X, rows))[:, 1]


def _problems(Y: BoolArray, pairs: IntArray) -> Iterator[SmallProblem]:
    """Yield the binary problem of each pair."""
    by_label = np.ascontiguousarray(Y.T)
    for i, j in pairs:
        if j == len(by_label):
            yield relevance_problem(Y, i)
            continue
        rows = np.flatnonzero(by_label[i] != by_label[j])
        name = f"the pair of labels number {i} and {j}"
        yield SmallProblem(name, rows, by_label[i][rows].astype(np.int64))


def relevance_problem(Y: BoolArray, label: int) -> SmallProblem:
    """Return the problem of a label against its absence, its pair with the virtual label."""
    name = f"label number {label} against its absence"
    return SmallProblem(name, np.arange(len(Y)), Y[:, label].astype(np.int64))
