"""Settings of these tests."""

import pytest


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Cut the few rows of a test into several blocks."""
    monkeypatch.setattr("pairmend.distributed.rows.MAX_ROWS", 25)
