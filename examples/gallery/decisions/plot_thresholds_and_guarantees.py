"""
Thresholds, and labels with a guarantee
=======================================

From which probability on should a label be predicted, and can the share of labels that are found
be guaranteed? A threshold of :mod:`pairmend.thresholds` is fitted on out-of-fold probabilities by
:class:`~pairmend.ThresholdedClassifier`.
"""

# %%
# Thresholds
# ----------
# The data are yeast: 14 labels, about four of them in a row. Every second row is a test row.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pairmend import ThresholdedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.datasets import load
from pairmend.metrics import LOSSES
from pairmend.thresholds import CardinalityThreshold, F1Thresholds, FixedThreshold, TopLabels

yeast = load("yeast")
X, Y = yeast.X, yeast.Y.astype(int)
X_train, Y_train, X_test, Y_test = X[::2], Y[::2], X[1::2], Y[1::2]
base = BinaryRelevance(ScaledLogisticRegression())
thresholds = {
    "0.5 for all labels": FixedThreshold(0.5),
    "as many labels as in training": CardinalityThreshold(),
    "largest F1 of each label": F1Thresholds(),
    "four labels in every row": TopLabels(4),
}
rows = {}
for name, threshold in thresholds.items():
    clf = ThresholdedClassifier(base, threshold, random_state=0).fit(X_train, Y_train)
    predicted = clf.predict(X_test)
    rows[name] = {loss: function(Y_test, predicted) for loss, function in LOSSES.items()}
    rows[name]["labels per row"] = predicted.sum(axis=1).mean()
pd.DataFrame(rows).T.round(3)

# %%
# The threshold 0.5 has the lowest Hamming loss, the threshold of each label with the largest F1 the
# lowest macro F1 loss. Four labels in every row, the mean number, are best in micro F1 and zero-one
# loss. Which is right depends on the metric.
#
# A guaranteed recall
# -------------------
# :class:`~pairmend.thresholds.RecallControl` is the largest threshold for which the expected
# recall, the share of a row's labels that are predicted, is at least a given value. The threshold
# of a :class:`~pairmend.MendedClassifier` takes effect at prediction, so one fit is enough for
# several.
from pairmend import MendedClassifier
from pairmend.thresholds import RecallControl

clf = MendedClassifier(ScaledLogisticRegression(), random_state=0).fit(X_train, Y_train)
levels = np.array([0.6, 0.7, 0.8, 0.9, 0.95])
rows = []
for level in levels:
    predicted = clf.set_params(threshold=RecallControl(level)).predict(X_test)
    hits = predicted & Y_test
    recall = (hits.sum(axis=1) / Y_test.sum(axis=1)).mean()
    rows.append((recall, hits.sum() / predicted.sum(), predicted.sum(axis=1).mean()))
recall, precision, n_labels = np.transpose(rows)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot(levels, levels, color="0.5", linestyle="--", label="guaranteed recall")
left.plot(levels, recall, "o-", color="#0072B2", label="mean recall of a test row")
left.plot(levels, precision, "s-", color="#D55E00", label="precision")
left.set(xlabel="guaranteed recall", ylabel="measured on the test set")
left.legend(frameon=False)
right.plot(levels, n_labels, "o-", color="#0072B2", label="predicted")
right.axhline(Y_test.sum(axis=1).mean(), color="0.5", linestyle="--", label="true")
right.set(xlabel="guaranteed recall", ylabel="labels per row", ylim=(0, 14))
right.legend(frameon=False)
plt.show()

# %%
# The recall on the test set is close to the guaranteed one. It is guaranteed on average over draws
# of the rows, so a single value can be slightly below it. Its price are additional labels, most of
# which are wrong: with a guaranteed recall of 0.95 more than nine labels are predicted in a row,
# which has four on average.
#
# Leave labels open
# -----------------
# With two thresholds, the labels between them can be left to a person: above the higher one they
# are predicted with a guaranteed precision, below the lower one few true labels are lost.
from pairmend.thresholds import PrecisionControl, abstain

cuts = [
    clf.set_params(threshold=control).threshold_.threshold_
    for control in (RecallControl(0.95), PrecisionControl(0.75, confidence=0.95))
]
decided = abstain(clf.predict_proba(X_test), *cuts)
kinds = {1: "predicted", -1: "left open", 0: "not predicted"}
pd.DataFrame(
    {
        name: {
            "share of all cells": (decided == kind).mean(),
            "true": Y_test[decided == kind].mean(),
        }
        for kind, name in kinds.items()
    }
).T.round(3)

# %%
# A seventh of the cells is predicted, a third is not, and about half are left to a person.
