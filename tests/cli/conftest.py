"""Fixtures that make commands faster, and a terminal."""

import io
import os
import sys
import threading
from contextlib import contextmanager
from unittest import mock

import pytest

from in_process import in_process

__all__ = ["in_process"]


@pytest.fixture
def no_report(monkeypatch):
    """Write no report, which takes seconds."""
    monkeypatch.setattr("pairmend.report.write_report", lambda out: out / "report.html")


@pytest.fixture
def terminal(monkeypatch):
    """A context manager in which standard error is a terminal; yields the bytes written to it."""
    pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")

    @contextmanager
    def opened():
        reading, writing = pty.openpty()
        written = io.BytesIO()

        def read():
            while True:
                try:
                    written.write(os.read(reading, 4096))
                except OSError:  # the other side is closed
                    return

        thread = threading.Thread(target=read)
        thread.start()
        with os.fdopen(writing, "w") as file, mock.patch.object(sys, "stderr", file):
            yield written
        thread.join()
        os.close(reading)

    return opened
