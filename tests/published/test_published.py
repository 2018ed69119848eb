"""The printed tables, and measured losses compared with them on small real sets."""

import pandas as pd
import pytest

from pairmend import published
from pairmend.metrics import LOSSES
from pairmend.study import load_study, run_study

SETS = {"emotions": 6, "flags": 8}  # number in the published tables


def test_all_sets_and_losses_exist():
    losses = published.losses()
    assert list(published.sets().index) == list(range(1, 30))
    assert losses.shape == (29 * 4, 4)
    assert losses.ge(0).all(axis=None)
    assert losses.le(1).all(axis=None)
    assert set(losses.index.get_level_values("criterion")) <= set(LOSSES)
    assert "10.1142/S0129065717500629" in published.SOURCE


def test_characteristics_are_the_printed_ones():
    sets = published.sets()
    assert sets.loc[17].tolist() == ["Medical", 978, 1494, 45, 1.245, 0.028, 89.501, 0.047]
    assert (sets["LC"] / sets["L"]).to_numpy() == pytest.approx(sets["LD"], abs=0.0011)


def test_files_equal_those_of_the_shared_folder(shared):
    losses = pd.read_csv(shared / "paper/published_losses.csv", index_col=["set", "criterion"])
    pd.testing.assert_frame_equal(published.losses(), losses)
    sets = pd.read_csv(shared / "paper/published_datasets.csv", index_col="set")
    pd.testing.assert_frame_equal(published.sets(), sets)


def test_mean_distance_to_the_published_losses(shared, in_process):
    rows = run_study(load_study("paper").narrowed(SETS), data_dir=shared / "data")
    rows["set"] = rows["set"].map(SETS)
    measured = rows.groupby(["set", "criterion", "algorithm"])["value"].mean().unstack()
    distances = (measured - published.losses().loc[list(SETS.values())]).abs().mean()
    assert (distances < 0.025).all()
