"""All private functions of scikit-learn that the package uses."""

from typing import Any

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._array_api import _convert_to_numpy as to_numpy
from sklearn.utils._array_api import _max_precision_float_dtype as most_precise_float
from sklearn.utils._array_api import device as device_of
from sklearn.utils._array_api import get_namespace
from sklearn.utils._indexing import _get_column_indices as column_numbers
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as read_sample_weight
from sklearn.utils.validation import _num_samples as count_rows

try:
    from sklearn.utils._array_api import _estimator_with_converted_arrays as convert_arrays
    from sklearn.utils._array_api import check_same_namespace as compare_namespaces
    from sklearn.utils._array_api import move_estimator_to as move_estimator
except ImportError:  # scikit-learn 1.7 and 1.8
    compare_namespaces = convert_arrays = move_estimator = None

HAS_ARRAY_API = move_estimator is not None
"""Whether scikit-learn has what arrays of other libraries than numpy need here."""


def boosted_nodes(boosted: Any) -> tuple[list[Any], float]:
    """Return the nodes of the trees of a binary HistGradientBoostingClassifier, and their start."""
    nodes = [tree.nodes for (tree,) in boosted._predictors]
    return nodes, float(np.ravel(boosted._baseline_prediction)[0])
