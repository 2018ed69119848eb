"""
Find mislabelled rows, and explain a wrong prediction
=====================================================

Are some labels of my training data wrong, and which of them made this prediction wrong?
Out-of-fold probabilities show which training labels are improbable. An explanation lists the
training rows with the largest weights in the correction of a row.
"""

# %%
# Data with wrong labels
# ----------------------
# Photos are points in a square, and three labels are regions of it. Of the 250 training labels of
# *sea*, 20 are flipped: they are wrong.
import numpy as np
import pandas as pd

rng = np.random.RandomState(0)
places = pd.DataFrame(rng.uniform(-1, 1, size=(850, 2)), columns=["east", "north"])
curve = 0.8 * np.cos(3 * places["east"])
truth = pd.DataFrame(
    {
        "sea": places["north"] < curve - 0.2,
        "beach": places["north"] > curve - 0.3,
        "city": places["east"] > 0.4,
    }
).astype(int)
X_train, X_test, Y_test = places[:250], places[250:], truth[250:]
flipped = rng.choice(250, 20, replace=False)
Y_train = truth[:250].copy()
Y_train.loc[flipped, "sea"] = 1 - Y_train.loc[flipped, "sea"]

# %%
# Find improbable labels
# ----------------------
# Each training row is predicted by a classifier that was not trained on it. Labels are sorted by
# how improbable they are.
import matplotlib.pyplot as plt
from sklearn.model_selection import cross_val_predict

from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression

clf = MendedClassifier(ScaledLogisticRegression(), random_state=0)
proba = cross_val_predict(clf, X_train, Y_train, cv=5, method="predict_proba")[:, 0]
order = np.abs(proba - Y_train["sea"].to_numpy()).argsort()[::-1]
improbable = order[:20]
found = np.isin(order, flipped).cumsum()
print(f"of the 20 least probable labels {found[19]} are flipped, of 40 {found[39]}")

# %%
# The line on the right counts the flipped labels that are found if rows are checked in this order.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for value, colour, name in ((0, "#C48A00", "not sea"), (1, "#0072B2", "sea")):
    left.scatter(*X_train[Y_train["sea"] == value].T.to_numpy(), s=12, color=colour, label=name)
left.scatter(
    *X_train.loc[flipped].T.to_numpy(), s=90, facecolors="none", edgecolors="black", label="flipped"
)
left.scatter(
    *X_train.iloc[improbable].T.to_numpy(), s=40, marker="x", color="#D55E00", label="improbable"
)
left.set(title="labels of the training rows", xticks=[], yticks=[], aspect="equal")
left.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2, frameon=False)
right.plot(np.arange(1, 61), found[:60], color="#D55E00")
right.axhline(20, color="0.5", linestyle="--")
right.set(xlabel="rows that are checked", ylabel="flipped labels that are found")
plt.show()

# %%
# All flipped labels are among the first 40. The other labels among these are correct, and belong to
# rows at the curved boundary of the sea, where the label is uncertain.
#
# Correct the labels and fit again
# --------------------------------
# The 40 least probable labels are checked and, where they are wrong, corrected.
checked = Y_train.copy()
checked.iloc[order[:40], 0] = truth["sea"].iloc[order[:40]]
models = {
    "with flipped labels": clf.fit(X_train, Y_train),
    "after the check": MendedClassifier(ScaledLogisticRegression(), random_state=0).fit(
        X_train, checked
    ),
}
sea = Y_test["sea"].to_numpy()
wrong = {name: model.predict(X_test)[:, 0] != sea for name, model in models.items()}
for name, rows in wrong.items():
    print(f"{name}: sea is predicted wrongly for {rows.sum()} of {len(X_test)} test rows")

# %%
# Explain a wrong prediction
# --------------------------
# Of the test rows that were wrong before the check and are right after it, the one whose
# probability changed most is explained by the first model. The training rows with the largest
# weights:
changes = [model.predict_proba(X_test)[:, 0] for model in models.values()]
repaired = wrong["with flipped labels"] & ~wrong["after the check"]
row = np.where(repaired, np.abs(changes[0] - changes[1]), 0).argmax()
explanation = clf.explain(X_test.iloc[[row]], labels=["sea"])[0]
before, after = (proba[row] for proba in changes)
print(f"true: {sea[row]}; probability before the check {before:.2f}, after {after:.2f}")
similar = explanation.to_frame("similar")[["row", "share"]]
similar.assign(
    label_in_training=Y_train["sea"].iloc[similar["row"]].to_numpy(),
    true_label=truth["sea"].iloc[similar["row"]].to_numpy(),
).round(2)

# %%
# Rows of large weight have a wrong label, which explains the error. Without knowing the true
# labels, the list shows which rows to check first. The figure shows what the base classifier used,
# and the terms of the probability.
from pairmend.plots import plot_explanation

figure = plot_explanation(explanation)
