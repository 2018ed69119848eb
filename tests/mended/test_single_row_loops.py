"""Compiled loops for one row against numpy."""

import numpy as np
import pytest

from pairmend._utils.compilation import has_numba
from pairmend.kernels.landmarks import LandmarkSums
from pairmend.kernels.leave_one_out import corrected_by
from pairmend.kernels.rrc import REFERENCES
from pairmend.kernels.single_query import AffinePoints, SingleQuerySums
from pairmend.mended import single_row_loops as loops
from pairmend.mended.label_sets import LabelSets
from pairmend.mended.single_row import POLYNOMIALS

pytestmark = pytest.mark.skipif(not has_numba(), reason="needs pip install 'pairmend[fast]'")


def test_exponentials():
    values = -np.concatenate([np.linspace(0, 800, 1300), np.logspace(-17, 2, 500)])
    found = values.copy()
    loops.exponential(found)
    np.testing.assert_allclose(found, np.exp(np.maximum(values, -700)), rtol=1e-15)


def test_exponentials_in_single_precision():
    values = -np.logspace(-3, 3, 1000, dtype=np.float32)
    found = values.copy()
    loops.exponential(found)
    normal = values > np.log(np.finfo(np.float32).tiny)
    np.testing.assert_allclose(found[normal], np.exp(values[normal]), rtol=1e-6)
    assert (found[~normal] == np.finfo(np.float32).tiny).all()


@pytest.mark.parametrize("is_light", [False, True])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("n_landmarks", [40, 1100])
def test_sums_around_one_query(n_landmarks, single, is_light, rng):
    maps = [
        AffinePoints(0, np.zeros(6), rng.rand(6)),
        AffinePoints(0, np.zeros(6), rng.rand(6)),
        AffinePoints(1, np.zeros(4), rng.rand(4)),
    ]
    parts = [
        LandmarkSums(rng.randn(n_landmarks, len(each.mean)) * each.factor,
                     rng.rand(n_landmarks, 7) + (0 if is_light else 1), beta)
        for each, beta in zip(maps, (3.0, 0.2, 40.0), strict=True)
    ]  # fmt: skip
    parts[1].landmarks = parts[0].landmarks * maps[1].factor / maps[0].factor
    sums = SingleQuerySums(parts, maps, single=single)
    query = {0: rng.randn(6), 1: rng.randn(4)}
    centred = np.concatenate([query[0], np.zeros(2), query[1]])
    found = np.empty((3, 7), sums.dtype)
    loops.sums_around(
        centred, sums.spaces, sums.places, sums.factors, sums.landmarks, sums.offsets,
        sums.tables, sums.capped_masses, found,
    )  # fmt: skip
    tolerance = 1e-5 if single else 1e-12
    np.testing.assert_allclose(found, sums.around(query), rtol=tolerance)


@pytest.mark.parametrize("reference", POLYNOMIALS)
def test_references(reference):
    series, power = POLYNOMIALS[reference]
    support = np.linspace(0, 1, 101)
    found = [loops._reference(each, np.array(series), power) for each in support]
    np.testing.assert_allclose(found, REFERENCES[reference](support), rtol=0, atol=1e-15)


@pytest.mark.parametrize("mass", [0.0, 1.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_correction_of_sums_with_empty_cells(dtype, mass, rng):
    n_labels = 12
    decided = rng.rand(2, n_labels) * [[1], [3]]
    decided[:, :3], decided[:, 3:6] = 0, [[1], [3]]  # nothing, or all of the mass
    hit, missed = decided * rng.rand(2, n_labels), ([[1], [3]] - decided) * rng.rand(2, n_labels)
    sums = np.hstack([hit, decided, hit + missed, [[1], [3]]]).astype(dtype)
    proba, towards = rng.rand(1, n_labels), rng.rand(2, 3, n_labels)
    weights = rng.dirichlet(np.ones(4), n_labels).T.copy()
    decide = REFERENCES["beta"](proba)
    local = corrected_by(
        np.tile(decide, (2, 1)), sums, tuple(towards[:, :2]), np.full((2, 1), mass)
    )
    on, off = towards[:, 2]
    terms = np.vstack([local, decide * on + (1 - decide) * off, proba])
    out = np.empty(n_labels)
    series, power = POLYNOMIALS["beta"]
    loops.correct_and_stack(
        proba[0], sums, np.array([series] * 3), np.array([power] * 3), *towards.copy(),
        np.full(3, mass), weights, out,
    )  # fmt: skip
    tolerance = 1e-6 if dtype == np.float32 else 1e-14
    np.testing.assert_allclose(out, (weights * terms).sum(axis=0), rtol=0, atol=tolerance)


def test_marginals_of_label_sets(rng):
    Y = rng.rand(900, 11) < 0.3
    sets, _ = LabelSets.from_indicators(Y, rng.rand(900) + 0.1)
    sets = sets.__class__(sets.members, sets.counts, sets.log_lift, lift_exponent=0.5)
    for proba in (rng.rand(1, 11), np.zeros((1, 11)), np.eye(1, 11)):
        out = np.empty(11)
        loops.marginals(proba[0], sets.member_columns, sets._prior, out)
        np.testing.assert_allclose(out, sets.marginals(proba)[0], rtol=0, atol=1e-14)
