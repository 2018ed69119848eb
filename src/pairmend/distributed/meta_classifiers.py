"""ThresholdedClassifier and the baselines on Dask collections."""

from typing import Any

import dask
import numpy as np
from dask import delayed
from sklearn.utils import check_random_state

from pairmend._base import MultiLabelClassifier
from pairmend._utils.fit_params import fit_with_weights
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.validation import new_seed
from pairmend._utils.weights import all_equal
from pairmend.distributed.base_training import (
    fit_on_worker,
    is_trained_by_blocks,
    scores_of_block,
    take_over,
    train_on_splits,
)
from pairmend.distributed.training_rows import SplitBlock, TrainingRows
from pairmend.mended.rows import RowEncoder
from pairmend.thresholds.classifier import ThresholdedClassifier, scoring_method

NO_ENCODER = RowEncoder(None, for_base=False, for_distances=False)


def fit_meta_classifier(
    classifier: MultiLabelClassifier, X: Any, y: Any, sample_weight: Any
) -> Any:
    """Fit block by block if that is possible, else with all rows on a worker."""
    rows = TrainingRows.read(classifier, classifier._base_classifier(), X, y, sample_weight)
    if not is_trained_by_blocks(classifier, rows):
        return take_over(classifier, fit_on_worker(classifier, rows))
    (fitted,) = train_on_splits(classifier, rows, NO_ENCODER, rows.target, purpose="labels")
    return take_over(classifier, fitted)


def fit_thresholded(
    classifier: ThresholdedClassifier, X: Any, y: Any, sample_weight: Any
) -> ThresholdedClassifier:
    """Fit the threshold on out-of-fold scores, which are gathered, and the classifier."""
    rows = TrainingRows.read(classifier, classifier.estimator, X, y, sample_weight)
    if not rows.target.multilabel:
        fitted: ThresholdedClassifier = take_over(classifier, fit_on_worker(classifier, rows))
        return fitted
    method = scoring_method(classifier)
    rows = rows.split(classifier.cv, new_seed(check_random_state(classifier.random_state)))
    *models, final = train_on_splits(
        classifier.estimator, rows, NO_ENCODER, rows.indicators, purpose="scores for a threshold"
    )
    task = delayed(models, pure=False, traverse=False)
    parts = dask.compute(*(delayed(_scores)(block, task, method) for block in rows.blocks()))
    scores, Y, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    given = scores, Y.astype(np.int64)
    threshold = fit_with_weights(
        classifier._unfitted_threshold(), given, None if all_equal(weights) else weights
    )
    classifier._set_fitted(
        rows.X.like, rows.target, estimator_=final, threshold_=threshold, _method=method
    )
    return classifier


def _scores(
    block: SplitBlock, models: list[Any], method: str
) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Return the out-of-fold scores of a block, labels and weights, split after split."""
    every = np.ones(len(block.Y), dtype=bool)
    tests, parts, _ = scores_of_block(block, models, NO_ENCODER, method, every)
    rows: IntArray = np.concatenate(tests)
    weights = np.ones(len(block.Y)) if block.weights is None else block.weights
    return np.concatenate(parts), block.Y[rows], weights[rows]
