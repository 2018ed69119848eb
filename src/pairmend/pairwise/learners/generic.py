"""Any scikit-learn classifier as a pair learner: one clone a pair."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from pairmend._utils.fit_params import take_params
from pairmend._utils.frames import EncodedFrame, is_frame
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import class_probabilities, seed_estimator, take_rows
from pairmend._utils.weights import unit_weight
from pairmend.frames.encoder import FrameEncoder, takes_encoded_frames
from pairmend.kernels.pairs import LabelRows


@dataclass(frozen=True)
class ConstantSupport:
    """What stands in for a classifier where a pair lacks the rows of a side."""

    value: float
    classes_ = (0, 1)

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the same support for every row."""
        return np.tile([1 - self.value, self.value], (count_rows(X), 1))


def _train_pair(
    estimator: Any,
    X: MatrixLike,
    name: str,
    rows: IntArray,
    y: IntArray,
    fit_params: dict[str, Any],
    feature_statistics: Any,
    unit: float,
) -> Any:
    weights = fit_params.get("sample_weight")
    if weights is not None:
        present = weights[rows] > 0
        rows, y = rows[present], y[present]
    counts = np.bincount(y, weights=None if weights is None else weights[rows], minlength=2)
    if not counts.all():
        # The Laplace-smoothed share of the first label; 1/2 without any row.
        mass = counts / unit
        return ConstantSupport(float((mass[1] + 1) / (mass.sum() + 2)))
    params = take_params(X, fit_params, rows)
    if feature_statistics is not None:
        params["feature_statistics"] = feature_statistics
    try:
        return clone(estimator).fit(take_rows(X, rows), y, **params)
    except Exception as error:
        error.add_note(
            f"while training {name} on {np.count_nonzero(y == 1)} rows of the first and "
            f"{np.count_nonzero(y == 0)} rows of the second"
        )
        raise


def _ask(model: Any, X: MatrixLike) -> FloatArray:
    """Return the support of a pair's classifier for the pair's first label, class 1.

    One that gives no probabilities supports the label that it predicts wholly. Classifiers that
    cannot do with this refuse such a base before they train it.
    """
    try:
        if not hasattr(model, "predict_proba"):
            return np.asarray(model.predict(X) == 1, dtype=np.float64)
        probabilities = class_probabilities(model, X)
    except Exception as error:
        error.add_note("while asking the classifier of a pair of labels")
        raise
    first = list(model.classes_).index(1)
    return probabilities[:, first]


class GenericPairLearner:
    """Trains one clone of a classifier a pair.

    If ``fit`` of the base classifier has a parameter ``feature_statistics``, its method of that
    name is called once with all rows, and the result is passed to the fit of every pair.

    Parameters
    ----------
    estimator : classifier
        The base classifier, with ``predict_proba``, or with ``predict`` alone where votes
        suffice.
    n_jobs : int or None
        Number of workers for training; asking runs in threads.
    seed : int
        Set as ``random_state`` of the base classifiers where that is None.

    Attributes
    ----------
    models_ : list
        The fitted classifiers, in the order of the pairs.
    """

    row_size = 0
    """Floats a row takes while it is asked about: what classifiers need, nobody knows."""

    def __init__(self, estimator: Any, *, n_jobs: int | None, seed: int):
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.seed = seed

    def fit(
        self, X: MatrixLike, Y: BoolArray, pairs: IntArray, fit_params: dict[str, Any]
    ) -> "GenericPairLearner":
        """Train all pairs, each on the rows that carry exactly one of its labels."""
        estimator = seed_estimator(self.estimator, self.seed)
        if is_frame(X) and takes_encoded_frames(estimator):
            X = FrameEncoder().fit(X).encode(X)  # once, not for each pair
        feature_statistics = None
        if has_fit_parameter(estimator, "feature_statistics"):
            feature_statistics = estimator.feature_statistics(
                X, sample_weight=fit_params.get("sample_weight")
            )
        weights = fit_params.get("sample_weight")
        unit = 1.0 if weights is None else unit_weight(weights)
        models = Parallel(n_jobs=self.n_jobs)(
            delayed(_train_pair)(
                estimator, X, _name(pair, Y), rows, y, fit_params, feature_statistics, unit
            )
            for pair, (rows, y) in zip(pairs, _problems(Y, pairs), strict=True)
        )
        self.adopt(pairs, models)
        self._encoder = X.encoder if isinstance(X, EncodedFrame) else None
        return self

    def adopt(self, pairs: IntArray, models: list[Any]) -> "GenericPairLearner":
        """Take classifiers of pairs that were trained elsewhere."""
        self._pairs, self.models_, self._encoder = pairs, models, None
        return self

    def _encoded(self, X: MatrixLike) -> MatrixLike:
        """Return rows as the classifiers of the pairs take them."""
        return X if self._encoder is None else self._encoder.encode(X)

    def supports(self, X: MatrixLike, blocks: Iterable[slice]) -> Iterator[FloatArray]:
        """Yield the supports for the first labels of blocks of pairs, (n, block) each."""
        X = self._encoded(X)
        for block in blocks:
            answers = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(_ask)(model, X) for model in self.models_[block]
            )
            yield np.stack(answers, axis=1)

    def support_of(self, X: MatrixLike, pair: int) -> FloatArray:
        """Return the support of one pair for its first label."""
        return _ask(self.models_[pair], self._encoded(X))

    def support_at(self, X: MatrixLike, label_rows: LabelRows) -> FloatArray:
        """Return the supports for labels at the rows that carry them, in all their pairs."""
        X = self._encoded(X)
        out = np.full((len(label_rows.rows), label_rows.n_labels), 0.5)
        rows = [label_rows.rows[label_rows.entries(label)] for label in range(label_rows.n_labels)]
        asked = [m for m, (i, j) in enumerate(self._pairs) if len(rows[i]) or len(rows[j])]
        answers = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(_ask_at)(self.models_[m], X, np.union1d(*(rows[i] for i in self._pairs[m])))
            for m in asked
        )
        for (i, j), (where, support) in zip(self._pairs[asked], answers, strict=True):
            out[label_rows.entries(i), j] = support[np.searchsorted(where, rows[i])]
            out[label_rows.entries(j), i] = 1 - support[np.searchsorted(where, rows[j])]
        return out


def _ask_at(model: Any, X: MatrixLike, rows: IntArray) -> tuple[IntArray, FloatArray]:
    return rows, _ask(model, take_rows(X, rows))


def _name(pair: IntArray, Y: BoolArray) -> str:
    first, second = pair
    if second == Y.shape[1]:
        return f"label number {first} against its absence"
    return f"the pair of labels number {first} and {second}"


def _problems(Y: BoolArray, pairs: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows and the 0/1 target of each pair's binary problem."""
    by_label = np.ascontiguousarray(Y.T)
    for i, j in pairs:
        is_virtual = j == len(by_label)
        rows = np.arange(len(Y)) if is_virtual else np.flatnonzero(by_label[i] != by_label[j])
        yield rows, by_label[i][rows].astype(np.int64)
