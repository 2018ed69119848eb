"""
Labels that depend on each other
================================

If labels exclude or imply each other, which classifier predicts label sets that are possible? A
classifier that decides on each label alone can predict sets that never occur.
"""

# %%
# Labels with rules
# -----------------
# Each photo was taken at exactly one of four places. Waves occur only at a beach, trees in a
# forest or a city, and people mostly at a beach or in a city. The features show the labels with
# much noise.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.RandomState(0)
n_rows = 3000
place = rng.choice(["beach", "city", "forest", "desert"], n_rows)
labels = pd.get_dummies(pd.Series(place))
labels["waves"] = (place == "beach") & (rng.rand(n_rows) < 0.7)
labels["trees"] = (place == "forest") | ((place == "city") & (rng.rand(n_rows) < 0.5))
labels["people"] = rng.rand(n_rows) < np.where(np.isin(place, ["beach", "city"]), 0.8, 0.1)
labels = labels.astype(int)
X = labels @ rng.randn(7, 10) + 1.6 * rng.randn(n_rows, 10)
X_train, Y_train, X_test, Y_test = X[:1000], labels[:1000], X[1000:], labels[1000:]
sets_seen = set(map(tuple, Y_train.to_numpy()))
print(f"{len(sets_seen)} of 128 label sets occur in training")

# %%
# Five methods
# ------------
# All have the same logistic regression. A chain passes the decision on earlier labels to later
# ones; label powerset treats each label set as a class; ``criterion="zero_one"`` lets
# :class:`~pairmend.MendedClassifier` choose a label set that occurred in training, by its corrected
# probabilities and the frequencies of the sets.
from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance, ClassifierChainEnsemble, LabelPowerset
from pairmend.metrics import LOSSES

base = ScaledLogisticRegression()
models = {
    "binary relevance": BinaryRelevance(base),
    "10 chains": ClassifierChainEnsemble(base, random_state=0),
    "label powerset": LabelPowerset(base),
    "corrected, hamming": MendedClassifier(base, criterion="hamming", random_state=0),
    "corrected, zero_one": MendedClassifier(base, criterion="zero_one", random_state=0),
}
rows = {}
for name, model in models.items():
    predicted = model.fit(X_train, Y_train).predict(X_test)
    impossible = [tuple(row) not in sets_seen for row in predicted]
    rows[name] = {
        "Hamming loss": LOSSES["hamming"](Y_test, predicted),
        "zero-one loss": LOSSES["zero_one"](Y_test, predicted),
        "impossible sets": np.mean(impossible),
    }
table = pd.DataFrame(rows).T
table.round(3)

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
for ax, column in zip(axes, table.columns, strict=True):
    ax.barh(table.index, table[column], color=["0.7"] * 3 + ["#0072B2", "#D55E00"])
    ax.set(title=column)
axes[0].invert_yaxis()
plt.show()

# %%
# Of the label sets that binary relevance predicts, about a quarter are impossible, mostly sets
# without any place. That costs zero-one loss, in which every label of a row has to be right. Label
# powerset and the corrected classifier that optimises zero-one loss predict only sets seen in
# training, and have the lowest zero-one loss. In Hamming loss the chains and the corrected
# classifier that optimises it are better: which is best depends on the metric.
