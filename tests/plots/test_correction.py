"""plot_correction: positions, probabilities, marks of changed predictions, errors."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from pairmend import CorrectedPairwiseClassifier, MendedClassifier, plots
from pairmend.base_classifiers import ScaledLogisticRegression

pytest.importorskip("matplotlib")
NAMES = ["width", "height", "$depth$"]


@cache
def fitted(kind):
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(130, 3)) * [1, 2, 30]
    Y = np.column_stack([np.hypot(X[:, 0], X[:, 1] / 2) < 0.7, X[:, 2] > 0, X[:, 0] > 0.1])
    Y = Y.astype(int)
    frame = pd.DataFrame(X, columns=NAMES)
    labels = pd.DataFrame(Y, columns=["sea", "sun", "sky"])
    if kind == "mended":
        clf = MendedClassifier(LogisticRegression(), random_state=0)
    else:
        clf = CorrectedPairwiseClassifier(LogisticRegression(), random_state=0, validation=3)
    return clf.fit(frame[:90], labels[:90]), frame[90:], Y[90:]


@pytest.mark.parametrize("kind", ["mended", "corrected"])
def test_colours_are_the_probabilities_before_and_after(kind):
    clf, X, _ = fitted(kind)
    figure = plots.plot_correction(clf, X, "sea", features=["width", "$depth$"])
    before, after, change = figure.axes[:3]
    np.testing.assert_array_equal(
        before.collections[0].get_offsets(), X[["width", "$depth$"]].to_numpy()
    )
    proba = clf.predict_proba(X)[:, 0]
    np.testing.assert_allclose(after.collections[0].get_array(), proba)
    expected = [each.labels[0].before for each in clf.explain(X)]
    np.testing.assert_allclose(before.collections[0].get_array(), expected)
    np.testing.assert_allclose(change.collections[0].get_array(), proba - expected)
    low, high = change.collections[0].get_clim()
    assert high == -low == np.abs(proba - expected).max()
    changed = np.array([each.labels[0].changed for each in clf.explain(X)])
    rings = change.collections[-1].get_offsets()
    np.testing.assert_array_equal(rings, X[["width", "$depth$"]].to_numpy()[changed])
    assert figure.get_suptitle() == f"sea: {changed.sum()} of 40 predictions changed"
    assert (before.get_xlabel(), before.get_ylabel()) == ("width", "$depth$")


def test_rows_without_the_label_are_crosses():
    clf, X, Y = fitted("mended")
    figure = plots.plot_correction(clf, X, 1, Y=Y, features=[0, 1])
    circles, crosses = figure.axes[0].collections
    np.testing.assert_array_equal(circles.get_offsets(), X[NAMES[:2]].to_numpy()[Y[:, 1] == 1])
    np.testing.assert_array_equal(crosses.get_offsets(), X[NAMES[:2]].to_numpy()[Y[:, 1] == 0])
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert legend == ["true", "not true"]


def test_more_features_are_shown_by_principal_components():
    clf, X, _ = fitted("mended")
    figure = plots.plot_correction(clf, X, "sky")
    found = np.asarray(figure.axes[0].collections[0].get_offsets())
    pca = PCA(2).fit(StandardScaler().fit_transform(X))
    expected = pca.transform(StandardScaler().fit_transform(X))
    signs = np.sign((found * expected).sum(axis=0))  # the sign of a component is arbitrary
    np.testing.assert_allclose(found, expected * signs, atol=1e-9)
    share = 100 * pca.explained_variance_ratio_[0]
    assert figure.axes[0].get_xlabel() == f"principal component 1 ({share:.0f} %)"


def test_categories_and_missing_values_have_a_place():
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"size": rng.rand(60), "colour": rng.choice(["red", "blue"], 60)})
    X["age"] = rng.rand(60)
    X.loc[3, "size"] = np.nan
    Y = np.column_stack([X["colour"] == "red", X["age"] > 0.4]).astype(int)
    clf = MendedClassifier(ScaledLogisticRegression(), random_state=0).fit(X, Y)
    found = plots.plot_correction(clf, X, 0).axes[0].collections[0].get_offsets()
    assert np.isfinite(found).all()
    by_feature = plots.plot_correction(clf, X, 0, features=["size", "age"])
    place = by_feature.axes[0].collections[0].get_offsets()[3]
    np.testing.assert_allclose(place, [X["size"].mean(), X["age"][3]])
    with pytest.raises(ValueError, match="'colour' is not numeric"):
        plots.plot_correction(clf, X, 0, features=["size", "colour"])


def test_texts_are_inside_the_figure(drawn, cut_off):
    clf, X, Y = fitted("mended")
    figure = plots.plot_correction(clf, X, "sea", Y=Y)
    drawn(figure.axes[0])
    for ax in figure.axes:
        assert cut_off(ax) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"label": "moon"}, "label='moon' is no label; choose one of sea, sun, sky"),
        ({"label": 3}, "label=3 is no label; expected 0 to 2"),
        ({"label": 0, "features": ["width"]}, "expected two features"),
        ({"label": 0, "features": ["width", "mass"]}, "'mass' is no feature"),
        ({"label": 0, "features": [0, 7]}, "7 is no feature; expected 0 to 2"),
        ({"label": 0, "Y": [[1]]}, "Y has the shape \\(1, 1\\); expected .* of the 40 rows"),
    ],
)
def test_wrong_input_is_refused(given, message):
    clf, X, _ = fitted("mended")
    with pytest.raises(ValueError, match=message):
        plots.plot_correction(clf, X, **given)
