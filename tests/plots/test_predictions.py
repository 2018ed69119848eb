"""Plots of labels, explanations and corrections: values, texts and layout."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chromium import contrast
from pairmend import CorrectedPairwiseClassifier, MendedClassifier, plots

matplotlib = pytest.importorskip("matplotlib")
NAMES = ["width", "height", "$depth$"]
LONG = "an extraordinarily long name of a label"


@cache
def fitted(kind, names=("sea", "sun", "sky")):
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(130, 3)) * [1, 2, 30]
    Y = np.column_stack([np.hypot(X[:, 0], X[:, 1] / 2) < 0.7, X[:, 2] > 0, X[:, 0] > 0.1])
    Y = Y.astype(int)
    frame = pd.DataFrame(X, columns=NAMES, index=[f"row-{n}" for n in range(130)])
    labels = pd.DataFrame(Y, columns=names, index=frame.index)
    make = {"mended": MendedClassifier, "corrected": CorrectedPairwiseClassifier}[kind]
    clf = make(LogisticRegression(), random_state=0)
    return clf.fit(frame[:90], labels[:90]), frame[90:], Y[90:]


def texts(items):
    return [item.get_text() for item in items]


@pytest.mark.parametrize("kind", ["mended", "corrected"])
def test_colours_are_the_probabilities_before_and_after(kind):
    clf, X, _ = fitted(kind)
    figure = plots.plot_correction(clf, X, "sea", features=["width", "$depth$"])
    points = [ax.collections[1] for ax in figure.axes[:3]]
    expected = X[["width", "$depth$"]].to_numpy()
    np.testing.assert_array_equal(points[0].get_offsets(), expected)
    proba = clf.predict_proba(X)[:, 0]
    explained = [each.labels[0] for each in clf.explain(X, labels=[0], n_contributions=0)]
    before = np.array([each.base for each in explained])
    for drawn, values in zip(points, (before, proba, proba - before), strict=True):
        np.testing.assert_allclose(drawn.get_array(), values)
    low, high = points[2].get_clim()
    assert high == -low == np.abs(proba - before).max()
    changed = np.array([each.changed for each in explained])
    rings = figure.axes[2].collections[-1].get_offsets()
    np.testing.assert_array_equal(rings, expected[changed])
    assert figure.get_suptitle() == f"sea: {changed.sum()} of 40 predictions changed"
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("width", "$depth$")


def test_rows_without_the_label_are_crosses(check_readable):
    clf, X, Y = fitted("mended")
    figure = plots.plot_correction(clf, X, 1, Y=Y, features=[0, 1])
    for points, has in zip(figure.axes[0].collections, (0, 1), strict=True):
        np.testing.assert_array_equal(points.get_offsets(), X[NAMES[:2]][Y[:, 1] == has])
    legend = texts(figure.legends[0].get_texts())
    assert legend == ["prediction changed", "true", "not true"]
    check_readable(figure)


def test_more_features_are_shown_by_principal_components():
    clf, X, _ = fitted("mended")
    figure = plots.plot_correction(clf, X, "sky")
    found = np.asarray(figure.axes[0].collections[1].get_offsets())
    pca = make_pipeline(StandardScaler(), PCA(2))
    # The sign of a component is arbitrary.
    np.testing.assert_allclose(abs(found), abs(pca.fit_transform(X)), atol=1e-9)
    share = 100 * pca[-1].explained_variance_ratio_[0]
    assert figure.axes[0].get_xlabel() == f"principal component 1 ({share:.0f} %)"


def test_categories_and_missing_values_have_a_place(rng):
    X = pd.DataFrame({"size": rng.rand(60), "colour": rng.choice(["red", "blue"], 60)})
    X["age"] = rng.rand(60)
    X.loc[3, "size"] = np.nan
    Y = np.column_stack([X["colour"] == "red", X["age"] > 0.4]).astype(int)
    clf = MendedClassifier(random_state=0).fit(X, Y)
    ax = plots.plot_correction(clf, X, 0).axes[0]  # the two numeric features
    place = ax.collections[1].get_offsets()[3]
    np.testing.assert_allclose(place, [X["size"].mean(), X["age"][3]])
    with pytest.raises(ValueError, match="expected two numeric features"):
        plots.plot_correction(clf, X, 0, features=["size", "colour"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"label": "moon"}, "'moon' is no label; expected a number from 0 to 2, or one of sea"),
        ({"label": 0, "features": ["width"]}, "expected two numeric features"),
        ({"label": 0, "features": [0, 7]}, "7 is no feature; expected a number from 0 to 2"),
        ({"label": 0, "Y": [[1]]}, "Y has the shape \\(1, 1\\); expected 40 rows and 3 labels"),
    ],
)
def test_wrong_input_is_refused(given, message):
    clf, X, _ = fitted("mended")
    with pytest.raises(ValueError, match=message):
        plots.plot_correction(clf, X, **given)


@pytest.mark.parametrize("names", [("sea", "sun", "sky"), (LONG + " 1", LONG + " 2", "$b$")])
@pytest.mark.parametrize("kind", ["mended", "corrected"])
def test_an_explained_prediction(kind, names, check_readable):
    clf, X, _ = fitted(kind, names)
    (explained,) = clf.explain(X[:1], labels=[0, 2, 1])
    check_readable(plots.plot_explanation(explained))
    figure = plots.plot_explanation(explained, n_labels=2)
    assert figure.get_suptitle() == f"Row 0 ({explained.index}) (1 more labels not shown)"
    assert len(figure.axes) == 4
    for label, amounts, terms in zip(
        explained.labels[:2], figure.axes[::2], figure.axes[1::2], strict=True
    ):
        expected = [one.amount for one in label.contributions or label.changes]
        widths = [bar.get_width() for bar in amounts.patches]
        assert widths == pytest.approx(sorted(expected, key=lambda amount: -abs(amount)))
        assert amounts.get_title(loc="left").startswith(label.name[:5])
        widths = [bar.get_width() for bar in terms.patches]
        assert (widths[0], widths[-1]) == (label.base, label.proba)
        assert sum(widths[:-1]) == pytest.approx(label.proba)
        assert terms.lines[0].get_xdata()[0] == label.threshold


def test_labels_are_counted_and_sorted():
    Y = pd.DataFrame([[1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]], columns=["sea", "sun", "sand"])
    for given in ((Y,), (Y.to_numpy(), list(Y))):
        frequencies, per_row, together, _ = plots.plot_labels(*given).axes
        assert texts(frequencies.get_yticklabels()) == ["sun", "sea", "sand"]
        assert [bar.get_width() for bar in frequencies.patches] == [3, 1, 1]
        assert [bar.get_height() for bar in per_row.patches] == [1, 1, 2]
        assert texts(together.texts) == ["1", "1", "1", "0", "1", "0"]
        shown = together.images[0].get_array()
        np.testing.assert_array_equal(np.ma.getmaskarray(shown), np.eye(3, dtype=bool))
    with pytest.raises(ValueError, match="names has 1 entries for the 3 labels"):
        plots.plot_labels(Y, ["sea"])


@pytest.mark.parametrize("n_labels", [1, 14, 400])
def test_many_labels_can_be_read(n_labels, rng, check_readable):
    Y = (rng.random_sample((50, n_labels)) < 0.3).astype(int)
    figure = plots.plot_labels(Y, [f"a long name of a label, {n}" for n in range(n_labels)])
    check_readable(figure)
    together = figure.axes[2]
    (image,) = together.images
    for text in together.texts:
        column, row = (int(place) for place in text.get_position())
        cell = image.to_rgba(image.get_array()[row, column])[:3]
        assert contrast(cell, matplotlib.colors.to_rgb(text.get_color())) > 2.5
