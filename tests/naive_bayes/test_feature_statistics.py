"""Statistics of features that do not depend on the classes."""

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pairmend.naive_bayes import feature_statistics
from pairmend.naive_bayes.feature_statistics import DistinctValues

VALUES = st.one_of(
    st.integers(-(2**33), 2**33).map(lambda whole: whole / 1e6),
    st.sampled_from([0.0, -0.0, 0.1 + 0.2, 1e-7, 2147.483647, 2147.483648, 1e300, np.nan]),
    st.floats(allow_nan=False, allow_infinity=False),
)


@given(st.lists(st.lists(VALUES, min_size=4, max_size=4), min_size=1, max_size=6))
def test_distinct_values_equal_those_of_numpy(rows):
    X = np.array(rows)
    with mock.patch.object(feature_statistics, "SORTED_AT_ONCE", 2 * len(X)):
        found = DistinctValues.of(X)
    for f, column in enumerate(X.T):
        values = np.unique(column[~np.isnan(column)])
        assert found.count[f] == len(values)
        assert found.low[f] == (values[0] if len(values) else 0)
        assert found.high[f] == (values[-1] if len(values) else 0)
        assert found.listed(np.arange(4) == f).tolist() == values.tolist()
