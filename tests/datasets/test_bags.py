from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline

from pairmend import PairwiseClassifier
from pairmend.datasets import bags as module
from pairmend.datasets.bags import BagEmbedding, MultiInstanceData, hausdorff_distances

KINDS = ("maximal", "average")


def reference_distance(A, B, kind):
    """One distance, as the definition reads."""
    from_a = [min(np.sqrt(np.sum((a - b) ** 2)) for b in B) for a in A]
    from_b = [min(np.sqrt(np.sum((a - b) ** 2)) for a in A) for b in B]
    if kind == "maximal":
        return max(max(from_a), max(from_b))
    return (sum(from_a) + sum(from_b)) / (len(A) + len(B))


def reference_distances(bags, other, kind):
    return np.array([[reference_distance(A, B, kind) for B in other] for A in bags])


def draw_bags(rng, n, d=3, largest=5, offset=0.0):
    return [offset + rng.randn(rng.randint(1, largest + 1), d) for _ in range(n)]


def as_object_array(bags):
    array = np.empty(len(bags), dtype=object)
    array[:] = bags
    return array


@pytest.fixture
def bags(rng):
    return draw_bags(rng, 30)


class TestHausdorffDistances:
    @pytest.mark.parametrize("kind", KINDS)
    @given(seed=st.integers(0, 2**31 - 1), block=st.integers(1, 20), d=st.integers(1, 4))
    def test_equals_the_slow_loop_for_all_block_sizes(self, kind, seed, block, d):
        rng = np.random.RandomState(seed)
        first, second = draw_bags(rng, 6, d), draw_bags(rng, 4, d)
        second[0] = first[0] + 1e-9  # near each other
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_BLOCK_INSTANCES", block)
            between = hausdorff_distances(first, second, kind=kind)
            within = hausdorff_distances(first, kind=kind)
        expected = reference_distances(first, second, kind)
        np.testing.assert_allclose(between, expected, rtol=0, atol=1e-10)
        expected = reference_distances(first, first, kind)
        np.testing.assert_allclose(within, expected, rtol=0, atol=1e-10)

    @pytest.mark.parametrize("kind", KINDS)
    def test_no_digits_are_lost_far_from_zero(self, rng, kind):
        bags = draw_bags(rng, 8, offset=1e6)
        expected = reference_distances(bags, bags, kind)
        np.testing.assert_allclose(
            hausdorff_distances(bags, kind=kind), expected, rtol=0, atol=1e-10
        )

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("block", [4, 1024])
    def test_exactly_symmetric_with_zeros_on_the_diagonal(self, rng, kind, block, monkeypatch):
        monkeypatch.setattr(module, "_BLOCK_INSTANCES", block)
        bags = draw_bags(rng, 40, d=7, largest=40, offset=123.4)
        distances = hausdorff_distances(bags, kind=kind)
        np.testing.assert_array_equal(distances, distances.T)
        np.testing.assert_array_equal(np.diag(distances), 0)
        assert (distances[~np.eye(40, dtype=bool)] > 0).all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_repeated_and_shuffled_instances_make_no_difference(self, bags, kind):
        again = [np.vstack([bag[::-1], bag]) for bag in bags]
        np.testing.assert_array_equal(np.diag(hausdorff_distances(bags, again, kind=kind)), 0)

    def test_a_hand_made_case(self):
        # The far instance decides the maximal distance; the average shares it among four.
        A, B = [[0.0], [10.0]], [[0.0], [1.0]]
        assert hausdorff_distances([A], [B])[0, 0] == 9
        assert hausdorff_distances([A], [B], kind="average")[0, 0] == (0 + 9 + 0 + 1) / 4

    def test_lists_object_arrays_and_cubes_are_the_same(self, rng):
        cube = rng.rand(5, 3, 2)
        expected = hausdorff_distances(list(cube))
        for bags in (cube, cube.tolist(), as_object_array(list(cube)), cube.astype(object)):
            np.testing.assert_array_equal(hausdorff_distances(bags), expected)

    @pytest.mark.parametrize(
        ("bags", "message"),
        [
            ([], "bags is empty"),
            ("text", "bag 0 of bags must be a 2-D array of numbers"),
            (3, "bags must be a list or an array of bags"),
            ([[1.0, 2.0]], r"bag 0 of bags must be a 2-D array .* shape \(2,\)"),
            ([[[1.0]], np.empty((0, 1))], r"bag 1 .* at least one instance .* shape \(0, 1\)"),
            ([[[1.0]], [[1.0, 2.0]]], "bag 1 of bags has instances of 2 numbers, bag 0 of 1"),
            ([[[1.0], [np.nan]]], "bag 0 of bags: instance 1, number 0 is nan"),
            ([[[np.inf]]], "number 0 is inf"),
            ([[["a"]]], "2-D array of numbers"),
            ([[[0.0]], [[1e200]]], "overflow"),
        ],
    )
    def test_bad_bags(self, bags, message):
        with pytest.raises(ValueError, match=message):
            hausdorff_distances(bags)

    def test_bad_arguments(self, bags):
        with pytest.raises(ValueError, match="kind must be one of .*got 'minimal'"):
            hausdorff_distances(bags, kind="minimal")
        with pytest.raises(ValueError, match="bags hold 3 numbers, those of other 1"):
            hausdorff_distances(bags, [[[1.0]]])


class TestBagEmbedding:
    @pytest.mark.parametrize("kind", KINDS)
    def test_single_instances_keep_their_euclidean_distances(self, rng, kind):
        points = rng.randn(40, 3) + 50
        rows = BagEmbedding(n_components=3, kind=kind).fit_transform(points[:, np.newaxis])
        np.testing.assert_allclose(pdist(rows), pdist(points), atol=1e-10)

    def test_new_single_instances_keep_their_distances_too(self, rng):
        points = rng.randn(40, 3)
        embedding = BagEmbedding(n_components=3).fit(points[:30, np.newaxis])
        rows = embedding.transform(points[:, np.newaxis])
        np.testing.assert_allclose(pdist(rows), pdist(points), atol=1e-10)

    @pytest.mark.parametrize("kind", KINDS)
    def test_equals_classical_scaling(self, bags, kind):
        """X = V sqrt(lambda) of -J D^2 J / 2, with the centring matrix J written out."""
        distances = reference_distances(bags, bags, kind)
        n = len(bags)
        J = np.eye(n) - np.ones((n, n)) / n
        values, vectors = np.linalg.eigh(-J @ distances**2 @ J / 2)
        expected = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :4]
        embedding = BagEmbedding(n_components=4, kind=kind)
        rows = embedding.fit_transform(bags)
        np.testing.assert_allclose(embedding.eigenvalues_, values[::-1][:4], rtol=1e-10)
        signs = np.sign((rows * expected).sum(axis=0))
        np.testing.assert_allclose(rows, expected * signs, atol=1e-10)

    def test_a_new_bag_is_placed_by_gowers_formula(self, rng, bags):
        """Gower (1968): with rows F and Λ = F'F, a point is Λ^-1 F' (diag(FF') - d^2) / 2."""
        new = draw_bags(rng, 5)
        # All dimensions, so that only the formula, not the choice of dimensions, matters.
        embedding = BagEmbedding(n_components=6)
        F = embedding.fit_transform(bags)
        distances = reference_distances(bags, bags, "maximal") ** 2
        centred = distances - distances.mean(axis=0) - distances.mean(axis=1)[:, np.newaxis]
        norms = np.diag(-0.5 * (centred + distances.mean()))
        for bag, row in zip(new, embedding.transform(new), strict=True):
            squared = np.array([reference_distance(bag, B, "maximal") for B in bags]) ** 2
            expected = np.linalg.solve(F.T @ F, F.T @ (norms - squared)) / 2
            np.testing.assert_allclose(row, expected, atol=1e-10)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("n_components", [1, 5, 100])
    def test_training_bags_get_the_rows_of_the_fit(self, bags, kind, n_components):
        embedding = BagEmbedding(n_components=n_components, kind=kind)
        fitted = embedding.fit_transform(bags)
        np.testing.assert_allclose(embedding.transform(bags), fitted, rtol=0, atol=1e-8)
        # The squares of a column sum to its eigenvalue: these are coordinates, not noise.
        np.testing.assert_allclose((fitted**2).sum(axis=0), embedding.eigenvalues_, rtol=1e-8)
        again = clone(embedding).fit(bags).transform(bags)
        np.testing.assert_array_equal(again, embedding.transform(bags))

    def test_rows_do_not_depend_on_what_else_is_transformed(self, rng, bags):
        embedding = BagEmbedding(n_components=3).fit(bags)
        new = draw_bags(rng, 4)
        together = embedding.transform(new)
        for bag, row in zip(new, together, strict=True):
            np.testing.assert_allclose(embedding.transform([bag])[0], row, atol=1e-12)

    def test_later_changes_of_the_bags_have_no_effect(self, bags):
        embedding = BagEmbedding(n_components=3).fit(bags)
        before = embedding.transform(bags[:2])
        copies = [bag.copy() for bag in bags[:2]]
        for bag in bags:
            bag += 1
        np.testing.assert_array_equal(embedding.transform(copies), before)

    def test_at_most_as_many_components_as_dimensions(self, rng):
        points = rng.randn(20, 2)
        embedding = BagEmbedding(n_components=10).fit(points[:, np.newaxis])
        assert embedding.n_components_ == 2
        assert embedding.transform(points[:3, np.newaxis]).shape == (3, 2)
        assert embedding.get_feature_names_out().tolist() == ["bagembedding0", "bagembedding1"]

    def test_at_most_one_dimension_fewer_than_bags(self):
        embedding = BagEmbedding(n_components=10).fit([[[0.0]], [[3.0]]])
        np.testing.assert_allclose(embedding.transform([[[0.0]], [[3.0]]]), [[1.5], [-1.5]])

    @pytest.mark.parametrize("bags", [[[[1.0, 2.0]]], [[[0.1], [0.3]]] * 5])
    def test_equal_bags_are_an_error(self, bags):
        with pytest.raises(ValueError, match="distances between the .* bags are all 0"):
            BagEmbedding().fit(bags)

    def test_signs_are_fixed(self, bags):
        embedding = BagEmbedding(n_components=5).fit(bags)
        rows = embedding.transform(bags)
        assert (rows[np.abs(rows).argmax(axis=0), np.arange(5)] > 0).all()

    @pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]])
    def test_a_tie_of_signs_goes_to_the_first_bag(self, rng, order):
        for centre in rng.randn(20):  # so that the ends are equally far but for rounding
            ends = centre + np.array([-0.7, 0.0, 0.7])[order]
            rows = BagEmbedding(n_components=1).fit_transform(ends[:, np.newaxis, np.newaxis])
            assert rows[0, 0] > 0

    def test_in_a_pipeline_under_cross_validation(self, rng):
        # The instances of bags with label j lie around the j-th centre.
        centres = rng.randn(4, 3) * 3
        label_of_bag = rng.randint(4, size=80)
        bags = [centres[c] + 0.3 * rng.randn(rng.randint(1, 5), 3) for c in label_of_bag]
        Y = (label_of_bag[:, np.newaxis] == np.arange(4)).astype(int)
        model = make_pipeline(
            BagEmbedding(n_components=3), PairwiseClassifier(LogisticRegression(), threshold=0.7)
        )
        scores = [
            cross_val_predict(model, X, Y, cv=4, method="predict_proba")
            for X in (as_object_array(bags), bags)
        ]
        np.testing.assert_array_equal(scores[0], scores[1])
        assert (scores[0].argmax(axis=1) == label_of_bag).mean() > 0.95
        search = GridSearchCV(model, {"bagembedding__kind": list(KINDS)}, cv=3)
        assert search.fit(as_object_array(bags), Y).best_score_ > 0.5

    def test_pandas_output(self, bags):
        pytest.importorskip("pandas")
        rows = BagEmbedding(n_components=2).set_output(transform="pandas").fit_transform(bags)
        assert rows.columns.tolist() == ["bagembedding0", "bagembedding1"]

    def test_bad_input(self, bags):
        with pytest.raises(NotFittedError):
            BagEmbedding().transform(bags)
        with pytest.raises(ValueError, match="'n_components' parameter"):
            BagEmbedding(n_components=0).fit(bags)
        with pytest.raises(ValueError, match="'kind' parameter"):
            BagEmbedding(kind="minimal").fit_transform(bags)
        with pytest.raises(ValueError, match="X hold 1 numbers, .* fitted on instances of 3"):
            BagEmbedding().fit(bags).transform([[[1.0]]])


class TestMultiInstanceData:
    @pytest.fixture
    def data(self, rng):
        return MultiInstanceData(
            bags=list(rng.rand(4, 3, 2)),
            Y=np.eye(4, dtype=np.int64)[:, :2],
            feature_names=("hue", "size"),
            label_names=("sea", "sun"),
            name="photos",
            source=(Path("photos.mat"),),
        )

    def test_flatten(self, data):
        flat = data.flatten()
        for bag, row in zip(data.bags, flat.X, strict=True):
            np.testing.assert_array_equal(row, [*bag[0], *bag[1], *bag[2]])
        names = ("i0_hue", "i0_size", "i1_hue", "i1_size", "i2_hue", "i2_size")
        assert flat.feature_names == names
        assert flat.Y is data.Y
        assert (flat.label_names, flat.name) == (data.label_names, data.name)
        assert (flat.categories, flat.source) == ({}, data.source)

    def test_bags_of_different_sizes_cannot_be_flattened(self, data):
        data.bags[1] = data.bags[1][:1]
        with pytest.raises(ValueError, match="photos: .* between 1 and 3 instances. Use embed"):
            data.flatten()
        data.bags.clear()
        with pytest.raises(ValueError, match="photos: no bags"):
            data.flatten()

    @pytest.mark.parametrize("kind", KINDS)
    def test_embed(self, data, kind):
        rows = data.embed(2, kind=kind)
        distances = squareform(pdist(rows.X))
        assert np.abs(distances - hausdorff_distances(data.bags, kind=kind)).max() < 0.3
        np.testing.assert_array_equal(rows.X, BagEmbedding(2, kind=kind).fit_transform(data.bags))
        assert rows.feature_names == ("bagembedding0", "bagembedding1")
        assert rows.Y is data.Y
