"""The published losses as tables, and tables of any losses."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pairmend.published import losses


@pytest.fixture(scope="session")
def published() -> dict[str, pd.DataFrame]:
    """The published losses by metric, as printed."""
    return {name: rows.droplevel(1) for name, rows in losses().groupby("criterion", sort=False)}


@pytest.fixture(scope="session")
def loss_tables():
    """Tables of 3 to 6 algorithms on 2 to 12 sets, with many ties."""
    shapes = st.tuples(st.integers(2, 12), st.integers(3, 6))
    return arrays(np.int64, shapes, elements=st.integers(0, 8))
