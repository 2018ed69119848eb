from fractions import Fraction

import numpy as np
import pytest
import sklearn
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from pairmend.model_selection import (
    MultilabelStratifiedKFold,
    _assign_rows,
    _change_of_gaps,
    validation_split,
)


@given(st.integers(2, 50), st.floats(0.05, 0.95), st.integers(0, 99))
def test_hold_out_splits_all_rows(n_rows, share, seed):
    size = int(np.floor(share * n_rows + 0.5))
    if size in (0, n_rows):
        with pytest.raises(ValueError, match="part of .* empty"):
            validation_split(np.arange(n_rows), share, np.random.RandomState(seed))
        return
    rows = np.arange(n_rows)
    train, validation, _ = validation_split(rows, share, np.random.RandomState(seed))
    assert len(train) == size
    assert sorted([*train, *validation]) == list(range(n_rows))


@st.composite
def labelled_rows(draw):
    """Draw indicators of rare and frequent labels, and a valid number of folds."""
    n_rows, n_labels = draw(st.integers(2, 40)), draw(st.integers(1, 6))
    shares = np.array(draw(st.lists(st.floats(0, 1), min_size=n_labels, max_size=n_labels)))
    rng = np.random.RandomState(draw(st.integers(0, 999)))
    Y = (rng.random_sample((n_rows, n_labels)) < shares).astype(int)
    return Y, draw(st.integers(2, min(n_rows, 8)))


seeds = st.integers(0, 99)
TRIANGLE = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]])


def folds_of(Y, n_folds, seed=0):
    cv = MultilabelStratifiedKFold(n_folds, random_state=seed)
    return [fold for _, fold in cv.split(Y, Y)]


def gaps(Y, folds):
    """List (fold, label) of folds without a label that has at least as many rows as folds."""
    return [
        (number, label)
        for number, fold in enumerate(folds)
        for label in range(Y.shape[1])
        if sum(Y[:, label]) >= len(folds) and not any(Y[row, label] for row in fold)
    ]


def slow_assignment(Y, n_folds, rng):
    """Assign rows by iterative stratification, one cell at a time."""
    n_rows, n_labels = Y.shape
    sizes = [n_rows // n_folds + (fold < n_rows % n_folds) for fold in range(n_folds)]
    deficit = [
        [Fraction(int(sum(Y[:, label])) * size, n_rows) for label in range(n_labels)]
        for size in sizes
    ]
    room, fold_of = list(sizes), {}
    order = list(rng.permutation(n_rows))
    while True:
        left = [row for row in order if row not in fold_of]
        counts = {label: sum(Y[row, label] for row in left) for label in range(n_labels)}
        counts = {label: count for label, count in counts.items() if count}
        if not counts:
            break
        rarest = min(counts, key=counts.get)
        for row in [row for row in left if Y[row, rarest]]:
            free = [fold for fold in range(n_folds) if room[fold]]
            most = max(deficit[fold][rarest] for fold in free)
            free = [fold for fold in free if deficit[fold][rarest] == most]
            most = max(room[fold] for fold in free)
            free = [fold for fold in free if room[fold] == most]
            fold = free[rng.randint(len(free))]
            fold_of[row] = fold
            room[fold] -= 1
            for label in range(n_labels):
                deficit[fold][label] -= int(Y[row, label])
    for row in left:
        fold = next(fold for fold in range(n_folds) if room[fold])
        fold_of[row] = fold
        room[fold] -= 1
    return [fold_of[row] for row in range(n_rows)]


@given(labelled_rows(), seeds)
def test_rows_of_the_rarest_label_are_assigned_first(case, seed):
    Y, n_folds = case
    fast = _assign_rows(Y.astype(bool), n_folds, np.random.RandomState(seed))
    assert fast.tolist() == slow_assignment(Y, n_folds, np.random.RandomState(seed))


@pytest.mark.parametrize("n_rows", [240, 241, 247])
@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
def test_many_rows_of_a_label(n_folds, n_rows):
    """Of such labels, all folds are chosen in turn many times."""
    shares = np.random.RandomState(n_rows).rand(6) * [0.1, 0.1, 0.5, 0.5, 1, 1]
    Y = np.random.RandomState(n_folds).rand(n_rows, 6) < shares
    ours, theirs = np.random.RandomState(3), np.random.RandomState(3)
    assert _assign_rows(Y, n_folds, ours).tolist() == slow_assignment(Y, n_folds, theirs)
    assert ours.randint(2**30) == theirs.randint(2**30)  # as many random numbers were drawn


@given(labelled_rows(), seeds)
def test_stratified_folds_are_a_partition_into_equal_parts(case, seed):
    Y, n_folds = case
    splits = list(MultilabelStratifiedKFold(n_folds, random_state=seed).split(Y, Y))
    assert len(splits) == n_folds
    assert sorted(row for _, fold in splits for row in fold) == list(range(len(Y)))
    for rest, fold in splits:
        assert sorted([*rest, *fold]) == list(range(len(Y)))
        assert list(rest) == sorted(rest)
        assert list(fold) == sorted(fold)
    sizes = [len(fold) for _, fold in splits]
    assert max(sizes) - min(sizes) <= 1


@given(labelled_rows(), seeds)
@example((TRIANGLE, 2), 0)
def test_no_exchange_of_two_rows_lowers_the_number_of_gaps(case, seed):
    Y, n_folds = case
    folds = folds_of(Y, n_folds, seed)
    number = len(gaps(Y, folds))
    if not number:
        return
    for a in range(n_folds):
        for b in range(a):
            for i in range(len(folds[a])):
                for j in range(len(folds[b])):
                    swapped = [list(fold) for fold in folds]
                    swapped[a][i], swapped[b][j] = swapped[b][j], swapped[a][i]
                    assert len(gaps(Y, swapped)) >= number


def test_unavoidable_gap_remains():
    assert len(gaps(TRIANGLE, folds_of(TRIANGLE, 2))) == 1


@given(st.lists(st.integers(-1, 4), min_size=2, max_size=60), st.integers(2, 6), seeds)
def test_rows_with_one_label_each_leave_no_gap(classes, n_folds, seed):
    Y = np.array([[label == one for label in range(5)] for one in classes]).astype(int)
    assert not gaps(Y, folds_of(Y, min(n_folds, len(Y)), seed))


def test_labels_with_enough_rows_are_in_every_fold():
    before = after = 0
    for seed in range(20):
        rng = np.random.RandomState(seed)
        Y = (rng.random_sample((200, 30)) < rng.beta(0.5, 6, size=30)).astype(int)
        fold_of = _assign_rows(Y.astype(bool), 10, np.random.RandomState(seed))
        before += len(gaps(Y, [np.flatnonzero(fold_of == fold) for fold in range(10)]))
        after += len(gaps(Y, folds_of(Y, 10, seed)))
    assert before > 0  # before the exchanges
    assert after == 0


@given(arrays(np.float32, (8, 4), elements=st.sampled_from([0, 1])))
def test_change_of_gaps_equals_a_count(cells):
    def count(fold):
        return int((cells[fold].sum(axis=0) == 0).sum())

    own, others = [0, 1, 2], [[3, 4], [5, 6, 7]]
    counts = np.array([cells[other].sum(axis=0) for other in others for _ in other])
    change = _change_of_gaps(cells[3:], counts, cells[own], cells[own].sum(axis=0))
    for a, row in enumerate(range(3, 8)):
        other = others[0] if row in others[0] else others[1]
        for b, out in enumerate(own):
            before = count(own) + count(other)
            after = count([r for r in own if r != out] + [row])
            after += count([r for r in other if r != row] + [out])
            assert change[a, b] == after - before


def skewed_set(n_rows=1000, n_labels=20):
    rng = np.random.RandomState(5)
    shares = 0.5 * 0.75 ** np.arange(n_labels)  # from every second row to one in five hundred
    return (rng.random_sample((n_rows, n_labels)) < shares).astype(int)


def test_label_frequencies_differ_less_than_in_shuffled_folds():
    Y = skewed_set()

    def distance(folds):
        return np.mean([np.abs(Y[fold].mean(axis=0) - Y.mean(axis=0)).mean() for fold in folds])

    for seed in range(3):
        shuffled = KFold(10, shuffle=True, random_state=seed)
        plain = distance([fold for _, fold in shuffled.split(Y)])
        assert distance(folds_of(Y, 10, seed)) < 0.5 * plain


def test_stratified_folds_are_reproducible():
    Y = skewed_set(100)
    first, again, other = (folds_of(Y, 5, seed) for seed in (0, 0, 1))
    assert all(map(np.array_equal, first, again))
    assert not all(map(np.array_equal, first, other))
    state = np.random.RandomState(0)
    assert all(map(np.array_equal, first, folds_of(Y, 5, state)))
    assert not all(map(np.array_equal, first, folds_of(Y, 5, state)))


def test_forms_of_indicators_are_equivalent():
    pd = pytest.importorskip("pandas")
    Y = skewed_set(60, 5)
    expected = folds_of(Y, 3)
    for form in (Y.astype(bool), Y.astype(float), Y.tolist(), sparse.csr_array(Y), pd.DataFrame(Y)):
        assert all(map(np.array_equal, folds_of(form, 3), expected))


@pytest.mark.parametrize(
    ("Y", "n_folds", "message"),
    [
        ([0, 1, 1], 2, r"has the shape \(3,\); expected label indicators"),
        ([[0, 2], [1, 0]], 2, "must hold 0 and 1 only"),
        ([[0, np.nan], [1, 0]], 2, "contains NaN"),
        ([[0, 1], [1, 0]], 3, "3 folds need at least as many samples, got 2"),
        ([[0, 1], [1, 0]], 1, "number of folds must be a whole number of at least 2, got 1"),
        ([[0, 1], [1, 0]], 2.0, "number of folds must be a whole number of at least 2, got 2.0"),
    ],
)
def test_invalid_arguments_of_the_splitter_raise(Y, n_folds, message):
    with pytest.raises(ValueError, match=message):
        folds_of(Y, n_folds)


def test_splitter_has_the_interface_of_scikit_learn():
    Y = skewed_set(100)
    cv = MultilabelStratifiedKFold(4, random_state=7)
    assert cv.get_n_splits() == cv.get_n_splits(Y, Y, None) == 4
    assert repr(cv) == "MultilabelStratifiedKFold(n_splits=4, random_state=7)"
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(cv.split(np.zeros((99, 1)), Y))


@pytest.mark.parametrize("routing", [False, True])
def test_splitter_in_scikit_learn_functions(small_set, routing):
    X, Y = small_set
    cv = MultilabelStratifiedKFold(random_state=0)
    knn = KNeighborsClassifier()
    with sklearn.config_context(enable_metadata_routing=routing):
        scores = cross_val_score(knn, X, Y, cv=cv, scoring="f1_micro")
        search = GridSearchCV(knn, {"n_neighbors": [3, 5]}, cv=cv, scoring="f1_micro").fit(X, Y)
    expected = [
        cross_val_score(knn, X, Y, cv=[split], scoring="f1_micro")[0] for split in cv.split(X, Y)
    ]
    np.testing.assert_array_equal(scores, expected)
    five = search.cv_results_["param_n_neighbors"] == 5
    assert search.cv_results_["mean_test_score"][five] == pytest.approx(np.mean(scores))
    assert clone(search).cv.n_splits == 5
