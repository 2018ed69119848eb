"""Report of a study, or of losses from elsewhere: an HTML page, its tables and its figures.

``summary`` computes the numbers, ``tables`` and ``figures`` show them, ``contents`` arranges
sections, and ``render`` and ``formats`` write them.
"""

from pairmend.report.losses_table import compare_losses
from pairmend.report.summary import summarise
from pairmend.report.writing import write_report

__all__ = ["compare_losses", "summarise", "write_report"]
