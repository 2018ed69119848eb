"""Settings for the examples in docstrings and documentation."""

import os

# Read when scipy is imported: without it, arrays of other libraries than numpy are not tested.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest

from in_process import performed_in_process

# Settings and extensions of Sphinx, which tests do not need, and what the build of the site writes.
collect_ignore_glob = ["docs/_*", "docs/conf.py", "docs/auto_examples/*", "docs/generated/*"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Run studies of examples without worker processes, which take seconds to start."""
    if not isinstance(item, pytest.DoctestItem):
        return (yield)
    with performed_in_process():
        return (yield)
