"""A folder with tables, a fitted model, commands that are run in it, and a terminal."""

import csv
import shutil
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

from pairmend.cli import main

N_ROWS = 60
FIT = ("fit", "photos.csv", "--ignore", "id", "--model", "photos.model", "--labels")
Ran = namedtuple("Ran", "status out err")


def photos_table(seed):
    """Return columns by name: an identifier, a number, a category, and three labels."""
    rng = np.random.RandomState(seed)
    size, hue = rng.normal(size=N_ROWS).round(3), rng.choice(["red", "green", "blue", ""], N_ROWS)
    sea = (size + (hue == "blue") + rng.normal(size=N_ROWS) / 4 > 0.5).astype(int)
    return {
        "id": [f"{n:03}" for n in range(N_ROWS)],
        "size": np.where(rng.rand(N_ROWS) < 0.1, "", size.astype(str)).tolist(),
        "hue": hue.tolist(), "sea": sea.tolist(),
        "sun": ((size < 0) | (hue == "red")).astype(int).tolist(), "sand": (1 - sea).tolist(),
    }  # fmt: skip


def write_table(path, columns):
    """Write columns by name as CSV."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """The current folder has photos.csv and new.csv; returns how to make and write tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")  # tables do not break lines
    write_table("photos.csv", photos_table(0))
    write_table("new.csv", photos_table(1))
    return SimpleNamespace(table=photos_table, write=write_table)


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    """A model of photos.csv, fitted once."""
    folder = tmp_path_factory.mktemp("model")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_table("photos.csv", photos_table(0))
        assert main([*FIT, "sea,sun", "sand", "--quiet"]) == 0
    return folder / "photos.model"


@pytest.fixture
def model(photos, model_file):
    """photos.model in the current folder."""
    return shutil.copy(model_file, "photos.model")


@pytest.fixture
def run(capsys):
    """A function that runs a command, and returns its status and what it prints."""

    def run_command(*words):
        capsys.readouterr()
        try:
            status = main([str(word) for word in words])
        except SystemExit as error:  # of argparse
            status = error.code
        return Ran(status, *capsys.readouterr())

    return run_command
