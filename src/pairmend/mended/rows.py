"""Rows as the base classifier takes them, and as distances between rows take them."""

import warnings
from dataclasses import dataclass

import numpy as np

from pairmend._utils.frames import is_frame
from pairmend._utils.typing import FloatArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.frames import ColumnWarning, FrameEncoder


@dataclass(frozen=True)
class RowReader:
    """Encodes frames once for all that needs them encoded, and leaves other rows as they are.

    Attributes
    ----------
    encoder : FrameEncoder or None
        What reads frames; None if rows are no frame, or nothing needs them encoded.
    for_base : bool
        Whether the base classifier takes encoded rows.
    for_distances : bool
        Whether distances do.
    """

    encoder: FrameEncoder | None
    for_base: bool
    for_distances: bool

    @classmethod
    def fit(
        cls,
        X: MatrixLike,
        row_weights: FloatArray,
        *,
        for_base: bool,
        for_distances: bool,
        is_optional: bool,
    ) -> "RowReader":
        """Decide how the columns of a frame are read.

        Parameters
        ----------
        X : array-like or DataFrame
            Rows.
        row_weights : ndarray of shape (n,)
            Their weights; rows of weight 0 count as if they were not there.
        for_base, for_distances : bool
            Whether the base classifier and distances need encoded rows.
        is_optional : bool
            Whether distances between rows can do without features. A frame that cannot be read
            then leads to a warning, if the base classifier does not need it.
        """
        if not is_frame(X) or not (for_base or for_distances):
            return cls(None, for_base, for_distances)
        try:
            encoder = FrameEncoder().fit(take_rows(X, np.flatnonzero(row_weights > 0)))
        except ValueError as error:
            if for_base or not is_optional:
                raise
            warnings.warn(
                "Distances between rows are measured by predicted probabilities alone, because "
                f"the features cannot be read: {error} Or pass transformer=...",
                ColumnWarning,
                stacklevel=3,
            )
            return cls(None, for_base, for_distances)
        return cls(encoder, for_base, for_distances)

    def read(self, X: MatrixLike) -> tuple[MatrixLike, MatrixLike]:
        """Return rows as the base classifier takes them, and as distances do."""
        if self.encoder is None:
            return X, X
        encoded = self.encoder.encode(X)
        return encoded if self.for_base else X, encoded if self.for_distances else X
