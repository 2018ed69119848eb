"""Settings for the examples in docstrings and documentation."""

import pytest

from in_process import performed_in_process


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Run studies of examples without worker processes, which take seconds to start."""
    if not isinstance(item, pytest.DoctestItem):
        return (yield)
    with performed_in_process():
        return (yield)
