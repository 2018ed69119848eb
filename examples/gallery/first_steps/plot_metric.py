"""
Which metric should be optimised, and what does it change?
==========================================================

A multi-label prediction can be judged by each label, by the whole label set, or by F1. Does it
matter which metric a classifier is optimised for? One fit of :class:`~pairmend.MendedClassifier` is
evaluated here with four values of ``criterion``.

The data are yeast: 2,417 genes with 103 features and 14 labels, the functions of a gene. Every
second row is a test row.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pairmend import MendedClassifier
from pairmend.datasets import load
from pairmend.metrics import LOSSES

yeast = load("yeast")
X, Y = yeast.X, yeast.Y.astype(int)
X_train, Y_train, X_test, Y_test = X[::2], Y[::2], X[1::2], Y[1::2]

# %%
# ``criterion`` takes effect at prediction, so one fit is enough. It selects the rule by which
# probabilities become labels; the probabilities are the same.
clf = MendedClassifier(random_state=0).fit(X_train, Y_train)
losses, n_predicted = {}, {}
for criterion in LOSSES:
    predicted = clf.set_params(criterion=criterion).predict(X_test)
    losses[criterion] = {name: loss(Y_test, predicted) for name, loss in LOSSES.items()}
    n_predicted[criterion] = predicted.sum(axis=1).mean()
table = (
    pd.DataFrame(losses).T.rename_axis("optimised for").rename(columns=lambda name: f"{name} loss")
)
table.assign(labels_per_row=n_predicted).round(3)

# %%
# In each column the loss is lowest in the row that is optimised for it. The figure shows by how
# much each loss is higher than the lowest of its column.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
excess = table / table.min() - 1
positions = np.arange(len(table.columns))
colours = ["#0072B2", "#D55E00", "#009E73", "#C863A0"]
for number, (criterion, row) in enumerate(excess.iterrows()):
    left.bar(
        positions + 0.2 * (number - 1.5), 100 * row, 0.18, color=colours[number], label=criterion
    )
left.set_xticks(positions, [name.removesuffix(" loss") for name in table.columns])
left.set(ylabel="% above the lowest loss", xlabel="loss on the test set")
left.legend(title="optimised for", frameon=False)
right.bar(list(n_predicted), list(n_predicted.values()), color=colours)
right.axhline(Y_test.mean(axis=0).sum(), color="0.3", linestyle="--", label="true labels per row")
right.set(ylabel="predicted labels per row", xlabel="optimised for")
right.legend(frameon=False)
plt.show()

# %%
# - Hamming loss counts each wrong cell. Rare labels are hardly predicted, as they are wrong more
#   often than right.
# - Zero-one loss counts rows with any error. The prediction is one of the label sets seen in
#   training (``decision_`` is ``"sets"``).
# - Macro F1 gives all labels the same importance, so rare labels are predicted more often: many
#   more labels than a row has on average.
# - Micro F1 counts all cells together, and gives frequent labels more importance.
#
# Choose the metric by the cost of errors in the application. If the cost of a missed and of a
# wrongly predicted label is the same, it is Hamming loss.
