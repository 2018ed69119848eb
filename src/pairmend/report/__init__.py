"""Report of a study, or of losses from elsewhere: an HTML page, its tables and its figures.

`summarise` computes data frames, ``sections`` arranges them as tables and figures, and ``writing``
writes these.
"""

from pairmend.report.losses_table import compare_losses
from pairmend.report.summary import summarise
from pairmend.report.writing import write_report

__all__ = ["compare_losses", "summarise", "write_report"]
