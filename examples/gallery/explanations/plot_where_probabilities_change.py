"""
Where does the correction change probabilities?
===============================================

In which region of the feature space does a base classifier err, and is that where the correction
acts? :func:`~pairmend.plots.plot_correction` draws the probability of a label before and after the
correction, and the change.
"""

# %%
# Data with a nonlinear label
# ---------------------------
# The label *shore* is a ring in the plane of two features; *hill* depends on a third one.
import numpy as np
import pandas as pd

rng = np.random.RandomState(0)
X = pd.DataFrame(rng.uniform(-1, 1, size=(1200, 3)), columns=["east", "north", "height"])
radius = np.hypot(X["east"], X["north"] - 0.2) + 0.05 * rng.randn(len(X))
Y = pd.DataFrame({"shore": (radius > 0.45) & (radius < 0.85), "hill": X["height"] > 0.2}).astype(
    int
)

# %%
# Fit and plot
# ------------
# The base classifier is linear. It can only represent that the ring is in the upper part of the
# square.
from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.plots import plot_correction

clf = MendedClassifier(ScaledLogisticRegression(), random_state=0).fit(X[:800], Y[:800])
figure = plot_correction(clf, X[800:], "shore", Y=Y[800:], features=["east", "north"])

# %%
# Each point is a test row. Before the correction the probability rises from bottom to top. After
# it, it is high in the ring and low inside and outside of it. The third plot shows the change:
# upwards at the bottom of the ring, downwards in its centre and in the upper corners.
#
# For the label *hill* the base classifier is right, and the correction changes little:
figure = plot_correction(clf, X[800:], "hill", Y=Y[800:], features=["east", "height"])

# %%
# The size of the change for each label, as numbers:
before = clf.estimator_.predict_proba(X[800:])
after = clf.predict_proba(X[800:])
pd.Series(np.abs(after - before).mean(axis=0), index=Y.columns, name="mean change").round(3)
