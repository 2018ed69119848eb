"""The package itself."""

import subprocess
import sys

import pytest

import pairmend


def test_parts_are_imported_when_they_are_asked_for():
    said = "import sys, pairmend; print('pairmend.plots' in sys.modules, pairmend.plots.__name__)"
    shown = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "pairmend.plots"]
    with pytest.raises(AttributeError, match="module 'pairmend' has no attribute 'nothing'"):
        _ = pairmend.nothing
