"""Report of a study: one HTML page, and its tables as LaTeX, CSV and Markdown.

``summary`` computes the numbers, ``tables`` and ``figures`` show them, ``contents`` arranges
sections, and ``render`` and ``formats`` write them.
"""

from pairmend.report.summary import summarise
from pairmend.report.writing import write_report

__all__ = ["summarise", "write_report"]
