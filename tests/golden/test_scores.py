"""Scores are those of the files that `scores.py` writes."""

import numpy as np
import pytest

from golden.scores import FILES, FOLDER, REAL, environment, scores

CASES = {case.key: (file, case) for file, cases in FILES.items() for case in cases()}


@pytest.fixture(scope="module")
def stored():
    return {file: np.load(FOLDER / f"{file}.npz") for file in FILES}


@pytest.mark.parametrize("key", CASES)
def test_scores_equal_those_of_the_file(key, stored, request):
    file, case = CASES[key]
    if case.data in REAL:
        request.getfixturevalue("shared")
    golden = stored[file]
    made_with, here = golden["environment"].tolist(), environment()
    if file == "mended" and "logistic" not in key and not set(sklearn_of(made_with)) <= set(here):
        pytest.skip("other versions of scikit-learn grow other forests")
    # Other versions of solvers and other processors round differently.
    tolerance = 1e-12 if made_with == here else 1e-6
    for part, found in scores(case).items():
        expected = golden[f"{key}/{part}"]
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=part)


def sklearn_of(packages):
    return [package for package in packages if package.startswith("sklearn ")]


def test_the_files_hold_no_other_scores(stored):
    for file, golden in stored.items():
        keys = {key.rpartition("/")[0] for key in golden.files if "/" in key}
        assert keys == {key for key, (other, _) in CASES.items() if other == file}
