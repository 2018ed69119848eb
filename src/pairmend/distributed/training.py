"""Training on Dask collections."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import dask
import numpy as np
from dask import delayed

from pairmend._base import MultiLabelClassifier
from pairmend._utils.chunking import batches
from pairmend._utils.sklearn_private import check_params
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import check_base_classifier
from pairmend.distributed.blocks import (
    Block,
    Collection,
    aligned,
    pair_up,
    read_target,
    rows_of,
    sizes_of,
    stack,
)
from pairmend.distributed.mended import fit_mended
from pairmend.distributed.meta_classifiers import fit_meta_classifier, fit_thresholded
from pairmend.distributed.subspace_nb import train_subspace_nb
from pairmend.kernels.pairs import LabelRows
from pairmend.mended.estimator import MendedClassifier
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.base import TrainingInput
from pairmend.pairwise.calibrated import CalibratedLabelRanking
from pairmend.pairwise.corrected import CorrectedPairwiseClassifier
from pairmend.pairwise.learners import GenericPairLearner, PairLearner, ValidationLearner
from pairmend.pairwise.voting import PairwiseClassifier
from pairmend.thresholds.classifier import ThresholdedClassifier

TASKS = 64
"""Number of tasks for the training of pairs, at the most."""

Classifier = TypeVar("Classifier", bound=MultiLabelClassifier)


def fit(classifier: Classifier, X: Any, y: Any, *, sample_weight: Any = None) -> Classifier:
    """Fit a classifier on Dask collections.

    The result is an ordinary fitted classifier. How it is trained depends on the base classifier:

    - Pairwise classifiers with :class:`~pairmend.RandomSubspaceNB` (the default): rows stay on the
      workers, which compute the feature statistics and sums of their blocks. Sums are added in a
      tree, so supports differ from those of a local fit by rounding, less than 1e-9. With any
      other base classifier, pairs are distributed over the workers, each of which needs all rows.
    - :class:`~pairmend.MendedClassifier`, :class:`~pairmend.ThresholdedClassifier` and
      :class:`~pairmend.BinaryRelevance` with a base classifier that has ``partial_fit``, such as
      ``SGDClassifier(loss="log_loss")``: it is trained block by block, in one pass over the
      blocks, as by calls of ``partial_fit`` on one block after the other. With RandomSubspaceNB
      they are trained from sums over blocks. A classifier of all labels is trained block by block
      if it is an ``MLPClassifier`` or a ``MultiOutputClassifier`` of scikit-learn.
    - Everything else: each training is a task on a worker that needs all rows in memory, and a
      copy of those it trains on. If an estimate of their size exceeds the memory limit of a worker,
      a MemoryError is raised before training. The result is that of a local fit, to rounding.

    Parameters
    ----------
    classifier : classifier of pairmend
        The classifier to fit.
    X : dask array or dataframe of shape (n_samples, n_features)
        Rows; chunks of an array may be scipy's CSR. Columns of a dataframe that are encoded must
        be numbers, or categories that are known (``X.categorize()``). It is computed several
        times: call ``X.persist()`` if that is expensive and the cluster has the memory.
    y : dask array, dataframe or series
        Label indicators of shape (n_samples, n_labels), or 1-D classes, in the same blocks of
        rows as X.
    sample_weight : dask array, series or array-like of shape (n_samples,), default=None
        Weights of rows; they are held in the memory of this process. Pairwise classifiers do not
        take them here.

    Returns
    -------
    classifier
        The same object, fitted.

    Notes
    -----
    Splits of a MendedClassifier or a ThresholdedClassifier: row numbers that `cv` gives are used as
    they are, so that a fit equals a local one with the same splits. If `cv` is an int, folds are
    drawn in each block, from ``random_state`` and the number of the block: rows are shuffled within
    each label set, and dealt to the folds in turn, so that the rows of a set in a block differ
    between two folds by at most one. A splitter object gets all labels in the memory of this
    process.

    This process holds a few numbers for each row (row numbers and weights), the landmarks and the
    rows on which corrections are compared. Other out-of-fold probabilities are computed on the
    workers, added to the sums of the landmarks, and dropped. A ThresholdedClassifier holds the
    out-of-fold scores of all rows, a CorrectedPairwiseClassifier its validation rows (with
    cross-fitting, all rows).

    With RandomSubspaceNB, distinct values of numeric features are counted exactly, which moves all
    distinct values of a feature to one worker, for a part of the features at a time.

    Examples
    --------
    >>> import dask.array as da
    >>> from pairmend import PairwiseClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> rows, labels = (da.from_array(part, chunks=(40, -1)) for part in (X, Y))
    >>> clf = fit(PairwiseClassifier(random_state=0), rows, labels)
    >>> here = PairwiseClassifier(random_state=0).fit(X, Y)
    >>> bool(abs(clf.predict_proba(X) - here.predict_proba(X)).max() < 1e-9)
    True
    """
    if not isinstance(classifier, MultiLabelClassifier):
        raise TypeError(
            "fit on Dask collections takes a classifier of pairmend, got "
            f"{type(classifier).__name__}. Wrap it, as in BinaryRelevance(...)."
        )
    check_params(classifier, classifier.get_params(deep=False))
    if isinstance(
        classifier, PairwiseClassifier | CalibratedLabelRanking | CorrectedPairwiseClassifier
    ):
        if sample_weight is not None:
            raise ValueError(
                f"{type(classifier).__name__} takes no sample_weight on Dask collections. Leave "
                "it out, or call the classifier's own fit."
            )
        return _fit_pairwise(classifier, X, y)
    if isinstance(classifier, MendedClassifier):
        return fit_mended(classifier, X, y, sample_weight)
    if isinstance(classifier, ThresholdedClassifier):
        return fit_thresholded(classifier, X, y, sample_weight)
    return fit_meta_classifier(classifier, X, y, sample_weight)


def _fit_pairwise(classifier: Any, X: Any, y: Any) -> Any:
    """Fit a pairwise classifier."""
    check_base_classifier(classifier._base_classifier())
    rows = Collection.of(X, "X")
    labels = Collection.of(aligned(X, y), "y")
    target = read_target(classifier, labels, min_labels=classifier._min_labels)
    blocks = pair_up(rows, labels, None if target.multilabel else target.classes)
    if isinstance(classifier, CorrectedPairwiseClassifier):
        sizes = rows.sizes or sizes_of(blocks)
        problem = classifier._training_input(rows.like, target, {}, np.ones(sum(sizes)))
        remote = _RemoteRows(classifier, problem, blocks, sizes)
        classifier._fit_parts(problem, remote.take, remote.train, remote.validation_learner)
        return classifier
    problem = classifier._training_input(rows.like, target, {}, np.ones(0))
    learner = _train(classifier, problem, blocks)
    return classifier._set_fitted(problem.X, target, pairs_=problem.pairs, learner_=learner)


def _train(classifier: Any, problem: TrainingInput, blocks: list[Any]) -> PairLearner:
    """Train the pairs on blocks of rows."""
    base, pairs, how = problem.base, problem.pairs, {"seed": problem.seed}
    if type(base) is RandomSubspaceNB:
        return train_subspace_nb(base, blocks, problem.X, pairs, n_jobs=classifier.n_jobs, **how)
    rows = delayed(stack)(blocks)
    model = delayed(base, pure=False, traverse=False)
    size = -(-len(pairs) // TASKS)
    parts = dask.compute(
        *(
            delayed(_train_pairs)(model, rows, pairs[part], problem.seed)
            for part in batches(len(pairs), size)
        )
    )
    learner = GenericPairLearner(base, n_jobs=classifier.n_jobs, **how)
    return learner.set_models(pairs, [model for models in parts for model in models])


def _train_pairs(base: Any, rows: Block, pairs: IntArray, seed: int) -> list[Any]:
    return GenericPairLearner(base, n_jobs=1, seed=seed).fit(*rows, pairs, {}).models_


@dataclass(frozen=True)
class _RemoteRows:
    """Training and validation rows of a corrected classifier in delayed blocks."""

    classifier: CorrectedPairwiseClassifier
    problem: TrainingInput
    blocks: list[Any]
    sizes: list[int]

    def take(self, rows: IntArray) -> tuple[MatrixLike, BoolArray]:
        blocks, _ = rows_of(self.blocks, self.sizes, rows)
        return stack(dask.compute(*blocks))

    def train(self, rows: IntArray) -> PairLearner:
        blocks, _ = rows_of(self.blocks, self.sizes, rows)
        return _train(self.classifier, self.problem, blocks)

    def validation_learner(self, learner: PairLearner, rows: IntArray) -> ValidationLearner:
        return _RemoteSupports(learner, *rows_of(self.blocks, self.sizes, rows))


@dataclass(frozen=True)
class _RemoteSupports:
    """Predicts the supports of a learner at rows in delayed blocks."""

    learner: PairLearner
    blocks: list[Any]  # delayed
    counts: IntArray  # numbers of rows of the blocks

    def folded_supports_at(self, X: MatrixLike, label_rows: LabelRows) -> FloatArray:
        """Return the folded supports for labels at the rows that have them; X is not used."""
        learner = delayed(self.learner, pure=False, traverse=False)
        n_labels = label_rows.n_labels
        parts = dask.compute(
            *(delayed(_folded_supports_at)(learner, block, n_labels) for block in self.blocks)
        )
        out = np.empty((len(label_rows.rows), n_labels))
        for (start, stop), part in zip(self._spans(), parts, strict=True):
            _, chosen = label_rows.among(np.arange(start, stop), int(self.counts.sum()))
            out[chosen] = part
        return out

    def _spans(self) -> Iterator[tuple[int, int]]:
        ends = np.cumsum(self.counts)
        return zip(ends - self.counts, ends, strict=True)


def _folded_supports_at(learner: PairLearner, block: Block, n_labels: int) -> FloatArray:
    has_virtual = block.Y.shape[1] < n_labels
    return learner.folded_supports_at(block.X, LabelRows.of(block.Y, has_virtual=has_virtual))
