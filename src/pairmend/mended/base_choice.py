"""ChosenBase: logistic regression and a forest, compared and stacked on out-of-fold predictions."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from pairmend._utils.fit_params import take_params
from pairmend._utils.parameters import is_auto
from pairmend._utils.per_label import PerLabelClassifier, for_all_labels, varying_labels
from pairmend._utils.predictions import label_scores
from pairmend._utils.progress import report
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.validation import seed_estimator, take_rows
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.forests.estimator import MultiLabelForest
from pairmend.mended.base import Base, BaseRows, GivenBase, StackedBase
from pairmend.mended.out_of_fold_rows import check_number
from pairmend.mended.stacking import fit_stacking_weights, stack

LINEAR, FOREST = "logistic_regression", "forest"
INVERSE_PENALTIES = (1.0, 0.1, 10.0)
"""Values of C of the logistic regression; the first is used unless another is clearly better."""
MAX_TRIAL_ROWS = 2000
"""Largest number of training rows, and of test rows, on which these values are compared."""
MAX_TRIAL_LABELS = 50
"""Largest number of labels for which they are compared."""
MIN_GAIN = 0.005
"""Relative decrease of the squared error below which a further classifier is not used."""


def base_to_fit(owner: Any, base: Any, n_labels: int, seed: int) -> Base:
    """Return the base classifier of a `MendedClassifier`, seeded; `base` is the one it is given."""
    if is_auto(owner.estimator):
        return ChosenBase(base, seed, use_out_of_bag=isinstance(owner.cv, Integral))
    return GivenBase(for_all_labels(seed_estimator(base, seed), n_labels), type(base).__name__)


class ChosenBase:
    """Logistic regression and a random forest of all labels, stacked by their squared errors.

    Attributes
    ----------
    weights : dict of float
        Stacking weights.
    search : dict of list
        What was compared: "classifier", and "loss", the Brier score of its predictions.
    """

    def __init__(self, linear: ScaledLogisticRegression, seed: int, *, use_out_of_bag: bool):
        self.linear = linear
        self.forest = MultiLabelForest(random_state=seed)
        self.seed = seed
        self.use_out_of_bag = use_out_of_bag
        self.weights: dict[str, float] = {}
        self.search: dict[str, list[Any]] = {"classifier": [], "loss": []}
        self._forest_is_fitted = False

    def out_of_fold(self, rows: BaseRows) -> tuple[IntArray, FloatArray, IntArray]:
        """Return the validation rows, their stacked out-of-fold probabilities, and their splits."""
        check_splits(rows.splits)
        self.forest.set_params(n_jobs=rows.n_jobs)
        by_forest = self._forest_proba(rows)
        best = self._choose_penalty(rows, by_forest)
        self.linear = clone(self.linear).set_params(C=best)
        validation, proba, folds = rows.out_of_fold(PerLabelClassifier(self.linear))
        proba = self._stack(rows, validation, {LINEAR: proba, FOREST: by_forest[validation]})
        return validation, proba, folds

    def fit_on_all(self, rows: BaseRows) -> StackedBase:
        """Fit the classifiers of positive weight on all rows."""
        models: dict[str, Any] = {}
        if LINEAR in self.weights:
            models[LINEAR] = rows.fit_on_all(PerLabelClassifier(self.linear))
        if FOREST in self.weights:
            models[FOREST] = self.forest
            if not self._forest_is_fitted:
                rows.fit_on_all(self.forest)
        return StackedBase(models, self.weights)

    def _forest_proba(self, rows: BaseRows) -> FloatArray:
        """Return the forest's probabilities of rows by trees that were not grown on them.

        Without splits of the user's own, trees are evaluated on the rows out of their bootstrap
        samples: then a single forest is grown, which is that of `fit_on_all`.
        """
        proba = np.zeros(rows.target.Y.shape)
        if self.use_out_of_bag:
            X, present, params = rows.present()
            report(rows.owner, f"fitting MultiLabelForest on {len(present)} rows")
            proba[present] = self.forest.fit_out_of_bag(X, rows.target.Y[present], **params)
            self._forest_is_fitted = True
        else:
            validation, found, _ = rows.out_of_fold(self.forest)
            proba[validation] = found
        return proba

    def _choose_penalty(self, rows: BaseRows, by_forest: FloatArray) -> float:
        """Return the C with which the logistic regression is best stacked with the forest.

        Another value than the first must be better, see `is_better`.
        """
        train, test = rows.splits[0]
        rng = np.random.RandomState(self.seed)
        train, test = (_draw(part, rng) for part in (train, test))
        labels = varying_labels(rows.target.Y[train])
        labels = np.sort(rng.permutation(labels)[:MAX_TRIAL_LABELS])
        if not len(labels) or not len(test):
            return INVERSE_PENALTIES[0]
        Y = rows.target.Y[np.ix_(test, labels)]
        weights = rows.weights[test]
        X_train, X_test = take_rows(rows.X, train), take_rows(rows.X, test)
        params = take_params(rows.X, rows.params, train)

        def errors(C: float) -> FloatArray:
            model = PerLabelClassifier(clone(self.linear).set_params(C=C))
            model.fit(X_train, rows.target.Y[np.ix_(train, labels)], **params)
            proba = label_scores(model, X_test, "predict_proba", len(labels))
            parts = {LINEAR: proba, FOREST: by_forest[np.ix_(test, labels)]}
            return squared_errors(parts, fit_stacking_weights(parts, Y, weights), Y)

        by_value = {C: errors(C) for C in INVERSE_PENALTIES}
        for C, each in by_value.items():
            self._add(f"logistic_regression, C={C:g}, stacked (trial)", each, weights)
        first = by_value[INVERSE_PENALTIES[0]]
        best = min(by_value, key=lambda C: float(np.average(by_value[C], weights=weights)))
        return best if is_better(by_value[best], first, weights) else INVERSE_PENALTIES[0]

    def _stack(
        self, rows: BaseRows, validation: IntArray, proba: Mapping[str, FloatArray]
    ) -> FloatArray:
        """Choose the stacking weights; return the weighted sum.

        One classifier alone is used unless the weighted sum is better, see `is_better`.
        """
        Y, weights = rows.target.Y[validation], rows.weights[validation]
        both = fit_stacking_weights(proba, Y, weights)
        choices: list[dict[str, float]] = [{LINEAR: 1.0}, {FOREST: 1.0}]
        if min(both.values()) > 0:
            choices.append(both)
        errors = [squared_errors(proba, choice, Y) for choice in choices]
        for choice, each in zip(choices, errors, strict=True):
            self._add(" + ".join(choice), each, weights)
        means = [float(np.average(each, weights=weights)) for each in errors]
        best = int(np.argmin(means))
        within = [k for k in range(len(choices)) if not is_better(errors[best], errors[k], weights)]
        self.weights = choices[within[0]]
        report(rows.owner, f"base classifiers: {_described(self.weights, self.linear.C)}")
        return stack(proba, self.weights)

    def _add(self, name: str, errors: FloatArray, weights: FloatArray) -> None:
        self.search["classifier"].append(name)
        self.search["loss"].append(float(np.average(errors, weights=weights)))


def check_splits(splits: list[tuple[IntArray, IntArray]]) -> None:
    """Raise an error for no splits, and for a split without training rows."""
    if not splits:
        check_number(0)
    if any(len(train) == 0 for train, _ in splits):
        raise ValueError(
            "A split of cv has no training rows of positive weight; expected at least one. Pass a "
            "cv with larger training parts."
        )


def squared_errors(
    proba: Mapping[str, FloatArray], stacking_weights: Mapping[str, float], Y: BoolArray
) -> FloatArray:
    """Return the mean squared error of each row over the labels."""
    error: FloatArray = np.mean((stack(proba, stacking_weights) - Y) ** 2, axis=1)
    return error


def is_better(first: FloatArray, second: FloatArray, weights: FloatArray) -> bool:
    """Return whether the mean of `first` is lower by a standard error, and by MIN_GAIN."""
    difference = second - first
    shares = weights / weights.sum()
    mean = shares @ difference
    variance = shares**2 @ (difference - mean) ** 2
    return bool(mean > max(np.sqrt(variance), MIN_GAIN * (shares @ second)))


def _draw(rows: IntArray, rng: np.random.RandomState) -> IntArray:
    """Return at most MAX_TRIAL_ROWS rows."""
    return rows if len(rows) <= MAX_TRIAL_ROWS else np.sort(rng.permutation(rows)[:MAX_TRIAL_ROWS])


def _described(weights: Mapping[str, float], C: float) -> str:
    parts = [
        f"{weight:.2f} {name}{f' (C={C:g})' if name == LINEAR else ''}"
        for name, weight in weights.items()
    ]
    return ", ".join(parts)
