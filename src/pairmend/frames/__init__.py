"""Reading frames: how each column of a pandas or polars frame becomes numbers."""

from pairmend.frames.encoder import FrameEncoder
from pairmend.frames.kinds import ColumnSummary, ColumnWarning

__all__ = ["ColumnSummary", "ColumnWarning", "FrameEncoder"]
