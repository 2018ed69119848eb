"""Our losses against the published ones, on real sets that are quick to run.

`pairmend study --data FOLDER` compares all that are at hand.
"""

from statistics import fmean

import pytest

from pairmend import published
from pairmend.metrics import LOSSES
from pairmend.study import paper_study, run_study

SETS = {"emotions": 6, "flags": 8}  # number in the published tables


@pytest.fixture(scope="module")
def losses(shared):
    rows = run_study(paper_study().narrowed(SETS), data_dir=shared / "data", jobs=2)
    return rows.groupby(["set", "criterion", "algorithm"]).value.mean()


@pytest.mark.parametrize("algorithm", published.ALGORITHMS)
def test_mean_distance_to_the_published_losses(losses, algorithm):
    printed = published.losses()
    distances = [
        abs(losses[name, criterion, algorithm] - printed[number, criterion, algorithm])
        for name, number in SETS.items()
        for criterion in LOSSES
    ]
    assert fmean(distances) < 0.025
