"""Long random tests: damaged files for the readers, forged models, kills of studies.

``make soak`` runs all campaigns and continues an earlier run.
"""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
if str(TESTS) not in sys.path:  # they share helpers with the tests
    sys.path.append(str(TESTS))
