"""Training on Dask collections."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import dask
import numpy as np
from dask import delayed

from pairmend._utils.chunking import batches
from pairmend._utils.sklearn_private import check_params
from pairmend._utils.targets import Target, check_target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import check_base_classifier
from pairmend.distributed.blocks import (
    Block,
    Collection,
    aligned,
    in_a_tree,
    pair_up,
    rows_of,
    sizes_of,
    stack,
)
from pairmend.distributed.subspace_nb import train_subspace_nb
from pairmend.kernels.pairs import LabelRows
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.base import PairwiseVoting, TrainingInput
from pairmend.pairwise.calibrated import CalibratedLabelRanking
from pairmend.pairwise.corrected import CorrectedPairwiseClassifier
from pairmend.pairwise.learners import GenericPairLearner, PairLearner, ValidationLearner
from pairmend.pairwise.voting import PairwiseClassifier

TASKS = 64
"""Number of tasks for the training of pairs, at the most."""

Classifier = TypeVar("Classifier", bound=PairwiseVoting)


def fit(classifier: Classifier, X: Any, y: Any) -> Classifier:
    """Fit a classifier on Dask collections.

    The result is an ordinary fitted classifier, equal to that of its own ``fit`` on the same rows.
    With :class:`~pairmend.RandomSubspaceNB` (the default) as the base classifier, rows stay on
    the workers, which compute the feature statistics and sums of their blocks. Sums are added in a
    tree, so supports differ from those of a local fit by rounding, less than 1e-9. With any other
    base classifier, pairs are distributed over workers, each of which needs all training rows in
    memory; the trained classifiers are the same.

    Parameters
    ----------
    classifier : PairwiseClassifier, CalibratedLabelRanking or CorrectedPairwiseClassifier
        The classifier to fit. The validation rows of a CorrectedPairwiseClassifier are part of
        it, so these (with cross-fitting, all rows) must fit into the memory of this process.
    X : dask array or dataframe of shape (n_samples, n_features)
        Rows; chunks of an array may be scipy's CSR. Categories of a dataframe must be known
        (``X.categorize()``). It is computed several times: call ``X.persist()`` if that is
        expensive and the cluster has the memory.
    y : dask array, dataframe or series
        Label indicators of shape (n_samples, n_labels), or 1-D classes, in the same blocks of
        rows as X.

    Returns
    -------
    classifier
        The same object, fitted.

    Notes
    -----
    Sample weights and other parameters of a base classifier's ``fit`` are not supported here.
    Distinct values of numeric features are counted exactly, which moves all distinct values of a
    feature to one worker, for a part of the features at a time.

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
    if not isinstance(
        classifier, PairwiseClassifier | CalibratedLabelRanking | CorrectedPairwiseClassifier
    ):
        raise TypeError(
            "fit on Dask collections takes a PairwiseClassifier or a CorrectedPairwiseClassifier, "
            f"got {type(classifier).__name__}."
        )
    check_params(classifier, classifier.get_params(deep=False))
    check_base_classifier(classifier._base_classifier())
    rows = Collection.of(X, "X")
    labels = Collection.of(aligned(X, y), "y")
    target = _read_target(classifier, labels)
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


def _read_target(classifier: PairwiseVoting, labels: Collection) -> Target:
    """Return the target's labels, which are its columns, or the classes in its rows."""
    if labels.like.ndim == 2:
        least = classifier._min_labels
        return check_target(classifier, labels.like, labels.like, min_labels=least)
    found = in_a_tree(_union_of_classes, [delayed(np.unique)(block) for block in labels.blocks])
    classes = found.compute()
    return check_target(classifier, classes, classes)


def _union_of_classes(parts: list[Any]) -> Any:
    return np.unique(np.concatenate(parts))


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

    def support_at(self, X: MatrixLike, label_rows: LabelRows) -> FloatArray:
        """Return the supports for labels at the rows that have them; X is not used."""
        learner = delayed(self.learner, pure=False, traverse=False)
        n_labels = label_rows.n_labels
        parts = dask.compute(
            *(delayed(_support_at)(learner, block, n_labels) for block in self.blocks)
        )
        out = np.empty((len(label_rows.rows), n_labels))
        for (start, stop), part in zip(self._spans(), parts, strict=True):
            _, chosen = label_rows.among(np.arange(start, stop), int(self.counts.sum()))
            out[chosen] = part
        return out

    def _spans(self) -> Iterator[tuple[int, int]]:
        ends = np.cumsum(self.counts)
        return zip(ends - self.counts, ends, strict=True)


def _support_at(learner: PairLearner, block: Block, n_labels: int) -> FloatArray:
    has_virtual = block.Y.shape[1] < n_labels
    return learner.support_at(block.X, LabelRows.of(block.Y, has_virtual=has_virtual))
