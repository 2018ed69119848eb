"""Encoding the columns of pandas and polars frames as numbers."""

from pairmend.frames.encoder import FrameEncoder
from pairmend.frames.kinds import ColumnSummary, ColumnWarning

__all__ = ["ColumnSummary", "ColumnWarning", "FrameEncoder"]
