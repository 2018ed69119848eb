"""Fixtures that make commands faster."""

import pytest

from in_process import in_process

__all__ = ["in_process"]


@pytest.fixture
def no_report(monkeypatch):
    """Write no report, which takes seconds."""
    monkeypatch.setattr("pairmend.report.write_report", lambda out: out / "report.html")
