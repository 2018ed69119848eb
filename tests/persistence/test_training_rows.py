"""Hashes of training rows: against all rows compared by their cells; model files without them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from pairmend import BinaryRelevance
from pairmend.datasets import MultiLabelData
from pairmend.persistence import ModelFileError, load_model, save_model
from pairmend.persistence.container import Container, read_container, write_container
from pairmend.persistence.save_load import save_with_facts
from pairmend.persistence.training_rows import MAX_HASHES, TagColumn, TrainingRows, hash_rows

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")


def table(n_rows, seed=0):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.randint(3, size=n_rows), rng.randint(4, size=n_rows)]).astype(float)
    X[rng.rand(n_rows) < 0.1, 0] = np.nan
    Y = rng.randint(2, size=(n_rows, 2))
    return MultiLabelData(X, Y, ("size", "hue"), ("sea", "sun"), {1: tuple("abcd")}, "t", ())


def cells(data):
    """Return the rows as comparable texts."""
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    return [str(row) for row in np.hstack([X + 0.0, data.Y]).tolist()]


def test_equal_rows_have_equal_hashes_and_others_do_not():
    data = table(200)
    assert len(np.unique(hash_rows(data))) == len(set(cells(data)))
    first = {}
    for row, code in zip(cells(data), hash_rows(data), strict=True):
        assert first.setdefault(row, code) == code


def test_hashes_do_not_depend_on_the_order_of_columns_and_categories():
    data = table(50)
    turned = replace(data, X=np.column_stack([3 - data.X[:, 1], data.X[:, 0]]),
                     feature_names=("hue", "size"), categories={0: tuple("dcba")},
                     Y=data.Y[:, ::-1], label_names=("sun", "sea"))  # fmt: skip
    np.testing.assert_array_equal(hash_rows(turned), hash_rows(data))


def test_sparse_rows():
    data = table(50)
    data = replace(data, X=np.nan_to_num(data.X), categories={})
    packed = replace(data, X=sparse.csr_array(data.X))
    np.testing.assert_array_equal(hash_rows(packed), hash_rows(data))


def test_rows_are_counted_exactly_or_from_a_sample():
    data, other = table(30), table(30, seed=1)
    expected = sum(row in set(cells(data)) for row in cells(other))
    assert TrainingRows.of(data).count(other) == (expected, 30)
    rng = np.random.RandomState(0)
    many = replace(table(5000), X=rng.rand(5000, 2), categories={})
    rows = TrainingRows.of(many)
    assert (len(rows.hashes), rows.is_complete) == (MAX_HASHES, False)
    half = replace(many, X=np.where(np.arange(5000)[:, None] % 2, many.X, rng.rand(5000, 2)))
    n_seen, n_known = rows.count(half)
    assert n_seen / n_known == pytest.approx(0.5, abs=0.05)


@pytest.fixture(scope="module")
def fitted():
    data = table(30)
    return BinaryRelevance(random_state=0).fit(np.nan_to_num(data.X), data.Y)


def test_model_files_keep_them(fitted, tmp_path):
    path, rows = tmp_path / "m.model", TrainingRows.of(table(30))
    save_with_facts(fitted, path, ["size", "hue"], tags=TagColumn("seen", ";"), training_rows=rows)
    saved = load_model(path)
    assert saved.tags == TagColumn("seen", ";")
    np.testing.assert_array_equal(saved.training_rows.hashes, rows.hashes)


def test_files_of_earlier_versions_are_loaded(fitted, tmp_path):
    path = tmp_path / "m.model"
    save_model(fitted, path)
    container, _ = read_container(path)
    manifest = dict(container.manifest)
    assert manifest.pop("tags") is manifest.pop("training_rows") is None
    write_container(Container(manifest, container.content), path)
    saved = load_model(path)
    assert saved.tags is saved.training_rows is None


@pytest.mark.parametrize(
    "part",
    [
        {"training_rows": 1},
        {"training_rows": {"hashes": "AAAA"}},
        {"training_rows": {"hashes": "no base 64!"}},
        {"training_rows": {"hashes": "A" * 8 * 2 * MAX_HASHES}},
        {"tags": "seen"},
        {"tags": {"column": 1}},
        {"tags": {"separator": ";"}},
    ],
)
def test_forged_parts_are_refused(fitted, tmp_path, part):
    path = tmp_path / "m.model"
    save_model(fitted, path)
    container, _ = read_container(path)
    manifest = json.loads(json.dumps(container.manifest | part))
    write_container(Container(manifest, container.content), path)
    with pytest.raises(ModelFileError, match="a part of its manifest is missing or invalid"):
        load_model(path)
