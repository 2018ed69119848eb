from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from pairmend.datasets import load, make_hypercubes, save_file
from pairmend.study.sources import (
    CatalogueSource,
    FileSource,
    FunctionSource,
    as_data,
    data_hash,
    open_cached_set,
    put_into_cache,
    with_name,
)


def test_sets_of_the_catalogue_functions_and_files(tmp_path):
    assert CatalogueSource("simplehc").load(None, False).Y.shape == (3000, 10)
    made = FunctionSource("pairmend.datasets.make_hypercubes", {"n_samples": 40, "random_state": 1})
    data = made.load(None, False)
    assert len(data.Y) == 40
    save_file(data, tmp_path / "made.csv")
    source = FileSource(tmp_path / "made.csv", labels=data.label_names)
    np.testing.assert_array_equal(source.load(None, False).Y, data.Y)


def test_a_function_is_called_with_a_fixed_random_state():
    source = FunctionSource("pairmend.datasets.make_hypercubes", {"n_samples": 40})
    other = FunctionSource(source.function, {"n_samples": 40, "random_state": 1})
    first, second, third = (data_hash(s.load(None, False)) for s in (source, source, other))
    assert first == second != third


def test_reasons_why_sets_are_missing(tmp_path):
    assert (
        FileSource(tmp_path / "no.arff").missing(None) == f"there is no file {tmp_path / 'no.arff'}"
    )
    assert "cannot import" in FunctionSource("nothing.here").missing(None)
    assert CatalogueSource("azotobacter").missing(None) == "no public copy was found"
    assert CatalogueSource("enron").missing(tmp_path) == "its files are missing"
    with pytest.raises(FileNotFoundError, match="enron.arff, enron.xml are neither in"):
        CatalogueSource("enron").load(tmp_path, False)


@pytest.mark.parametrize("given", [3, (1, 2, 3), (np.zeros((2, 1)), [0, 1])])
def test_invalid_sets_are_refused(given):
    with pytest.raises((TypeError, ValueError), match="must"):
        as_data(given)


def shapes():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(6, 3)) * (rng.uniform(size=(6, 3)) > 0.4)
    Y = rng.randint(2, size=(6, 2))
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical([*"xyxyx", None])})
    return {"dense": (X, Y), "sparse": (sparse.csr_array(X), Y), "frame": (frame, Y)}


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("kind", shapes())
def test_sets_are_read_from_the_cache_as_written(kind, mapped, tmp_path):
    X, Y = shapes()[kind]
    folds = np.arange(6)[:, np.newaxis] % 3
    path = put_into_cache(with_name(as_data((X, Y)), kind), folds, tmp_path)
    again, Y_again, fold_of = open_cached_set(path, mapped=mapped)
    np.testing.assert_array_equal(Y, Y_again)
    np.testing.assert_array_equal(folds, fold_of)
    if kind == "frame":
        pd.testing.assert_frame_equal(again, X.reset_index(drop=True))
    else:
        toarray = getattr(again, "toarray", lambda: again)
        assert sparse.issparse(again) == (kind == "sparse")
        np.testing.assert_array_equal(toarray(), shapes()["dense"][0])
        values = again.data if kind == "sparse" else again
        assert isinstance(values, np.memmap) == mapped
        assert values.flags.writeable != mapped


def test_the_hash_depends_on_every_part():
    X, Y = shapes()["dense"]
    hashes = [
        data_hash(as_data((X, Y))),
        data_hash(as_data((X + 1e-12, Y))),
        data_hash(as_data((X, 1 - Y))),
        data_hash(as_data((X[::-1], Y))),
        data_hash(as_data(shapes()["sparse"])),
        data_hash(as_data(shapes()["frame"])),
    ]
    assert len(set(hashes)) == len(hashes)
    wide = sparse.csr_array(X)
    wide.indices = wide.indices.astype(np.int64)
    assert data_hash(as_data((wide, Y))) == data_hash(as_data(shapes()["sparse"]))


def test_the_hash_of_a_generated_set_is_fixed():
    # Stored results refer to it.
    assert data_hash(load("simplehc")) == (
        "2f71fca1baebdd8dea1e2258033af772ec85914c242016e8fb290e932a685123"
    )


@pytest.mark.parametrize("kind", [sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_sparse_data_of_any_format_become_csr(kind):
    data = make_hypercubes(n_samples=30, random_state=0)  # as many rows as features
    again = as_data(replace(data, X=kind(data.X)))
    assert again.X.format == "csr"
    np.testing.assert_array_equal(again.X.toarray(), data.X)


def test_x_and_y_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="a row for each of the 3 of Y, got"):
        as_data((np.zeros((2, 2)), np.eye(3)))


def test_a_subset_of_rows_is_always_the_same():
    whole = CatalogueSource("simplehc").load(None, False)
    part = CatalogueSource("simplehc", rows=20).load(None, False)
    again = CatalogueSource("simplehc", rows=20).load(None, False)
    assert part.Y.shape == (20, whole.Y.shape[1])
    np.testing.assert_array_equal(part.X, again.X)
    assert {tuple(row) for row in part.X} <= {tuple(row) for row in whole.X}


def test_categorical_features_may_be_one_hot_encoded(shared):
    source = CatalogueSource("birds", one_hot=True)
    assert source.definition() == {"catalogue": "birds", "one_hot": True}
    data = source.load(shared / "data", False)
    assert not data.categories
    assert data.X.shape[1] > load("birds", shared / "data").X.shape[1]


def test_the_error_of_a_failed_write_names_the_set(tmp_path):
    data = with_name(as_data(shapes()["dense"]), "mine")
    with pytest.raises(
        OSError, match="cannot write the set 'mine' to .*nowhere: .*is the disk full"
    ):
        put_into_cache(data, np.zeros((6, 1), dtype=int), tmp_path / "nowhere")
