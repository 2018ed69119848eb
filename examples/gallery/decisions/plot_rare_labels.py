"""
Rare labels
===========

Some labels occur in one of a hundred rows. Are they predicted at all, and what changes it? With
Hamming loss a label with a probability below 0.5 is not predicted, and rare labels hardly ever have
more. A metric that gives all labels the same importance, macro F1, needs thresholds of their own.
"""

# %%
# Data
# ----
# Ten labels with frequencies from 1 % to 50 %. The features contain the information on each label
# with noise, and each label has a nonlinear part.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.RandomState(0)
frequencies = np.array([0.01, 0.015, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.35, 0.5])
X = rng.randn(6000, 12)
signal = X[:, :10] + 0.7 * np.abs(X[:, 1:11]) + 0.6 * rng.randn(6000, 10)
cuts = [np.quantile(column, 1 - f) for column, f in zip(signal.T, frequencies, strict=True)]
Y = (signal > cuts).astype(int)
X_train, Y_train, X_test, Y_test = X[:2000], Y[:2000], X[2000:], Y[2000:]
print("rows of each label in training:", Y_train.sum(axis=0))

# %%
# Four ways to decide
# -------------------
# One fit of :class:`~pairmend.MendedClassifier` is used with two metrics. For macro F1 it chooses
# between several thresholds, among them :class:`~pairmend.thresholds.BatchF1Thresholds`, which are
# made for rare labels. Binary relevance with the threshold 0.5, and with a threshold for each label
# that is fitted for F1, are the baselines.
from sklearn.metrics import f1_score, precision_score, recall_score

from pairmend import MendedClassifier, ThresholdedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.thresholds import F1Thresholds

base = BinaryRelevance(ScaledLogisticRegression()).fit(X_train, Y_train)
thresholded = ThresholdedClassifier(base, F1Thresholds(), random_state=0).fit(X_train, Y_train)
clf = MendedClassifier(ScaledLogisticRegression(), random_state=0).fit(X_train, Y_train)
predictions = {
    "binary relevance": base.predict(X_test),
    "with fitted thresholds": thresholded.predict(X_test),
}
for criterion in ("hamming", "macro_f1"):
    predictions[f"corrected, {criterion}"] = clf.set_params(criterion=criterion).predict(X_test)
print("thresholds for macro F1:", np.round(clf.threshold_.thresholds_, 2))

# %%
rows = {
    name: {
        "macro F1": f1_score(Y_test, predicted, average="macro"),
        "macro recall": recall_score(Y_test, predicted, average="macro"),
        "macro precision": precision_score(Y_test, predicted, average="macro", zero_division=0),
        "Hamming loss": (predicted != Y_test).mean(),
    }
    for name, predicted in predictions.items()
}
pd.DataFrame(rows).T.round(3)

# %%
figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
styles = {
    "binary relevance": ("s-", "0.7"),
    "with fitted thresholds": ("^-", "0.4"),
    "corrected, hamming": ("o-", "#0072B2"),
}
for name, predicted in predictions.items():
    style, colour = styles.get(name, ("D-", "#D55E00"))
    ax.plot(frequencies, f1_score(Y_test, predicted, average=None), style, color=colour, label=name)
ax.set(xscale="log", xlabel="frequency of the label", ylabel="F1 on the test set", ylim=(0, 1))
ax.set_xticks(frequencies, [f"{f:.1%}" if f < 0.02 else f"{f:.0%}" for f in frequencies])
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()

# %%
# Below a frequency of 5 % the F1 of binary relevance is low, and that of the correction for
# Hamming loss is lower still: it predicts rare labels even less. Fitted thresholds alone have most
# of the gain in macro F1, and the correction adds to it. Their price is precision: more of the
# predicted labels are wrong, and the Hamming loss rises.
