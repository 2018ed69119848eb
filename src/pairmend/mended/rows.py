"""Encoding of rows for the base classifier and for distances."""

import warnings
from dataclasses import dataclass

import numpy as np

from pairmend._utils.frames import is_frame
from pairmend._utils.typing import FloatArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.frames import ColumnWarning, FrameEncoder


@dataclass(frozen=True)
class RowEncoder:
    """Encodes frames once for the base classifier and for distances; other rows are unchanged.

    Attributes
    ----------
    encoder : FrameEncoder or None
        None if fit saw no frame, or if neither needs encoded rows.
    for_base, for_distances : bool
        Whether the base classifier and distances take encoded rows.
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
    ) -> "RowEncoder":
        """Fit an encoder on the rows of positive weight, if it is needed.

        If it `is_optional` for distances and the base classifier does not need it, a frame that
        cannot be encoded leads to a warning instead of an error.
        """
        if not is_frame(X) or not (for_base or for_distances):
            return cls(None, for_base, for_distances)
        try:
            encoder = FrameEncoder().fit(take_rows(X, np.flatnonzero(row_weights > 0)))
        except ValueError as error:
            if for_base or not is_optional:
                raise
            warnings.warn(
                "Distances between rows are measured by predicted probabilities only, because "
                f"the features cannot be read: {error} Or pass transformer=...",
                ColumnWarning,
                stacklevel=3,
            )
            return cls(None, for_base, for_distances)
        return cls(encoder, for_base, for_distances)

    def encode(self, X: MatrixLike) -> tuple[MatrixLike, MatrixLike]:
        """Return rows for the base classifier, and rows for distances."""
        if self.encoder is None:
            return X, X
        encoded = self.encoder.encode(X)
        return encoded if self.for_base else X, encoded if self.for_distances else X
