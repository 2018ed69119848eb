"""Characteristics against slow loops, the study's table and the R package mldr."""

import csv
import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairmend.datasets import MultiLabelData, load_mulan
from pairmend.datasets.characteristics import (
    characteristics,
    label_concurrence,
    label_imbalance,
    label_set_counts,
    missing_per_feature,
    row_concurrence,
)

label_matrices = st.tuples(st.integers(1, 12), st.integers(1, 10)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, 1), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


def slow_imbalance(Y):
    counts = [sum(row[label] for row in Y) for label in range(len(Y[0]))]
    return [max(counts) / count if count else 0.0 for count in counts]


def slow_row_concurrence(Y):
    imbalance = slow_imbalance(Y)
    out = []
    for row in Y:
        ratios = [imbalance[label] for label, present in enumerate(row) if present]
        if not ratios:
            out.append(0.0)
            continue
        geometric = math.prod(ratios) ** (1 / len(ratios))
        out.append(1 - geometric / (sum(ratios) / len(ratios)))
    return out


def slow_label_concurrence(Y):
    rows = slow_row_concurrence(Y)
    out = []
    for label in range(len(Y[0])):
        of_label = [value for row, value in zip(Y, rows, strict=True) if row[label]]
        out.append(sum(of_label) / len(of_label) if of_label else 0.0)
    return out


def slow_characteristics(X, Y):
    n, L, features = len(Y), len(Y[0]), len(X[0])
    per_row = [sum(row) for row in Y]
    imbalance = slow_imbalance(Y)
    mean = sum(imbalance) / L
    squares = sum((value - mean) ** 2 for value in imbalance)
    sets = Counter(tuple(row) for row in Y)
    return {
        "N": n,
        "d": features + L,
        "L": L,
        "LC": sum(per_row) / n,
        "LD": sum(per_row) / n / L,
        "avIR": mean,
        "AVsc": sum(slow_row_concurrence(Y)) / n,
        "CVIR": math.sqrt(squares / (L - 1)) / mean if L > 1 and mean else 0.0,
        "label_sets": len(sets),
        "PUniq": sum(1 for count in sets.values() if count == 1) / n,
        "Pmax": max(sets.values()) / n,
        "TCS": math.log(features) + math.log(L) + math.log(len(sets)),
        "min_labels": min(per_row),
        "max_labels": max(per_row),
        "rows_without_labels": sum(1 for count in per_row if count == 0),
        "X_density": 1.0,
        "missing": sum(1 for row in X for cell in row if cell != cell),
    }


@given(label_matrices, st.integers(1, 4), st.integers(0, 2**31))
def test_equals_slow_loops(Y, n_features, seed):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(len(Y), n_features))
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    assert characteristics(X, np.array(Y)) == pytest.approx(
        slow_characteristics(X.tolist(), Y), abs=1e-10
    )
    assert label_imbalance(Y) == pytest.approx(slow_imbalance(Y), abs=1e-10)
    assert row_concurrence(Y) == pytest.approx(slow_row_concurrence(Y), abs=1e-10)
    assert label_concurrence(Y) == pytest.approx(slow_label_concurrence(Y), abs=1e-10)
    expected = sorted(Counter(tuple(row) for row in Y).values(), reverse=True)
    assert label_set_counts(Y).tolist() == expected


def test_a_rare_label_beside_many_frequent_ones():
    """A product of the ratios themselves would overflow: 10,000 to the power of 100."""
    Y = np.zeros((10_000, 102), dtype=int)
    Y[:, 0] = 1
    Y[0, 1:101] = 1  # the last label never occurs
    found = row_concurrence(Y)
    assert found[0] == pytest.approx(1 - 10_000 ** (100 / 101) / ((100 * 10_000 + 1) / 101))
    assert found[1:].max() == 0
    assert label_concurrence(Y)[-1] == 0


def test_values_are_plain_numbers(small_set):
    found = characteristics(*small_set)
    assert {type(value) for value in found.values()} == {int, float}
    json.dumps(found)
    counted = {name for name, value in found.items() if type(value) is int}
    assert counted == {
        "N", "d", "L", "label_sets", "min_labels", "max_labels", "rows_without_labels", "missing",
    }  # fmt: skip


def test_of_a_set_and_of_its_parts(small_set):
    X, Y = small_set
    data = MultiLabelData(X, Y, ("f",) * 6, tuple("abcd"), {}, "small", ())
    assert characteristics(data) == characteristics(X, Y)
    with pytest.raises(ValueError, match="small: Y was given beside a MultiLabelData"):
        characteristics(data, Y)
    with pytest.raises(ValueError, match="ndarray and no Y"):
        characteristics(X)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
def test_sparse_features(form):
    dense = np.array([[0.0, 2.0, 0.0, np.nan], [0.0, 0.0, 1.0, 0.0]])
    found = characteristics(sparse.csr_array(dense).asformat(form), [[1, 0], [1, 1]])
    assert found["X_density"] == 3 / 8
    assert found["missing"] == 1
    assert found["d"] == 6
    assert missing_per_feature(sparse.csr_array(dense).asformat(form)).tolist() == [0, 0, 0, 1]


def test_stored_zeros_and_cells_in_pieces_count_once():
    X = sparse.csr_array(([0.0, 1.0, 2.0], ([0, 0, 0], [0, 1, 1])), shape=(1, 4))
    pieces = sparse.coo_array(([1.0, 2.0, np.nan, np.nan], ([0] * 4, [1, 1, 2, 2])), shape=(1, 4))
    assert characteristics(X, [[1]])["X_density"] == 1 / 4
    assert characteristics(pieces, [[1]])["missing"] == 1
    raw = sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 4))
    assert characteristics(raw, [[1]])["X_density"] == 1 / 4
    assert raw.nnz == 2  # the input is not modified


def test_sets_without_features_or_labels():
    without_features = characteristics(np.empty((2, 0)), [[1], [0]])
    assert without_features["TCS"] == -math.inf
    assert without_features["missing"] == 0
    assert without_features["CVIR"] == 0
    without_labels = characteristics(np.ones((3, 2)), np.zeros((3, 2)))
    assert without_labels["avIR"] == without_labels["CVIR"] == without_labels["AVsc"] == 0
    assert without_labels["rows_without_labels"] == 3
    assert without_labels["Pmax"] == 1


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (np.ones((2, 1)), [1, 0], r"Y must be .* got shape \(2,\)"),
        (np.ones((0, 1)), np.ones((0, 2)), r"at least one row .* got shape \(0, 2\)"),
        (np.ones((2, 1)), np.ones((2, 0)), r"one label; got shape \(2, 0\)"),
        (np.ones((2, 1)), [[2], [0]], "only 0 and 1"),
        (np.ones((2, 1)), [[np.nan], [0]], "only 0 and 1"),
        (np.ones((2, 1)), [["a"], ["b"]], "only 0 and 1"),
        (np.ones((3, 1)), [[1], [0]], "X has 3 rows and Y has 2"),
        (np.ones(2), [[1], [0]], r"X must be .* got shape \(2,\) of float64"),
        (np.array([["a"], ["b"]]), [[1], [0]], r"X must be .* of <U1"),
    ],
)
def test_bad_input(X, Y, message):
    with pytest.raises(ValueError, match=message):
        characteristics(X, Y)


def test_inputs_stay_as_they_are(small_set):
    X, Y = small_set  # both are read-only
    before = Y.copy()
    characteristics(X, Y)
    np.testing.assert_array_equal(Y, before)


FILES = {
    "emotions": (["emotions.arff"], "emotions.xml"),
    "yeast": (["yeast.arff"], "yeast.xml"),
    "flags": (["flags.arff"], "flags.xml"),
    "birds": (["birds-train.arff", "birds-test.arff"], "birds.xml"),
    "plant": (["plant978.orig.arff.gz"], "plant978.xml.gz"),
    "medical": (["medical.arff"], "medical.xml"),
    "corel5k": (["Corel5k-sparse.arff"], "Corel5k.xml"),
}


def load_shared(shared, name):
    arffs, xml = FILES[name]
    folder = shared / "data" / name
    return load_mulan([folder / arff for arff in arffs], folder / xml, name=name)


@pytest.mark.parametrize(
    ("name", "number"),
    [("emotions", 6), ("yeast", 29), ("flags", 8), ("birds", 3), ("plant", 19), ("medical", 17)],
)
def test_equals_the_published_table(shared, name, number):
    with (shared / "paper/published_datasets.csv").open(newline="") as file:
        printed = next(row for row in csv.DictReader(file) if int(row["set"]) == number)
    found = characteristics(load_shared(shared, name))
    for key in ("LC", "LD", "avIR", "AVsc"):
        assert f"{found[key]:.3f}" == printed[key], key
    for key in ("N", "L", "d"):
        if (name, key) != ("flags", "d"):  # counted after its categories became columns
            assert found[key] == int(printed[key]), key


def test_equals_the_catalogue_on_many_labels(shared):
    entries = json.loads((shared / "data/catalogue.json").read_text(encoding="utf-8"))
    entries = entries if isinstance(entries, list) else entries["sets"]
    entry = next(entry for entry in entries if entry["name"] == "corel5k")
    data = load_shared(shared, "corel5k")
    found = characteristics(data)
    assert (found["N"], found["L"]) == (entry["rows"], entry["labels_count"])
    assert found["d"] == entry["features"] + entry["labels_count"]
    assert round(found["LC"], 3) == entry["cardinality"]
    Y = data.Y.tolist()
    assert found["avIR"] == pytest.approx(np.mean(slow_imbalance(Y)), abs=1e-10)
    assert found["AVsc"] == pytest.approx(np.mean(slow_row_concurrence(Y)), abs=1e-10)
    assert label_concurrence(data.Y) == pytest.approx(slow_label_concurrence(Y), abs=1e-10)


def test_emotions_equals_mldr(shared):
    """Printed by summary(emotions) and emotions$labels of the R package mldr, whose
    documentation shows the output."""
    data = load_shared(shared, "emotions")
    found = characteristics(data)
    assert found["label_sets"] == 27
    assert found["PUniq"] * 593 == pytest.approx(4)
    assert found["Pmax"] * 593 == pytest.approx(81)
    assert found["LC"] == pytest.approx(1.868465, abs=5e-7)
    assert found["LD"] == pytest.approx(0.3114109, abs=5e-8)
    assert found["avIR"] == pytest.approx(1.478068, abs=5e-7)
    assert found["AVsc"] == pytest.approx(0.01095238, abs=5e-9)
    assert found["TCS"] == pytest.approx(9.364262, abs=5e-7)
    per_label = {
        "amazed-suprised": (1.526012, 0.002159173),
        "happy-pleased": (1.590361, 0.014332319),
        "relaxing-calm": (1.000000, 0.023786461),
        "quiet-still": (1.783784, 0.023131538),
        "sad-lonely": (1.571429, 0.016133470),
        "angry-aggresive": (1.396825, 0.001331189),
    }
    assert set(data.label_names) == set(per_label)
    for label, imbalance, concurrence in zip(
        data.label_names, label_imbalance(data.Y), label_concurrence(data.Y), strict=True
    ):
        assert imbalance == pytest.approx(per_label[label][0], abs=5e-7)
        assert concurrence == pytest.approx(per_label[label][1], abs=5e-10)
