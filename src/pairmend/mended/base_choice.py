"""ChosenBase: logistic regression, forest and kernel ridge, stacked on out-of-fold predictions."""

from collections.abc import Mapping, Sequence
from itertools import combinations
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
from pairmend.mended.calibration import MIN_GAIN as MIN_CALIBRATION_GAIN
from pairmend.mended.calibration import Calibration, fit_calibration
from pairmend.mended.kernel_ridge import MultiLabelKernelRidge, choose_parameters
from pairmend.mended.stacking import fit_stacking_weights, stack

LINEAR, FOREST, KERNEL = "logistic_regression", "forest", "kernel_ridge"
INVERSE_PENALTIES = (1.0, 10.0)
"""Values of C of the logistic regression; the first is used unless the other is clearly better."""
MAX_TRIAL_ROWS = 2000
"""Largest number of training rows, and of test rows, on which parameters are compared."""
MAX_TRIAL_LABELS = 50
"""Largest number of labels for which they are compared."""
MIN_GAIN = 0.005
"""Relative decrease of the squared error below which a further classifier is not used."""


def base_to_fit(owner: Any, base: Any, n_labels: int, seed: int) -> Base:
    """Return the base classifier of a `MendedClassifier`, seeded; `base` is the one it is given."""
    if is_auto(owner.estimator):
        return ChosenBase(base, seed, fits_once=isinstance(owner.cv, Integral))
    return GivenBase(for_all_labels(seed_estimator(base, seed), n_labels), type(base).__name__)


class ChosenBase:
    """Logistic regression, random forest and kernel ridge regression, stacked by squared errors.

    Attributes
    ----------
    weights : dict of float
        Stacking weights.
    calibrations : dict of Calibration
        Calibrations of the probabilities, for classifiers that need one.
    search : dict of list
        What was compared: "classifier", and "loss", the Brier score of its predictions.
    """

    def __init__(self, linear: ScaledLogisticRegression, seed: int, *, fits_once: bool):
        self.linear = linear
        self.all_labels: dict[str, Any] = {
            FOREST: MultiLabelForest(random_state=seed),
            KERNEL: MultiLabelKernelRidge(random_state=seed),
        }
        self.seed = seed
        self.fits_once = fits_once
        self.weights: dict[str, float] = {}
        self.calibrations: dict[str, Calibration] = {}
        self.search: dict[str, list[Any]] = {"classifier": [], "loss": []}

    def out_of_fold(self, rows: BaseRows) -> tuple[IntArray, FloatArray, IntArray]:
        """Return the validation rows, their stacked out-of-fold probabilities, and their splits."""
        self.all_labels[FOREST].set_params(n_jobs=rows.n_jobs)
        self.all_labels[KERNEL].set_params(**self._kernel_parameters(rows))
        others = {name: self._proba(name, rows) for name in self.all_labels}
        best = self._choose_penalty(rows, others)
        self.linear = clone(self.linear).set_params(C=best)
        validation, linear, folds = rows.out_of_fold(PerLabelClassifier(self.linear))
        proba = {LINEAR: linear} | {name: own[validation] for name, own in others.items()}
        proba = {name: self._calibrate(name, rows, validation, p) for name, p in proba.items()}
        return validation, self._stack(rows, validation, proba), folds

    def fit_on_all(self, rows: BaseRows) -> StackedBase:
        """Fit the classifiers of positive weight on all rows."""
        models: dict[str, Any] = {}
        for name in self.weights:
            if name == LINEAR:
                models[name] = rows.fit_on_all(PerLabelClassifier(self.linear))
                continue
            models[name] = self.all_labels[name]
            if not self.fits_once:
                rows.fit_on_all(models[name])
        used = {name: each for name, each in self.calibrations.items() if name in models}
        return StackedBase(models, self.weights, used)

    def _proba(self, name: str, rows: BaseRows) -> FloatArray:
        """Return the probabilities of rows by trees, or regressions, that are not fitted on them.

        Without splits of the user's own, both classifiers are fitted once, on all rows: trees are
        evaluated on the rows out of their bootstrap samples, and out-of-fold predictions of the
        kernel ridge regression follow from that on all rows.
        """
        model, n_rows = self.all_labels[name], len(rows.target.Y)
        if not self.fits_once:
            validation, found, _ = rows.out_of_fold(model)
            return _at(validation, found, n_rows)
        X, present, params = rows.present()
        Y = rows.target.Y[present]
        report(rows.owner, f"fitting {type(model).__name__} on {len(present)} rows")
        if name == FOREST:
            return _at(present, model.fit_out_of_bag(X, Y, **params), n_rows)
        tests = [np.searchsorted(present, test) for _, test in rows.splits]
        return _at(present, model.fit_out_of_fold(X, Y, tests, **params), n_rows)

    def _kernel_parameters(self, rows: BaseRows) -> dict[str, float]:
        """Return the parameters of the kernel ridge regression, chosen on some rows."""
        rng = np.random.RandomState(self.seed)
        drawn = rng.permutation(rows.splits[0][0])[:MAX_TRIAL_ROWS]
        labels = _draw(varying_labels(rows.target.Y[drawn]), MAX_TRIAL_LABELS, rng)
        if not len(labels):
            return {}
        Y = rows.target.Y[np.ix_(drawn, labels)]
        return choose_parameters(take_rows(rows.X, drawn), Y, rows.weights[drawn], rng)

    def _choose_penalty(self, rows: BaseRows, others: Mapping[str, FloatArray]) -> float:
        """Return the C with which the logistic regression is best stacked with the others.

        Another value than the first must be better, see `is_better`.
        """
        train, test = rows.splits[0]
        rng = np.random.RandomState(self.seed)
        train, test = (_draw(part, MAX_TRIAL_ROWS, rng) for part in (train, test))
        labels = _draw(varying_labels(rows.target.Y[train]), MAX_TRIAL_LABELS, rng)
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
            parts = {LINEAR: proba} | {
                name: own[np.ix_(test, labels)] for name, own in others.items()
            }
            return squared_errors(parts, fit_stacking_weights(parts, Y, weights), Y)

        by_value = {C: errors(C) for C in INVERSE_PENALTIES}
        for C, each in by_value.items():
            self._add(f"logistic_regression, C={C:g}, stacked (trial)", each, weights)
        first = by_value[INVERSE_PENALTIES[0]]
        best = min(by_value, key=lambda C: float(np.average(by_value[C], weights=weights)))
        return best if is_better(by_value[best], first, weights) else INVERSE_PENALTIES[0]

    def _calibrate(
        self, name: str, rows: BaseRows, validation: IntArray, proba: FloatArray
    ) -> FloatArray:
        """Return the probabilities of a classifier, calibrated if that is clearly better.

        The forest is the mean of many trees, and a regression is penalized: both predict
        probabilities far from 0 and 1 even for labels that follow from the features without error.
        """
        Y, weights = rows.target.Y[validation], rows.weights[validation]
        if Y.all() or not Y.any():
            return proba
        calibration = fit_calibration(proba, Y, weights, np.random.RandomState(self.seed))
        if calibration is None:
            return proba
        calibrated = calibration(proba)
        errors, before = (squared_errors({name: p}, {name: 1.0}, Y) for p in (calibrated, proba))
        if not is_better(errors, before, weights, MIN_CALIBRATION_GAIN):
            return proba
        self._add(f"{name}, not calibrated", before, weights)
        self.calibrations[name] = calibration
        return calibrated

    def _stack(
        self, rows: BaseRows, validation: IntArray, proba: Mapping[str, FloatArray]
    ) -> FloatArray:
        """Choose the stacking weights; return the weighted sum.

        Fewer classifiers are used unless the weighted sum of more is better, see `is_better`.
        """
        Y, weights = rows.target.Y[validation], rows.weights[validation]
        choices: list[dict[str, float]] = [{name: 1.0} for name in proba]
        for names in _sums(list(proba)):
            found = fit_stacking_weights({name: proba[name] for name in names}, Y, weights)
            if min(found.values()) > 0:
                choices.append(found)
        errors = [squared_errors(proba, choice, Y) for choice in choices]
        for choice, each in zip(choices, errors, strict=True):
            self._add(" + ".join(choice), each, weights)
        means = [float(np.average(each, weights=weights)) for each in errors]
        best = int(np.argmin(means))
        within = [k for k in range(len(choices)) if not is_better(errors[best], errors[k], weights)]
        self.weights = choices[within[0]]
        described = _described(self.weights, self.linear.C, self.calibrations)
        report(rows.owner, f"base classifiers: {described}")
        return stack(proba, self.weights)

    def _add(self, name: str, errors: FloatArray, weights: FloatArray) -> None:
        self.search["classifier"].append(name)
        self.search["loss"].append(float(np.average(errors, weights=weights)))


def squared_errors(
    proba: Mapping[str, FloatArray], stacking_weights: Mapping[str, float], Y: BoolArray
) -> FloatArray:
    """Return the mean squared error of each row over the labels."""
    error: FloatArray = np.mean((stack(proba, stacking_weights) - Y) ** 2, axis=1)
    return error


def is_better(
    first: FloatArray, second: FloatArray, weights: FloatArray, min_gain: float = MIN_GAIN
) -> bool:
    """Return whether the mean of `first` is lower by a standard error, and by a relative gain."""
    difference = second - first
    shares = weights / weights.sum()
    mean = shares @ difference
    variance = shares**2 @ (difference - mean) ** 2
    return bool(mean > max(np.sqrt(variance), min_gain * (shares @ second)))


def _at(rows: IntArray, proba: FloatArray, n_rows: int) -> FloatArray:
    """Return the probabilities of all rows, 0 for those that have none."""
    if len(rows) == n_rows:
        return proba
    found = np.zeros((n_rows, proba.shape[1]))
    found[rows] = proba
    return found


def _draw(values: IntArray, n_values: int, rng: np.random.RandomState) -> IntArray:
    """Return at most a number of values, in ascending order."""
    return values if len(values) <= n_values else np.sort(rng.permutation(values)[:n_values])


def _sums(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return all choices of two and more names, the shorter first."""
    return [chosen for n in range(2, len(names) + 1) for chosen in combinations(names, n)]


def _described(
    weights: Mapping[str, float], C: float, calibrations: Mapping[str, Calibration]
) -> str:
    parts = []
    for name, weight in weights.items():
        facts = [f"C={C:g}"] if name == LINEAR else []
        facts += ["calibrated"] if name in calibrations else []
        parts.append(f"{weight:.2f} {name}" + (f" ({'; '.join(facts)})" if facts else ""))
    return ", ".join(parts)
