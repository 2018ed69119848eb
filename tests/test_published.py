"""Our losses against the published ones, on real sets that are quick to run.

The whole comparison is benchmarks/published_losses.py.
"""

import csv
from statistics import fmean

import pytest

from pairmend.datasets import load_mulan, one_hot
from pairmend.study import ALGORITHMS, mean_losses, run_study

SETS = {"emotions": 6, "flags": 8}  # number in the published tables


@pytest.fixture(scope="module")
def losses(shared):
    folder = shared / "data"
    emotions = load_mulan(folder / "emotions/emotions.arff", folder / "emotions/emotions.xml")
    flags = one_hot(load_mulan(folder / "flags/flags.arff", folder / "flags/flags.xml"))
    sets = {"emotions": (emotions.X, emotions.Y), "flags": (flags.X, flags.Y)}
    return mean_losses(run_study(sets, ALGORITHMS))


@pytest.fixture(scope="module")
def published(shared):
    with (shared / "paper/published_losses.csv").open(newline="") as file:
        return {(int(row["set"]), row["criterion"]): row for row in csv.DictReader(file)}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_mean_distance_to_the_published_losses(losses, published, algorithm):
    distances = [
        abs(value - float(published[SETS[name], criterion][algorithm]))
        for (name, ran, criterion), value in losses.items()
        if ran == algorithm
    ]
    assert len(distances) == 8
    assert fmean(distances) < 0.025


def test_sets_have_the_published_size(shared):
    with (shared / "paper/published_datasets.csv").open(newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    folder = shared / "data/flags"
    flags = one_hot(load_mulan(folder / "flags.arff", folder / "flags.xml"))
    assert flags.X.shape[0] == int(rows["Flags"]["N"])
    assert flags.X.shape[1] + flags.Y.shape[1] == int(rows["Flags"]["d"])
    assert flags.Y.sum(axis=1).mean() == pytest.approx(float(rows["Flags"]["LC"]), abs=5e-4)
