"""The whole recipe in one line: any classifier, mended by how it errs nearby."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.fit_params import route_fit_params, take_params
from pairmend._utils.parameters import DefaultParts, same_parameters
from pairmend._utils.predictions import label_scores
from pairmend._utils.sklearn_private import (
    HasMethods,
    Interval,
    StrOptions,
    check_prediction_parameters,
    count_rows,
    fit_context,
)
from pairmend._utils.targets import Target, check_target
from pairmend._utils.typing import FloatArray, MatrixLike, TargetLike
from pairmend._utils.validation import (
    check_base_classifier,
    check_features,
    check_training_rows,
    new_seed,
    remember_features,
    seed_estimator,
    take_rows,
)
from pairmend._utils.weights import relative_weights
from pairmend.base_classifiers import logistic_regression
from pairmend.baselines import BinaryRelevance
from pairmend.explanation import Explanation
from pairmend.frames.encoder import takes_encoded_frames
from pairmend.kernels.ranking import sum_to_one
from pairmend.kernels.rrc import REFERENCES
from pairmend.mended.corrector import Choices, Mender, learn_to_mend
from pairmend.mended.decisions import Chances, Decision, LeftOut, choose_decision, thresholds_for
from pairmend.mended.distances import SCALINGS, fit_scalings
from pairmend.mended.explain import explain_rows
from pairmend.mended.losses import LOSSES, Judge
from pairmend.mended.rows import RowReader
from pairmend.mended.search import SHRINKAGES, Correction
from pairmend.mended.validation_set import Evidence
from pairmend.model_selection.out_of_fold import cross_fit, split_rows
from pairmend.thresholds.strategies import FixedThreshold

COMPETING_REFERENCES = ("identity", "beta")


class MendedClassifier(DefaultParts, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Multi-label classification with a base classifier of choice, mended where it errs.

    Each label's probability is corrected by what the base classifier says of similar rows
    against what is true of them: the local fuzzy confusion matrices of Trajdos and Kurzynski
    (2018), of one problem a label. How local, in which scaling, how far shrunken towards the
    errors everywhere, how much the correction counts next to no correction, and how
    probabilities become labels, is all chosen on the training rows: each is asked of
    classifiers that did not see it, and left out of its own neighbourhood. The classifier to
    start with.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``. One that takes label indicators (a forest, a
        classifier of this library) is trained on all labels at once; any other is cloned for
        each label. None means :class:`~pairmend.base_classifiers.ScaledLogisticRegression`, whose
        parameters can be set and searched like those of any other, as ``estimator__C``.
    criterion : {"hamming", "zero_one", "macro_f1", "micro_f1"}, str or scorer, default="hamming"
        What predictions are to be good at: the decision is chosen by it. Any other name is that
        of a scorer of scikit-learn, such as "jaccard_samples"; or pass a scorer, such as
        :func:`sklearn.metrics.make_scorer` makes.
    cv : int, splitter or iterable, default=5
        The splits by which rows are asked of classifiers that did not see them. An int is the
        number of folds of a :class:`~pairmend.model_selection.MultilabelStratifiedKFold`. Rows
        that are in no test part do not help to mend; of several, the first counts.
    beta : "auto" or float, default="auto"
        How fast the weight of a row falls with its squared distance.
    scaling : {"auto", "range", "standard", "unit", "supports"}, default="auto"
        How distances are measured: features divided by their range or standard deviation,
        rows brought to length 1, or the log-odds of the base classifier's probabilities in
        place of features. "auto" blends the ones that suit: of sparse rows "unit" and
        "supports", of others all but "unit".
    shrinkage : "auto" or float, default="auto"
        How much the errors everywhere count next to those of the neighbours, the nearest of
        which counts 1.
    reference : {"auto", "beta", "constrained", "identity", "crisp"}, default="auto"
        How a probability becomes a decision that is right or wrong; see
        :class:`CorrectedPairwiseClassifier`. "auto" lets "identity" and "beta" compete.
    decision : {"auto", "labels", "sets"}, default="auto"
        Whether labels are decided on one by one; or the most likely of the label sets seen in
        training is predicted. With "labels", label sets do not influence probabilities either.
    threshold : "auto", float or threshold, default="auto"
        What probabilities must exceed if labels are decided on one by one: a number, or an
        object of :mod:`pairmend.thresholds`.
    guard : bool, default=True
        Whether no correction and one that is the same everywhere compete, too, and labels with
        few rows are mended less. If not, the best local correction is taken as it is.
    transformer : transformer, default=None
        Makes numbers of rows for distances: any scikit-learn transformer. For texts or images,
        or to read frames in another way. None reads frames by a
        :class:`~pairmend.frames.FrameEncoder`, for distances and for the default base alike.
    n_jobs : int, default=None
        Number of processes that train on the splits.
    random_state : int, RandomState or None, default=None
        Shuffles the rows before they are split, and seeds the base classifiers whose own
        ``random_state`` is None.

    Attributes
    ----------
    estimator_ : classifier
        The base classifier, trained on all rows: for all labels.
    frame_encoder_ : FrameEncoder or None
        What reads frames for distances and for the default base; ``frame_encoder_.columns_``
        lists how each column was read. None after a fit on anything else than a frame, and where
        neither needs it.
    beta_ : dict of float
        The chosen beta by scaling.
    blend_ : dict of float
        How much each opinion counts: "uncorrected", "global", the scalings.
    sets_blend_ : dict of float
        How much labels taken "alone" and seen label "sets" count.
    dependence_ : float
        How much it counts that a label set was seen more often than by chance.
    decision_ : {"labels", "sets"}
        How labels are decided on; "classes" after a fit on 1-D classes.
    threshold_ : threshold or None
        The fitted threshold; None unless labels are decided on one by one.
    search_ : dict of ndarray
        All corrections that were tried: "scaling", "beta", "shrinkage", "reference", and
        "loss", the Brier score on rows left out.
    decisions_ : dict of ndarray
        All decisions that competed: "decision", "threshold" and "loss", by the criterion.
    validation_indices_ : ndarray of int
        Rows that help to mend.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels: the columns of a frame, else their numbers; after a fit on 1-D
        classes, the classes.
    multilabel_ : bool
        Whether fit saw label indicators, not 1-D classes.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if fit saw a frame with string names.

    See Also
    --------
    CorrectedPairwiseClassifier : The paper's correction, of pairs of labels.

    Notes
    -----
    The base classifier is trained once more than there are splits. The choices need no further
    training and cost less than that.

    `criterion`, `decision` and `threshold`, with the parameters of a threshold object, take effect
    at prediction: after ``set_params`` on a fitted classifier it predicts as after a new ``fit``
    with these parameters. All other parameters need a new ``fit``.

    Shrinkage and other masses count in rows. With sample weights, one row is the smallest weight
    such that rows with weights up to it hold at least 2 % of the total weight: all weights times a
    constant change nothing, if the base classifier has that property. Rows that weigh less than a
    millionth of it are left out, as rows of weight 0 are. A row is left out of its own
    neighbourhood with all of its weight. Range scaling takes the range of all other rows, whatever
    they weigh; a `transformer` gets no weights. A scorer as `criterion` gets weights if it takes
    them.

    References
    ----------
    Trajdos, P., Kurzynski, M. (2018). A correction method of a binary classifier applied to
    multi-label pairwise models. International Journal of Neural Systems 28(9), 1750062.

    Examples
    --------
    >>> from pairmend import MendedClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = MendedClassifier(criterion="micro_f1", random_state=0).fit(X, Y)
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 1, 1, 1], [0, 0, 1, 0, 0]]
    >>> clf.predict_proba(X[:1]).round(2).tolist()
    [[0.11, 0.22, 0.53, 0.75, 0.81]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), None],
        "criterion": [str, callable],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), "array-like",
               Iterator],
        "beta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "scaling": [StrOptions({"auto", *SCALINGS})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "reference": [StrOptions({"auto", *REFERENCES})],
        "decision": [StrOptions({"auto", "labels", "sets"})],
        "threshold": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"),
                      HasMethods(["fit", "decide"])],
        "guard": ["boolean"],
        "transformer": [HasMethods(["fit", "transform"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }  # fmt: skip

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {"estimator": logistic_regression}
    prediction_parameters: ClassVar[tuple[str, ...]] = ("criterion", "decision", "threshold")
    """Parameters that take effect at prediction: changing them needs no new fit."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        criterion: Any = "hamming",
        cv: Any = 5,
        beta: str | float = "auto",
        scaling: str = "auto",
        shrinkage: str | float = "auto",
        reference: str = "auto",
        decision: str = "auto",
        threshold: Any = "auto",
        guard: bool = True,
        transformer: Any = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.criterion = criterion
        self.cv = cv
        self.beta = beta
        self.scaling = scaling
        self.shrinkage = shrinkage
        self.reference = reference
        self.decision = decision
        self.threshold = threshold
        self.guard = guard
        self.transformer = transformer
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: TargetLike, **fit_params: Any) -> Self:
        """Train the base classifier, and learn from rows left out how to mend it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: whatever the base classifier takes.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1, or a 1-D array of classes.
        **fit_params : dict
            Parameters of the base classifier's ``fit``; those with one value a row, such as
            ``sample_weight``, are cut to the rows of each split. With metadata routing
            enabled, those the base classifier requests. Sample weights also weigh the
            validation rows in every choice: corrections, stacking weights, label sets,
            thresholds and decisions.

        Returns
        -------
        self
        """
        X = check_training_rows(X)
        target = check_target(self, X, y, min_labels=1)
        base = self._base_classifier()
        check_base_classifier(base)
        self._find_criterion()
        params, row_weights = route_fit_params(self, base, X, fit_params)
        present, weights = np.flatnonzero(row_weights > 0), relative_weights(row_weights)
        reader = RowReader.fit(
            X, row_weights, for_base=takes_encoded_frames(base),
            for_distances=self.transformer is None and self.scaling != "supports",
            is_optional=self.scaling == "auto",
        )  # fmt: skip
        base_rows, distance_rows = reader.read(X)
        rng = check_random_state(self.random_state)
        model = _for_all_labels(seed_estimator(base, new_seed(rng)), len(target.classes))

        # Indicators, also of 1-D classes: each class is a label.
        labels = target if target.multilabel else _as_labels(target)
        splits = split_rows(self.cv, X, target, row_weights > 0, new_seed(rng))
        parts = cross_fit(
            model, base_rows, labels, params, splits, method="predict_proba",
            purpose="the supports of labels", n_jobs=self.n_jobs,
        )  # fmt: skip
        scored = np.concatenate([np.empty(0, dtype=np.int64), *(test for _, test in splits)])
        # A row must not stay in its own neighbourhood because it was scored twice.
        rows, first = np.unique(scored, return_index=True)
        if len(rows) < 2:
            raise ValueError(
                f"n_samples = {len(rows)} in the test parts of the splits; mending needs at "
                "least 2 rows that classifiers did not see."
            )
        fold = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])[first]
        evidence = Evidence.of(
            target.Y[rows], np.clip(np.concatenate(parts)[first], 0, 1), weights[rows],
            COMPETING_REFERENCES if self.reference == "auto" else (self.reference,),
        )  # fmt: skip
        scalings = fit_scalings(
            self.scaling, self.transformer, take_rows(distance_rows, rows), evidence.supports,
            target.as_given(rows), weights[rows],
        )  # fmt: skip
        choices = Choices(
            beta=None if self.beta == "auto" else float(self.beta),
            shrinkages=SHRINKAGES if self.shrinkage == "auto" else (float(self.shrinkage),),
            guard=self.guard,
            with_sets=target.multilabel,
        )
        mender, search, judged, counts, chances = learn_to_mend(evidence, scalings, choices, rng)
        folds = [np.flatnonzero(fold[judged] == number) for number in np.unique(fold[judged])]
        left_out = LeftOut(evidence.Y[judged], counts, folds, chances)
        p_decide: tuple[Decision, list[Decision]] = (Decision("classes", None, np.nan), [])
        if target.multilabel:
            p_decide = self._choose_decision(left_out, mender)
        rows_to_fit = base_rows
        if len(present) < count_rows(X):
            rows_to_fit = take_rows(base_rows, present)
            params = take_params(X, params, present)
        model.fit(rows_to_fit, labels.as_given(present), **params)

        # Nothing of an earlier fit is touched before all went well.
        remember_features(self, X)
        self.classes_, self.multilabel_ = target.classes, target.multilabel
        self.estimator_, self.validation_indices_ = model, rows
        self._reader, self.frame_encoder_ = reader, reader.encoder
        self._mender, self._left_out = mender, left_out
        self._p_decide, self._decided_by = p_decide, self._decision_parameters()
        self.beta_ = {
            name: found.beta for name, found in mender.corrections.items() if name != "global"
        }
        self.blend_ = dict(mender.blend)
        self.search_ = _columns(search)
        return self

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
        decision, _ = self._decision()
        chances = self._chances(X)
        if decision.kind == "classes":
            return np.asarray(self.classes_[np.argmax(chances.labels, axis=1)])
        if decision.kind == "sets":
            return self._current_mender().sets.most_likely(chances.alone)
        return np.asarray(decision.threshold.decide(chances.labels))

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the mended probabilities of labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            After a fit on 1-D classes they are scaled to sum to 1 in each row.
        """
        probabilities = self._chances(X).labels
        return probabilities if self.multilabel_ else sum_to_one(probabilities)

    @property
    def sets_blend_(self) -> dict[str, float]:
        """Weights of labels taken "alone" and of label "sets" in the probabilities of labels."""
        check_is_fitted(self)
        return dict(self._current_mender().sets_blend)

    @property
    def dependence_(self) -> float:
        """How much it counts that a label set was seen more often than by chance."""
        check_is_fitted(self)
        return self._current_mender().sets.dependence

    @property
    def decision_(self) -> str:
        """How labels are decided on: "labels", "sets", or "classes" after a fit on 1-D classes."""
        return self._decision()[0].kind

    @property
    def threshold_(self) -> Any:
        """The fitted threshold; None unless labels are decided on one by one."""
        return self._decision()[0].threshold

    @property
    def decisions_(self) -> dict[str, np.ndarray[Any, Any]]:
        """All decisions that competed: "decision", "threshold" and "loss", by the criterion."""
        _, candidates = self._decision()
        return {
            "decision": np.array([candidate.kind for candidate in candidates]),
            "threshold": np.array([repr(candidate.threshold) for candidate in candidates]),
            "loss": np.array([candidate.loss for candidate in candidates]),
        }

    def explain(
        self, X: MatrixLike, *, n_neighbors: int = 5, n_problems: int | None = None
    ) -> list[Explanation]:
        """Explain predictions: who says what of each label, why, and how that adds up.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, few of them: all labels of all rows are looked at.
        n_neighbors : int, default=5
            How many rows that help to mend are listed for a label and a scaling, those that
            weigh most, by their positions among the rows given to fit.
        n_problems : int, default=None
            How many local corrections of a row to explain, those that moved most; None means
            one for each label and each scaling that counts.

        Returns
        -------
        list of Explanation
            One for each row: data that also come as text (``print``), as frames
            (``to_frame``) and as a figure (:func:`pairmend.plots.plot_explanation`). Steps add
            up to ``predict_proba``; "before" is the base classifier's probability, decided on
            in the same way.
        """
        check_is_fitted(self)
        base_rows, distance_rows = self._reader.read(check_features(self, X))
        return explain_rows(
            self, distance_rows, self._supports(base_rows),
            n_neighbors=n_neighbors, n_problems=n_problems,
        )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(self._base_classifier())
        tags.classifier_tags.multi_label = True
        tags.input_tags = base.input_tags
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Say where extra parameters of fit go: to the base classifier's fit.

        Returns
        -------
        MetadataRouter
        """
        return MetadataRouter(owner=self).add(
            estimator=self._base_classifier(),
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def _base_classifier(self) -> Any:
        return self._part("estimator")

    def _find_criterion(self) -> Any:
        """Return the name of a loss, or a scorer."""
        if callable(self.criterion):
            return check_scoring(self, self.criterion)
        if self.criterion in LOSSES:
            return self.criterion
        try:
            return get_scorer(self.criterion)
        except ValueError as error:
            raise ValueError(
                f"criterion={self.criterion!r} is neither one of {', '.join(map(repr, LOSSES))} "
                "nor the name of a scorer of scikit-learn, which "
                "sklearn.metrics.get_scorer_names() lists."
            ) from error

    def _decision(self) -> tuple[Decision, list[Decision]]:
        """Return the decision that is best by the parameters as they are now, and its rivals."""
        check_is_fitted(self)
        check_prediction_parameters(self)
        if not self.multilabel_ or same_parameters(self._decided_by, self._decision_parameters()):
            return self._p_decide
        return self._choose_decision(self._left_out, self._mender)

    def _decision_parameters(self) -> tuple[Any, ...]:
        """Return the values of the parameters that a decision depends on.

        A threshold is copied, because ``set_params`` changes its parameters in place.
        """
        return self.criterion, self.decision, clone(self.threshold, safe=False)

    def _current_mender(self) -> Mender:
        """Return the fitted correction, with or without label sets as `decision` is now."""
        return self._mender.without_sets() if self.decision == "labels" else self._mender

    def _choose_decision(
        self, left_out: LeftOut, mender: Mender
    ) -> tuple[Decision, list[Decision]]:
        criterion = self._find_criterion()
        if isinstance(self.threshold, str):
            thresholds = thresholds_for(criterion)
        elif isinstance(self.threshold, Real):
            thresholds = [FixedThreshold(float(self.threshold))]
        else:
            thresholds = [clone(self.threshold)]
        kinds = ("labels", "sets") if self.decision == "auto" else (self.decision,)
        judge = Judge(criterion, left_out.Y, left_out.folds, left_out.weights)
        chances = left_out.chances
        if self.decision == "labels":
            chances = chances.without_sets()
        return choose_decision(kinds, thresholds, judge, chances, mender.sets)

    def _chances(self, X: MatrixLike) -> Chances:
        check_is_fitted(self)
        check_prediction_parameters(self)
        base_rows, distance_rows = self._reader.read(check_features(self, X))
        return self._current_mender().chances(distance_rows, self._supports(base_rows))

    def _supports(self, X: MatrixLike) -> FloatArray:
        """Return what the base classifier says of rows that were checked."""
        supports = label_scores(self.estimator_, X, "predict_proba", len(self.classes_))
        return np.clip(supports, 0, 1)


def _for_all_labels(base: Any, n_labels: int) -> Any:
    """Return a classifier of all labels: the base itself if it can, else one clone a label.

    One label alone is no multi-label problem to most classifiers that take indicators.
    """
    tags = get_tags(base).classifier_tags
    if tags is not None and tags.multi_label and n_labels > 1:
        return base
    # The base is seeded already; a seed here keeps numpy's global generator out of it.
    return BinaryRelevance(base, random_state=0)


def _as_labels(target: Target) -> Target:
    """Return 1-D classes as labels of which each row carries one."""
    return replace(target, multilabel=True)


def _columns(records: Sequence[Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return records as one array for each of their fields."""
    names = [field.name for field in fields(Correction)]
    return {name: np.array([getattr(record, name) for record in records]) for name in names}
