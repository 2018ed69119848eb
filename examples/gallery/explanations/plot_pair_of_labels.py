"""
What does a local confusion matrix correct?
===========================================

How does the method of the paper work on a pair of labels? A linear classifier separates *sea* from
*beach*; the true boundary is curved. :class:`~pairmend.CorrectedPairwiseClassifier` estimates,
around each point, how often the classifier's decisions were right on validation rows, and corrects
its support by that.
"""

# %%
# Two labels with a curved boundary
# ---------------------------------
# Rows near the boundary have both labels.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood

rng = np.random.RandomState(0)
X = rng.uniform(-1, 1, size=(500, 2))
height = X[:, 1] - 0.8 * np.cos(2.6 * X[:, 0]) + 0.35 + 0.05 * rng.randn(len(X))
Y = pd.DataFrame({"sea": height > -0.08, "beach": height < 0.08}).astype(int)

# %%
# Support before and after
# ------------------------
# With ``validation=5`` all rows are validation rows: their decisions are out-of-fold predictions.
# ``beta`` is the inverse squared bandwidth of the Gaussian weights.
clf = CorrectedPairwiseClassifier(
    LogisticRegression(),
    validation=5,
    neighbourhood=GaussianNeighbourhood(beta=40.0),
    random_state=0,
).fit(X, Y)

x, y = np.meshgrid(np.linspace(-1, 1, 120), np.linspace(-1, 1, 120))
grid = np.column_stack([x.ravel(), y.ravel()])
supports = {"before": clf.pair_support(grid), "after the correction": clf.pair_corrected(grid)}
figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.2), sharey=True, layout="constrained")
for ax, (title, support) in zip(axes, supports.items(), strict=True):
    z = support.reshape(x.shape)
    image = ax.contourf(x, y, z, levels=np.linspace(0, 1, 21), cmap="PuOr", alpha=0.6)
    ax.contour(x, y, z, levels=[0.5], colors="black")
    for kind, marker in (("sea", "o"), ("beach", "^")):
        rows = (Y[kind] == 1) & (Y.sum(axis=1) == 1)
        ax.scatter(*X[rows].T, s=8, marker=marker, label=kind, alpha=0.8)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")
axes[0].legend(loc="lower left")
figure.colorbar(image, ax=axes, shrink=0.8, ticks=[0, 0.5, 1], label="support for sea")
plt.show()

# %%
# The black line is the boundary, where the support is 1/2. The corrected boundary follows the
# curve, although the classifier is the same.
#
# The numbers at one point
# ------------------------
# At the point (0, 0.3), on the wrong side of the linear boundary, the local confusion matrix has
# the true label in its rows and the decision in its columns:
point = np.array([[0.0, 0.3]])
clf.confusion(point)[0, 0].round(2)

# %%
# The explanation has the shares that follow from it:
print(clf.explain(point, labels=["sea"], n_neighbors=2)[0])
