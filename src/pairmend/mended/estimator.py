"""MendedClassifier: parameters, defaults, fit, predict, predict_proba."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from pairmend._base import MultiLabelClassifier, same_parameters
from pairmend._utils import arrays
from pairmend._utils.classifiers import (
    PerLabelClassifier,
    check_base_classifier,
    is_auto,
    label_scores,
    new_seed,
)
from pairmend._utils.progress import report
from pairmend._utils.sklearn_private import (
    HAS_ARRAY_API,
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
)
from pairmend._utils.training import Target, check_target, route_fit_params
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike, TargetLike
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.explanation.evidence import background_rows
from pairmend.kernels.pairs import sum_to_one
from pairmend.mended import device
from pairmend.mended.base import BaseRows, ChosenBase, GivenBase, base_to_fit
from pairmend.mended.base_models import StackedBase
from pairmend.mended.corrector import CorrectedProba, Correction, Corrector, Decision
from pairmend.mended.explain import MendedExplain
from pairmend.mended.rows import SCALINGS, RowEncoder
from pairmend.mended.search import choose_decision, decision_kinds, find_metric, fit_corrector
from pairmend.mended.validation import MAX_LANDMARKS
from pairmend.model_selection import split_rows


class MendedClassifier(MendedExplain, MultiLabelClassifier):
    """Multi-label classifier for tables and short texts, with corrected probabilities.

    Use it for hundreds to a million rows with up to some hundred labels, or to correct a
    classifier whose errors differ between regions of the features. Compare it with gradient
    boosting, and correct that, if many features interact. Use other models for images, long texts
    and thousands of labels.

    Each training row is predicted by a model that was not trained on it. Local fuzzy confusion
    matrices [1]_ of these predictions, in which near rows weigh more, correct the probability of
    each label.

    Parameters
    ----------
    estimator : "auto", classifier or None, default="auto"
        Base classifier with ``predict_proba``. "auto" compares a logistic regression, a random
        forest, a kernel ridge regression and their weighted sums, and on many dense rows gradient
        boosting, where a trial promises a clear gain. None means
        :class:`~pairmend.base_classifiers.ScaledLogisticRegression`.
    criterion : {"hamming", "zero_one", "macro_f1", "micro_f1"}, str or scorer, default="hamming"
        Metric by which the decision is chosen; also any scorer of scikit-learn.
    cv : int, splitter or iterable, default=5
        Splits for the out-of-fold predictions; an int is the number of folds of a
        :class:`~pairmend.model_selection.MultilabelStratifiedKFold`.
    decision : {"auto", "labels", "sets"}, default="auto"
        Whether to use a threshold for each label, or to predict the most likely label set seen in
        training. "auto" compares both by the metric.
    threshold : "auto", float or threshold, default="auto"
        A number, or an object of :mod:`pairmend.thresholds`: ``FixedThreshold``,
        ``CardinalityThreshold``, ``F1Thresholds``, ``BatchF1Thresholds``, ``TopLabels``,
        ``NeverEmpty``, and with a guarantee ``RecallControl`` and ``PrecisionControl``. "auto"
        compares those that suit the metric.
    max_landmarks : int or None, default=2500
        Largest number of rows that a predicted row is compared with; None means all.
    transformer : transformer, default=None
        Turns rows into numbers for distances. None encodes frames by a
        :class:`~pairmend.frames.FrameEncoder`; one with other parameters is used for the default
        base classifier, too.
    verbose : bool or int, default=False
        Whether to print the progress of ``fit``.
    n_jobs : int, default=None
        Number of processes that fit the base classifier on the splits.
    random_state : int, RandomState or None, default=None
        Shuffles the rows before they are split, and seeds base classifiers.

    Other Parameters
    ----------------
    beta : "auto" or float, default="auto"
        Inverse squared bandwidth of the Gaussian weights, exp(-beta * distance^2).
    scaling : {"auto", "range", "standard", "unit", "log_odds"}, default="auto"
        Space of the distances: features divided by their range or standard deviation, rows of
        length 1, or log-odds of the base classifier. "auto" combines those that suit the rows.
    shrinkage : "auto" or float, default="auto"
        Mass of the global confusion matrix in each local one; that of the nearest row is 1.

    Attributes
    ----------
    estimator_ : classifier
        The base classifier, fitted on all rows.
    base_weights_ : dict of float
        Weights of the base classifiers by name.
    base_search_ : dict of ndarray
        The base classifiers that were compared.
    frame_encoder_ : FrameEncoder or None
        The encoder of frames.
    beta_ : dict of float
        The chosen beta by scaling.
    stacking_weights_ : dict of float
        Weights of the uncorrected probability and of the corrections.
    label_set_weights_ : dict of float
        Weights of the probabilities of "labels" and of those by label "sets".
    decision_ : {"labels", "sets", "classes"}
        The chosen decision; "classes" after a fit on 1-D classes.
    threshold_ : threshold or None
        The fitted threshold; None unless ``decision_`` is "labels".
    search_ : dict of ndarray
        The corrections that were compared.
    decisions_ : dict of ndarray
        The decisions that were compared.
    validation_indices_ : ndarray of int
        Training rows with an out-of-fold prediction.
    landmark_indices_ : ndarray of int
        Training rows that are landmarks.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels, or their numbers.
    multilabel_ : bool
        Whether fit saw label indicators, not 1-D classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if fit saw a frame.

    See Also
    --------
    CorrectedPairwiseClassifier : The correction of [1]_ for pairs of labels.
    ThresholdedClassifier : Any multi-label classifier with a threshold of choice.

    Notes
    -----
    `criterion`, `decision` and `threshold` take effect at prediction; after a change of other
    parameters ``fit`` is needed.

    An array of which at most 5 % of the cells are not 0 counts as sparse rows.

    With sample weights, one row is the smallest weight such that rows with weights up to it hold
    at least 2 % of the total weight. Rows that weigh less than a millionth of that are left out.

    References
    ----------
    .. [1] Trajdos, P., Kurzynski, M. (2018). A correction method of a binary classifier applied to
       multi-label pairwise models. International Journal of Neural Systems 28(9), 1750062.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pairmend import MendedClassifier
    >>> rng = np.random.RandomState(0)
    >>> X = pd.DataFrame({"blue": rng.rand(200), "place": rng.choice(["coast", "town"], 200)})
    >>> Y = pd.DataFrame({"sea": X["place"] == "coast", "sun": X["blue"] > 0.5}).astype(int)
    >>> clf = MendedClassifier(criterion="micro_f1", random_state=0).fit(X, Y)
    >>> new = pd.DataFrame({"blue": [0.1, 0.9], "place": ["coast", "town"]})
    >>> pd.DataFrame(clf.predict(new), columns=clf.classes_)
       sea  sun
    0    1    0
    1    0    1
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [StrOptions({"auto"}), HasMethods(["fit"]), None],
        "criterion": [str, callable],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), "array-like",
               Iterator],
        "decision": [StrOptions({"auto", "labels", "sets"})],
        "threshold": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"),
                      HasMethods(["fit", "decide"])],
        "max_landmarks": [Interval(Integral, 2, None, closed="left"), None],
        "transformer": [HasMethods(["fit", "transform"]), None],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "beta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "scaling": [StrOptions({"auto", *SCALINGS})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    }  # fmt: skip

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {
        "estimator": ScaledLogisticRegression
    }
    prediction_parameters: ClassVar[tuple[str, ...]] = ("criterion", "decision", "threshold")
    """Parameters that take effect at prediction: changing them needs no new fit."""
    _label_parameters = ("criterion", "decision", "threshold")
    _array_attribute = "validation_indices_"
    _row_numbers = ("validation_indices_",)
    _numpy_attributes = ("classes_", "search_", "base_search_")

    def __init__(
        self,
        estimator: Any = "auto",
        *,
        criterion: Any = "hamming",
        cv: Any = 5,
        decision: str = "auto",
        threshold: Any = "auto",
        max_landmarks: int | None = MAX_LANDMARKS,
        transformer: Any = None,
        verbose: bool | int = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        beta: str | float = "auto",
        scaling: str = "auto",
        shrinkage: str | float = "auto",
    ):
        self.estimator = estimator
        self.criterion = criterion
        self.cv = cv
        self.decision = decision
        self.threshold = threshold
        self.max_landmarks = max_landmarks
        self.transformer = transformer
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.beta = beta
        self.scaling = scaling
        self.shrinkage = shrinkage

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: TargetLike, **fit_params: Any) -> Self:
        """Fit the base classifier, and its correction on out-of-fold predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, in any form that the base classifier takes.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1; the tags of each row, as lists or sets of strings; or a
            1-D array of classes.
        **fit_params : dict
            Parameters of the base classifier's ``fit``, or with metadata routing those it
            requests. ``sample_weight`` also weights the rows in every choice.

        Returns
        -------
        self
            Fitted classifier.
        """
        start = perf_counter()
        given, namespace = X, arrays.foreign_namespace(X)
        if namespace is None:
            X = arrays.check_training_rows(X)
        else:
            given, X, y, fit_params = device.rows_of_device(self, X, y, fit_params, namespace)
        target = check_target(self, X, y, min_labels=1)
        base = self._checked_base()
        params, row_weights = route_fit_params(self, base, X, fit_params)
        encoder = RowEncoder.fit(self, X, row_weights, base)
        host_rows, distance_rows = encoder.encode(X)
        base_rows, n_jobs, find_nearest = host_rows, self.n_jobs, None
        if namespace is not None:
            base_rows, n_jobs = namespace.xp.astype(given, namespace.float64), None
            base = device.base_for_arrays(base, mostly_zeros=encoder.means is not None)
            find_nearest = partial(device.nearest_on_device, namespace)
        rng = check_random_state(self.random_state)
        on_device = namespace is not None
        chosen = base_to_fit(self, base, len(target.classes), new_seed(rng), on_device=on_device)
        splits = split_rows(self.cv, X, target, row_weights > 0, new_seed(rng))
        # Each of 1-D classes is a label, of which every row has one.
        labels = replace(target, multilabel=True)
        training = BaseRows(
            base_rows, labels, params, row_weights, splits, n_jobs, self, host_rows,
            distance_rows=distance_rows, find_nearest=find_nearest,
        )  # fmt: skip
        fitted = self._fit_rows(training, chosen, target, encoder, rng)
        if namespace is not None:
            numbers = "validation_indices_", "landmark_indices_"
            fitted |= {name: namespace.asarray(fitted[name]) for name in numbers}
        report(self, f"fitted in {perf_counter() - start:.1f} s")
        return self._set_fitted(given, target, **fitted)

    def _fit_rows(
        self,
        training: BaseRows,
        base: GivenBase | ChosenBase,
        target: Target,
        encoder: RowEncoder,
        rng: np.random.RandomState,
    ) -> dict[str, Any]:
        """Return the fitted attributes. Rows may be in blocks; of `target` the classes are used."""
        proba = base.out_of_fold(training)
        rows = np.flatnonzero(training.folds >= 0)
        if len(rows) < 2:
            raise ValueError(
                f"n_samples = {len(rows)} in the test parts of the splits; the correction needs "
                "out-of-fold predictions of at least 2 rows. Pass a cv with larger test parts."
            )
        validation = training.validation(proba, rows)
        corrector, search, out_of_fold, landmarks = fit_corrector(self, validation, target, rng)
        del validation, proba  # before the largest training
        decision: tuple[Decision, list[Decision]] = (Decision("classes", None, np.nan), [])
        if target.multilabel:
            decision = choose_decision(self, out_of_fold, corrector.label_sets)
            chosen, n_compared = decision[0], len(decision[1])
            described = f"{chosen.kind!r} with {chosen.threshold or 'label sets'}"
            loss = f"loss {chosen.loss:.4f} by {self.criterion!r}"
            report(self, f"decision: {described}; {loss}; {n_compared} compared")
        corrections = corrector.by_label.corrections.items()
        threshold = clone(self.threshold, safe=False)  # set_params changes it in place
        names, losses = list(base.search), list(base.search.values())
        return {
            "estimator_": base.fit_on_all(training),
            "base_weights_": base.weights,
            "base_search_": {"classifier": np.array(names, np.str_), "loss": np.array(losses)},
            "frame_encoder_": encoder.encoder,
            "validation_indices_": rows,
            "landmark_indices_": rows[landmarks],
            "beta_": {name: each.beta for name, each in corrections if name != "global"},
            "stacking_weights_": dict(corrector.by_label.stacking_weights),
            "search_": {
                field.name: np.array([getattr(each, field.name) for each in search])
                for field in fields(Correction)
            },
            "_row_encoder": encoder,
            "_corrector": corrector,
            "_out_of_fold": out_of_fold,
            "_fitted_decision": decision,
            "_fitted_parameters": (self.criterion, self.decision, threshold),
            **self._background(training, rows[landmarks]),
        }

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            0 or 1. After a fit on 1-D classes: shape (n_samples,), the most likely class.
        """
        return self._labels_and_proba(X)[0]

    def _labels_and_proba(self, X: MatrixLike) -> tuple[np.ndarray[Any, Any], FloatArray]:
        self._check_namespace(X, "predict")
        decision, _ = self._decision()
        corrected = self._corrected(X)
        proba = corrected.proba if self.multilabel_ else sum_to_one(corrected.proba)
        if decision.kind == "classes":
            best = np.argmax(corrected.proba, axis=1)
            labels = np.asarray(arrays.as_numpy(self.classes_))[best]
        else:
            labels = decision.decide(corrected.proba, corrected.by_label)
        return arrays.like_rows(labels, X), arrays.like_rows(proba, X)

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the corrected probabilities of labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            After a fit on 1-D classes they are scaled to sum to 1 in each row.
        """
        self._check_namespace(X, "predict_proba")
        proba = self._scores(X)
        return arrays.like_rows(proba if self.multilabel_ else sum_to_one(proba), X)

    @property
    def label_set_weights_(self) -> dict[str, float]:
        """Stacking weights of the probabilities of "labels" and of the marginals of "sets"."""
        check_is_fitted(self)
        return dict(self._current_corrector().label_set_weights)

    @property
    def decision_(self) -> str:
        """The chosen decision: "labels", "sets", or "classes" after a fit on 1-D classes."""
        return self._decision()[0].kind

    @property
    def threshold_(self) -> Any:
        """The fitted threshold; None unless ``decision_`` is "labels"."""
        return self._decision()[0].threshold

    @property
    def decisions_(self) -> dict[str, np.ndarray[Any, Any]]:
        """All decisions that were compared, with their losses by the metric."""
        _, candidates = self._decision()
        listed: dict[str, list[Any]] = {"decision": [each.kind for each in candidates]}
        listed["threshold"] = [repr(each.threshold) for each in candidates]
        for name in ("lift_exponent", "local_exponent"):
            listed[name] = [getattr(each.label_sets, name, np.nan) for each in candidates]
        listed["loss"] = [each.loss for each in candidates]
        return {name: np.array(values) for name, values in listed.items()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = self._base_classifier()
        is_own = type(base) is ScaledLogisticRegression
        tags.array_api_support = HAS_ARRAY_API and (is_own or get_tags(base).array_api_support)
        return tags

    def _base_classifier(self) -> Any:
        """Return the unfitted base classifier; the logistic regression stands for "auto"."""
        return ScaledLogisticRegression() if is_auto(self.estimator) else self._part("estimator")

    def _checked_base(self) -> Any:
        """Return the unfitted base classifier, and refuse parameters before training."""
        base = self._base_classifier()
        check_base_classifier(base)
        find_metric(self)
        decision_kinds(self.decision, self.threshold)
        return base

    def _background(self, training: BaseRows, landmarks: IntArray) -> dict[str, Any]:
        """Return the attributes of rows that explanations compare with, none for other forms."""
        if arrays.is_frame(training.X):
            return {}
        rows, _ = training.take(np.sort(landmarks))
        drawn = background_rows(rows)
        if drawn is None:
            return {}
        with np.errstate(invalid="ignore"):  # of a feature without any value
            scaler = StandardScaler().fit(drawn)  # scaled, as landmarks are
        return {"_background_rows": (scaler.transform(drawn), scaler)}

    @property
    def _is_movable(self) -> bool:
        takes_arrays = get_tags(self).array_api_support and self.frame_encoder_ is None
        return takes_arrays and type(self.estimator_) in (PerLabelClassifier, StackedBase)

    def _decision(self) -> tuple[Decision, list[Decision]]:
        """Return the best decision for the current parameters, and all candidates."""
        if self._check_parameters() or not self.multilabel_:
            return self._fitted_decision
        return choose_decision(self, self._out_of_fold, self._corrector.label_sets)

    def _check_parameters(self) -> bool:
        """Check the parameters of the decision, after fit; return whether they are those of fit."""
        if not hasattr(self, "_fitted_parameters"):
            check_is_fitted(self)
        given = self.criterion, self.decision, self.threshold
        if same_parameters(self._fitted_parameters, given):  # fit has checked them
            return True
        self._check_prediction_parameters()
        return False

    def _current_corrector(self) -> Corrector:
        """Return the corrector, with or without label sets by the current `decision`."""
        if self.decision == "labels":
            return self._corrector.without_label_sets()
        return self._corrector

    def _scores(self, X: MatrixLike) -> FloatArray:
        self._check_parameters()
        return self._corrected(X).proba

    def _corrected(self, X: MatrixLike) -> CorrectedProba:
        corrector, namespace = self._current_corrector(), arrays.foreign_namespace(X)
        X = arrays.check_features(self, X)
        if namespace is None:
            base_rows, distance_rows = self._row_encoder.encode(X)
            return corrector.corrected_proba(distance_rows, self._base_proba(base_rows))
        X = arrays.check_device_rows(X, namespace)
        proba = self._base_proba(namespace.xp.astype(X, namespace.float64))
        scalings = corrector.by_label.scalings.values()
        if any(each.neighbourhood._affine_map() is None for each in scalings):
            _, rows = self._row_encoder.encode(namespace.numpy(X).astype(np.float64))
            return corrector.corrected_proba(rows, proba)
        by_label = device.corrected_on_device(corrector.by_label, X, proba, namespace)
        return corrector.with_label_sets(by_label, None)

    def _base_proba(self, X: MatrixLike) -> FloatArray:
        """Return the base classifier's probabilities of checked rows."""
        scores = label_scores(self.estimator_, X, "predict_proba", len(self.classes_))
        return np.clip(scores, 0, 1)
