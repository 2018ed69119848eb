"""The base classifier of a fit: a given one, or several that are calibrated and stacked.

`out_of_fold` returns predictions of the validation rows by models that were not trained on them;
`fit_on_all` returns the base classifier for new rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from pairmend._utils.arrays import take_rows
from pairmend._utils.classifiers import (
    PerLabelClassifier,
    for_all_labels,
    is_auto,
    seed_estimator,
    varying_labels,
)
from pairmend._utils.computing import lazy, row_chunks
from pairmend._utils.progress import report
from pairmend._utils.training import Target, relative_weights, take_params, take_present
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.forests.estimator import MultiLabelBoosting, MultiLabelForest
from pairmend.mended.base_models import (
    Calibration,
    MultiLabelKernelRidge,
    StackedBase,
    choose_parameters,
    fit_calibration,
    fit_stacking_weights,
    squared_errors,
)
from pairmend.mended.validation import ValidationRows
from pairmend.model_selection import cross_fit

LINEAR, FOREST, KERNEL = "logistic_regression", "forest", "kernel_ridge"
BOOSTING = "boosting"
INVERSE_PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Grid of the C of the logistic regression."""
FIRST = INVERSE_PENALTIES.index(1.0)
"""Where the search in this grid begins."""
FOLD_TOLERANCE = 1e-5
"""Tolerance of the solver in out-of-fold fits of the default; the errors of probabilities are of
the order of 1e-8."""
MIN_TRIAL_ROWS = 500
"""Number of test rows from which on no further split is used to compare values of C."""
MAX_PENALTY_ROWS = 20_000
"""Largest number of training rows, and of test rows, of a split on which they are compared."""
MAX_TRIAL_ROWS = 2000
"""Largest number of rows on which parameters of the kernel ridge regression are compared."""
ARRAYS = 64
"""Number of arrays of rows times labels for which memory is kept free."""
MAX_TRIAL_LABELS = 50
"""Largest number of labels for which they are compared."""
MIN_GAIN = 0.005
"""Relative decrease of the squared error below which a further classifier is not used."""
MIN_BOOSTED_ROWS = 1000
"""Smallest number of training rows for which boosting is tried."""
MIN_ROWS_PER_FEATURE = 25
"""Smallest number of them for each feature. With fewer, as on yeast and mimlimg (19 and 12), a
trial lowered the squared error by 1.0 and 0.3 %, and took 17 and 30 % of the time of a fit."""
MAX_BOOSTED_LABELS = 50
"""Largest number of labels for which it is: its time grows with them as that of no other."""
BOOSTING_TRIAL = {"rows": 10_000, "cells": 2**20, "labels": 2, "n_iter": 50}
"""Largest numbers of training rows, their cells and labels in its trial; trees of a label."""
MIN_BOOSTING_GAIN = 0.03
"""Relative decrease of the squared error in the trial below which it is not fitted."""
BOOSTING_FOLDS = 3, 2
"""Number of folds of its out-of-fold predictions: of few rows, and of MANY_ROWS or more."""
MANY_ROWS = 10_000
MIN_CALIBRATION_GAIN = 0.1
"""Relative decrease of the squared error below which probabilities are not calibrated."""
MAX_COMPARED_CELLS = 2**22
"""Largest number of probabilities by each classifier on which stacking weights are fitted."""


Splits = list[tuple[IntArray, IntArray]]


@dataclass(frozen=True)
class BaseRows:
    """What base classifiers are trained on.

    Attributes
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, in the form that base classifiers take.
    target : Target
        Labels.
    params : dict
        Parameters of `fit`.
    weights : ndarray of shape (n_samples,)
        Weights of rows; those of weight 0 are not used.
    splits : list of tuple of ndarray
        Training and test rows of each split.
    n_jobs : int or None
        Number of processes that fit on splits, and of threads that grow a forest.
    owner : object
        The classifier for which progress is reported.
    host : array-like of shape (n_samples, n_features)
        The same rows for classifiers that are trained with numpy: `X` itself, unless that is an
        array of another library.
    distance_rows : array-like of shape (n_samples, n_features), default=None
        The same rows as distances take them.
    find_nearest : callable or None, default=None
        That of `ValidationRows`.
    """

    X: Any
    target: Target
    params: dict[str, Any]
    weights: FloatArray
    splits: Splits
    n_jobs: int | None
    owner: Any
    host: Any
    distance_rows: Any = field(default=None, kw_only=True)
    find_nearest: Any = field(default=None, kw_only=True)

    def take(self, rows: IntArray) -> tuple[MatrixLike, dict[str, Any]]:
        """Return some rows, and their parameters of `fit`."""
        return take_rows(self.X, rows), take_params(self.X, self.params, rows)

    def on_host(self) -> "BaseRows":
        """Return the rows for classifiers that are trained with numpy."""
        return replace(self, X=self.host)

    @lazy
    def folds(self) -> IntArray:
        """The split in which each row is tested first, -1 for rows that no split tests."""
        folds = np.full(len(self.target.Y), -1)
        for number, (_, test) in reversed(list(enumerate(self.splits))):
            folds[test] = number
        return folds

    def validation(self, proba: Any, rows: IntArray) -> ValidationRows:
        """Return some rows with their out-of-fold probabilities, of which all rows have one."""
        parts = [self.distance_rows, self.target.Y, proba, relative_weights(self.weights)]
        parts.append(self.folds)
        if len(rows) < len(self.folds):
            parts = [take_rows(part, rows) for part in parts]
        return ValidationRows(*parts, find_nearest=self.find_nearest)

    def out_of_fold(self, model: Any, **options: Any) -> Any:
        """Fit a model on each split; return the probabilities of all rows, 0 for untested ones.

        `options` are those of the fit of a `PerLabelClassifier`.
        """
        parts = cross_fit(
            model, self.X, self.target, self.params, self.splits, method="predict_proba",
            purpose="the probabilities of labels", n_jobs=self.n_jobs, owner=self.owner,
            **options,
        )  # fmt: skip
        proba = np.zeros(self.target.Y.shape)
        for _, test in reversed(self.splits):
            # Of a row that is tested twice, the first prediction is kept.
            proba[test[::-1]] = parts.pop()[::-1]
        return np.clip(proba, 0, 1, out=proba)

    def combined(
        self, proba: Mapping[str, Any], function: Callable[[Mapping[str, FloatArray]], FloatArray]
    ) -> Any:
        """Return a function of the probabilities of all rows by several classifiers."""
        n_rows, n_labels = self.target.Y.shape
        found = np.empty((n_rows, n_labels))
        for rows in row_chunks(n_rows, ARRAYS * n_labels):
            found[rows] = function({name: each[rows] for name, each in proba.items()})
        return found

    def fit_once(self, model: Any) -> Any:
        """Fit a forest or a kernel ridge regression once, on all rows; return probabilities.

        Trees are evaluated on the rows out of their bootstrap samples, and out-of-fold predictions
        of the regression follow from that on all rows.
        """
        X, params, present = take_present(self.host, self.params, self.weights)
        Y = self.target.Y[present]
        report(self.owner, f"fitting {type(model).__name__} on {len(present)} rows")
        if isinstance(model, MultiLabelForest):
            found = model.fit_out_of_bag(X, Y, **params)
        else:
            tests = [np.searchsorted(present, test) for _, test in self.splits]
            queries = X if self.X is self.host else take_rows(self.X, present)
            found = model.fit_out_of_fold(X, Y, tests, queries=queries, **params)
        if len(present) < len(self.target.Y):
            found, proba = np.zeros(self.target.Y.shape), found
            found[present] = proba
        return found

    def fit_on_all(self, model: Any) -> Any:
        """Fit a model on all rows."""
        X, params, present = take_present(self.X, self.params, self.weights)
        per_label = isinstance(model, PerLabelClassifier)
        kind = type(model.estimator if per_label else model).__name__
        report(self.owner, f"fitting {kind} on {len(present)} rows")
        target = self.target
        return model.fit(X, target.Y[present] if per_label else target.as_given(present), **params)


class GivenBase:
    """A base classifier without alternatives: a classifier of all labels, and its name."""

    def __init__(self, model: Any, name: str):
        self.model, self.weights = model, {name: 1.0}
        self.search: dict[str, float] = {}
        self.fitted: Any = None

    def out_of_fold(self, rows: BaseRows) -> Any:
        """Return the out-of-fold probabilities of all rows."""
        if not getattr(self.model, "fits_all_labels", False):
            return rows.out_of_fold(self.model)
        self.fitted = rows.fit_on_all(self.model)
        return rows.out_of_fold(clone(self.model), start=self.fitted)

    def fit_on_all(self, rows: BaseRows) -> Any:
        """Return the classifier fitted on all rows."""
        return self.fitted or rows.fit_on_all(self.model)


def base_to_fit(
    owner: Any, base: Any, n_labels: int, seed: int, *, on_device: bool = False
) -> "GivenBase | ChosenBase":
    """Return the base classifier of a `MendedClassifier`, seeded; `base` is the one it is given."""
    if is_auto(owner.estimator):
        return ChosenBase(base, seed, fits_once=isinstance(owner.cv, Integral))
    seeded = seed_estimator(base, seed)
    model = PerLabelClassifier(seeded) if on_device else for_all_labels(seeded, n_labels)
    return GivenBase(model, type(base).__name__)


class ChosenBase:
    """Logistic regression, random forest, kernel ridge regression and boosting, stacked.

    Attributes
    ----------
    weights : dict of float
        Stacking weights.
    calibrations : dict of Calibration
        Calibrations of the probabilities, for classifiers that need one.
    search : dict of float
        What was compared: the Brier score of the predictions, by the name of the classifier.
    """

    def __init__(self, linear: ScaledLogisticRegression, seed: int, *, fits_once: bool):
        self.linear = linear
        self.models: dict[str, Any] = {
            FOREST: MultiLabelForest(random_state=seed),
            KERNEL: MultiLabelKernelRidge(random_state=seed),
            BOOSTING: MultiLabelBoosting(random_state=seed),
        }
        self.seed = seed
        self.fits_once = fits_once
        self.weights: dict[str, float] = {}
        self.calibrations: dict[str, Calibration] = {}
        self.search: dict[str, float] = {}

    def out_of_fold(self, rows: BaseRows) -> Any:
        """Choose calibrations and weights; return stacked out-of-fold probabilities of all rows."""
        self.models[FOREST].set_params(n_jobs=rows.n_jobs)
        self.models[KERNEL].set_params(**self._kernel_parameters(rows))
        # Without splits of the user's own, these are fitted only once.
        fit = rows.fit_once if self.fits_once else rows.on_host().out_of_fold
        proba = {name: fit(self.models[name]) for name in (FOREST, KERNEL)}
        best = self._choose_penalty(rows, proba)
        self.linear = clone(self.linear).set_params(C=best)
        self.models[LINEAR] = rows.fit_on_all(PerLabelClassifier(self.linear))
        options = {"start": self.models[LINEAR], "tolerance": FOLD_TOLERANCE}
        linear = rows.out_of_fold(PerLabelClassifier(self.linear), **options)
        proba = {LINEAR: linear, **proba}
        n_rows = max(1, MAX_COMPARED_CELLS // len(rows.target.classes))
        rng = np.random.RandomState(self.seed)
        drawn = _draw(np.flatnonzero(rows.folds >= 0), n_rows, rng)
        found = {name: self._calibrate(name, rows, drawn, p[drawn]) for name, p in proba.items()}
        self._stack(rows, drawn, found)
        if self._promises_gain(rows.on_host(), proba):
            splits = merged_splits(rows.splits) if self.fits_once else rows.splits
            boosted = replace(rows.on_host(), splits=splits).out_of_fold(self.models[BOOSTING])
            found[BOOSTING] = self._calibrate(BOOSTING, rows, drawn, boosted[drawn])
            proba[BOOSTING] = boosted
            self._stack(rows, drawn, found)
        stacked = StackedBase({}, self.weights, self.calibrations)
        return rows.combined({name: proba[name] for name in self.weights}, stacked.combine)

    def fit_on_all(self, rows: BaseRows) -> StackedBase:
        """Fit the classifiers of positive weight on all rows."""
        models = {name: self.models[name] for name in self.weights}
        for name in models:
            if name == BOOSTING or (name != LINEAR and not self.fits_once):
                models[name] = rows.on_host().fit_on_all(models[name])
        used = {name: each for name, each in self.calibrations.items() if name in models}
        return StackedBase(models, self.weights, used)

    def _kernel_parameters(self, rows: BaseRows) -> dict[str, float]:
        """Return the parameters of the kernel ridge regression, chosen on some rows."""
        rng = np.random.RandomState(self.seed)
        drawn = rng.permutation(rows.splits[0][0])[:MAX_TRIAL_ROWS]
        labels = _draw(varying_labels(rows.target.Y[drawn]), MAX_TRIAL_LABELS, rng)
        if not len(labels):
            return {}
        Y = rows.target.Y[np.ix_(drawn, labels)]
        X, _ = rows.on_host().take(drawn)
        return choose_parameters(X, Y, rows.weights[drawn], rng)

    def _choose_penalty(self, rows: BaseRows, others: Mapping[str, Any]) -> float:
        """Return the C with which the logistic regression is best stacked with the others.

        See `least_error`.
        """
        rng = np.random.RandomState(self.seed)
        n_tested = np.cumsum([0, *(len(test) for _, test in rows.splits)])
        n_splits = np.searchsorted(n_tested[1:-1], MIN_TRIAL_ROWS) + 1
        splits = [
            [_draw(part, MAX_PENALTY_ROWS, rng) for part in s] for s in rows.splits[:n_splits]
        ]
        varying = [varying_labels(rows.target.Y[train]) for train, _ in splits]
        labels = _draw(reduce(np.intersect1d, varying), MAX_TRIAL_LABELS, rng)
        tests = np.concatenate([test for _, test in splits])
        if not len(labels) or not len(tests):
            return INVERSE_PENALTIES[FIRST]
        Y, weights = rows.target.Y[np.ix_(tests, labels)], rows.weights[tests]
        given = {name: own[tests][:, labels] for name, own in others.items()}
        trials = []
        for train, test in splits:
            (X, params), (X_test, _) = rows.take(train), rows.take(test)
            own = rows.target.Y[np.ix_(train, labels)]
            trials.append(clone(self.linear)._trial(X, own, X_test, **params))

        def errors(C: float) -> FloatArray:
            parts = {LINEAR: np.concatenate([proba(C) for proba in trials]), **given}
            each = squared_errors(parts, fit_stacking_weights(parts, Y, weights), Y)
            self._add(f"logistic_regression, C={C:g}, stacked (trial)", each, weights)
            return each

        return least_error(errors, weights)

    def _promises_gain(self, rows: BaseRows, others: Mapping[str, Any]) -> bool:
        """Return whether boosting clearly improves the weighted sum of the others, in a trial.

        It is the only one that uses all of many rows. Trees need dense rows.
        """
        (train, test), rng = rows.splits[0], np.random.RandomState(self.seed)
        values: Any = getattr(rows.X, "values", rows.X)  # those of an encoded frame
        n_features = np.shape(values)[-1]
        is_large = len(train) >= max(MIN_BOOSTED_ROWS, MIN_ROWS_PER_FEATURE * n_features)
        most = min(BOOSTING_TRIAL["rows"], BOOSTING_TRIAL["cells"] // max(1, n_features))
        train, test = _draw(train, most, rng), _draw(test, MAX_TRIAL_ROWS, rng)
        labels = _draw(varying_labels(rows.target.Y[train]), BOOSTING_TRIAL["labels"], rng)
        is_small = rows.target.Y.shape[1] <= MAX_BOOSTED_LABELS and not sparse.issparse(rows.X)
        if not (is_large and is_small and len(test) and len(labels)):
            return False
        Y, weights = rows.target.Y[np.ix_(test, labels)], rows.weights[test]
        (X_train, params), (X_test, _) = rows.take(train), rows.take(test)
        model = clone(self.models[BOOSTING]).set_params(n_iter=BOOSTING_TRIAL["n_iter"])
        model.fit(X_train, rows.target.Y[np.ix_(train, labels)], **params)
        proba = {name: own[test][:, labels] for name, own in others.items()}
        stacked = StackedBase({}, self.weights, self.calibrations)
        parts = {"others": stacked.combine(proba)}
        parts[BOOSTING] = model.predict_proba(X_test)
        choices = {"others": 1.0}, fit_stacking_weights(parts, Y, weights)
        errors = [squared_errors(parts, choice, Y) for choice in choices]
        for name, each in zip(("without", "with"), errors, strict=True):
            self._add(f"stacked {name} boosting (trial)", each, weights)
        return is_better(errors[1], errors[0], weights, MIN_BOOSTING_GAIN)

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

    def _stack(self, rows: BaseRows, validation: IntArray, proba: Mapping[str, FloatArray]) -> None:
        """Choose the stacking weights.

        Fewer classifiers are used unless the weighted sum of more is better, see `is_better`.
        """
        Y, weights = rows.target.Y[validation], rows.weights[validation]
        choices: list[dict[str, float]] = [{name: 1.0} for name in proba]
        for names in (each for n in range(2, len(proba) + 1) for each in combinations(proba, n)):
            found = fit_stacking_weights({name: proba[name] for name in names}, Y, weights)
            if min(found.values()) > 0:
                choices.append(found)
        errors = [squared_errors(proba, choice, Y) for choice in choices]
        for choice, each in zip(choices, errors, strict=True):
            self._add(" + ".join(choice), each, weights)
        means = [float(np.average(each, weights=weights)) for each in errors]
        best = int(np.argmin(means))
        within = [k for k in range(len(choices)) if not is_better(errors[best], errors[k], weights)]
        self.weights = choices[min(within, key=lambda k: (len(choices[k]), means[k]))]
        listed = ", ".join(f"{weight:.2f} {name}" for name, weight in self.weights.items())
        report(rows.owner, f"base classifiers: {listed}")

    def _add(self, name: str, errors: FloatArray, weights: FloatArray) -> None:
        self.search[name] = float(np.average(errors, weights=weights))


def least_error(errors: Callable[[float], FloatArray], weights: FloatArray) -> float:
    """Return the C of least error, given a function of C that returns the errors of rows.

    From the first value of the grid on, smaller ones are tried as long as they lower the mean, or
    else larger ones as long as they are clearly better, see `is_better`: a fit with little penalty
    takes longer, and depends more on single rows. The result is where a parabola through the means
    at the value that is found and beside it is least, at most halfway to the next value.
    """
    found: dict[int, FloatArray] = {}

    def at(place: int) -> FloatArray:
        if place not in found:
            is_inside = 0 <= place < len(INVERSE_PENALTIES)
            unknown = np.full(len(weights), np.inf)
            found[place] = errors(INVERSE_PENALTIES[place]) if is_inside else unknown
        return found[place]

    def mean(place: int) -> float:
        return float(np.average(at(place), weights=weights))

    best = FIRST
    while mean(best - 1) < mean(best):
        best -= 1
    if best == FIRST:
        while np.isfinite(mean(best + 1)) and is_better(at(best + 1), at(best), weights):
            best += 1
    below, here, above = (mean(best + step) for step in (-1, 0, 1))
    is_curved = np.isfinite(below + above) and below + above > 2 * here
    shift = (below - above) / (below + above - 2 * here) / 2 if is_curved else 0.0
    return float(f"{INVERSE_PENALTIES[best] * 10 ** (np.clip(shift, -0.5, 0.5) / 2):.2g}")


def is_better(
    first: FloatArray, second: FloatArray, weights: FloatArray, min_gain: float = MIN_GAIN
) -> bool:
    """Return whether the mean of `first` is lower by a standard error, and by a relative gain."""
    difference = second - first
    shares = weights / weights.sum()
    mean = shares @ difference
    variance = shares**2 @ (difference - mean) ** 2
    return bool(mean > max(np.sqrt(variance), min_gain * (shares @ second)))


def merged_splits(splits: Splits) -> Splits:
    """Return a few splits that test the same rows."""
    tests = [test for _, test in splits]
    rows = np.sort(np.concatenate(tests))
    n_folds = min(BOOSTING_FOLDS[len(rows) >= MANY_ROWS], len(tests))
    merged = [np.sort(np.concatenate(tests[k::n_folds])) for k in range(n_folds)]
    return [(np.setdiff1d(rows, test), test) for test in merged]


def _draw(values: IntArray, n_values: int, rng: np.random.RandomState) -> IntArray:
    """Return at most a number of values, in ascending order."""
    return values if len(values) <= n_values else np.sort(rng.permutation(values)[:n_values])
