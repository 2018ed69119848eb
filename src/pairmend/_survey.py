"""What is known of features before any class is looked at."""

from dataclasses import dataclass

import numpy as np

from pairmend._cells import Cells
from pairmend._frames import FrameEncoder
from pairmend._typing import BoolArray, FloatArray, IntArray, Matrix


@dataclass(frozen=True)
class FeatureSurvey:
    """What a naive Bayes ensemble finds out about its features once.

    Attributes
    ----------
    categorical : ndarray of bool, shape (d,)
        Features whose values are counted; the others are numeric.
    values : ndarray
        Values of the categorical features, feature after feature, ascending in each.
    offsets : ndarray of shape (d + 1,)
        ``values[offsets[f]:offsets[f + 1]]`` are those of feature ``f``.
    floor : ndarray of shape (d,)
        Smallest standard deviation of a numeric feature: one sixth of the mean gap between
        neighbouring distinct values.
    subspaces : ndarray of shape (n_subspaces, size)
        Features of each subspace.
    encoder : FrameEncoder or None
        How frames with categorical columns are read.
    """

    categorical: BoolArray
    values: FloatArray
    offsets: IntArray
    floor: FloatArray
    subspaces: IntArray
    encoder: FrameEncoder | None

    def positions(self, features: IntArray, values: FloatArray) -> IntArray:
        """Find values of categorical features in the list of all of them.

        Parameters
        ----------
        features : ndarray of shape (n_cells,)
            Feature of each cell.
        values : ndarray of shape (..., n_cells)
            Values to look up.

        Returns
        -------
        ndarray of shape (..., n_cells)
            Positions in ``values``; ``len(values)`` for a missing or unknown value.
        """
        low, end = self.offsets[features], self.offsets[features + 1]
        high = end
        # A binary search in each cell's own part of the list, all cells at once.
        for _ in range(int(np.max(end - low, initial=0)).bit_length()):
            middle = (low + high) // 2
            searching = low < high
            right = searching & (self._padded[middle] < values)
            low = np.where(right, middle + 1, low)
            high = np.where(searching & ~right, middle, high)
        found = (low < end) & (self._padded[low] == values)
        return np.where(found, low, len(self.values))

    @property
    def _padded(self) -> FloatArray:
        return np.append(self.values, np.nan)


def survey_features(
    X: Matrix,
    *,
    declared: BoolArray,
    count_two_valued: bool,
    subspaces: IntArray,
    encoder: FrameEncoder | None,
) -> FeatureSurvey:
    """Find out the kind, the values and the floor of each feature.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
        Rows; NaN is a missing value.
    declared : ndarray of bool, shape (d,)
        Features known to be categorical.
    count_two_valued : bool
        Whether features with at most two distinct values are categorical, too.
    subspaces : ndarray of shape (n_subspaces, size)
        Features of each subspace.
    encoder : FrameEncoder or None
        How X was read from a frame, if it was; its categories count as values even where
        they do not occur.

    Returns
    -------
    FeatureSurvey
    """
    n_features = X.shape[1]
    feature, value = _distinct(Cells.of(X))
    count = np.bincount(feature, minlength=n_features)
    end = np.cumsum(count)
    present = count > 0
    low, high = np.zeros(n_features), np.zeros(n_features)
    low[present], high[present] = value[(end - count)[present]], value[end[present] - 1]
    gap = (high - low) / np.maximum(count - 1, 1)
    # A constant feature says nothing whatever its floor is, so any number will do.
    floor = np.where(count > 1, np.maximum(gap / 6, np.finfo(float).tiny), 1.0)

    categorical = declared | (count_two_valued & (count <= 2))
    lists = np.split(value, end[:-1])
    if encoder is not None:
        for f, categories in enumerate(encoder.categories):
            if categories is not None:
                lists[f] = np.arange(len(categories), dtype=float)
    lists = [found if kept else found[:0] for found, kept in zip(lists, categorical, strict=True)]
    return FeatureSurvey(
        categorical=categorical,
        values=np.concatenate(lists),
        offsets=np.concatenate([[0], np.cumsum([len(found) for found in lists])]),
        floor=floor,
        subspaces=subspaces,
        encoder=encoder,
    )


def _distinct(cells: Cells) -> tuple[IntArray, FloatArray]:
    """List the distinct values of each feature, ascending, missing ones left out."""
    feature, value = cells.column, cells.value
    if cells.implicit_zeros:
        with_zero = np.flatnonzero(np.bincount(feature, minlength=cells.shape[1]) < cells.shape[0])
        feature = np.concatenate([feature, with_zero])
        value = np.concatenate([value, np.zeros(len(with_zero))])
    known = ~np.isnan(value)
    feature, value = feature[known], value[known]
    order = np.lexsort((value, feature))
    feature, value = feature[order], value[order]
    new = np.ones(len(feature), dtype=bool)
    new[1:] = (feature[1:] != feature[:-1]) | (value[1:] != value[:-1])
    return feature[new], value[new]
