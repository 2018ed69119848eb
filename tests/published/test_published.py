"""Measured losses compared with the published ones, on small real sets.

`pairmend study --data FOLDER` compares all available sets.
"""

from statistics import fmean

from in_process import in_process
from pairmend import published
from pairmend.study import load_study, run_study

__all__ = ["in_process"]

SETS = {"emotions": 6, "flags": 8}  # number in the published tables


def test_mean_distance_to_the_published_losses(shared, in_process):
    rows = run_study(load_study("paper").narrowed(SETS), data_dir=shared / "data")
    losses = rows.groupby(["set", "criterion", "algorithm"]).value.mean()
    printed = published.losses()
    for algorithm in published.ALGORITHMS:
        distances = [
            abs(losses[name, criterion, algorithm] - printed[number, criterion, algorithm])
            for name, number in SETS.items()
            for criterion in published.METRICS
        ]
        assert fmean(distances) < 0.025, algorithm
