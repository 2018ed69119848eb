"""
When correction does not help
=============================

When is the correction useless, and does it do harm? It corrects errors that depend on the place in
the feature space. If the base classifier has no such errors, there is nothing to correct.
"""

# %%
# Four kinds of data
# ------------------
# All have 400 training rows, 5 features and 4 labels, and the base classifier is a logistic
# regression.
#
# - *linear*: labels follow the model of the base classifier, so it cannot be better.
# - *no relation*: labels do not depend on the features.
# - *30 rows*: the same as *linear*, with too few rows to estimate local errors.
# - *curved*: labels have a quadratic part, which the base classifier cannot represent.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import mean_squared_error

from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.metrics import LOSSES

coefficients = np.random.RandomState(0).randn(5, 4)


def make_data(kind, rng, n_rows):
    """Return rows and labels drawn with logistic probabilities."""
    X = rng.randn(n_rows, 5)
    logits = {"no relation": np.zeros((n_rows, 4)) - 0.5, "curved": (X**2 - 1) @ coefficients}
    proba = 1 / (1 + np.exp(-logits.get(kind, X @ coefficients)))
    return X, (rng.rand(n_rows, 4) < proba).astype(int)


# %%
# Each kind is drawn eight times. The table and the figure have the difference between the corrected
# classifier and its base on 2,000 test rows; negative values are a gain.
rows = []
for kind in ("linear", "no relation", "30 rows", "curved"):
    for draw in range(8):
        rng = np.random.RandomState(draw)
        X_train, Y_train = make_data(kind, rng, 30 if kind == "30 rows" else 400)
        X_test, Y_test = make_data(kind, rng, 2000)
        base = BinaryRelevance(ScaledLogisticRegression()).fit(X_train, Y_train)
        clf = MendedClassifier(ScaledLogisticRegression(), random_state=0).fit(X_train, Y_train)
        losses = [
            {
                "Hamming loss": LOSSES["hamming"](Y_test, model.predict(X_test)),
                "Brier score": mean_squared_error(Y_test, model.predict_proba(X_test)),
            }
            for model in (base, clf)
        ]
        rows += [(kind, name, losses[1][name] - losses[0][name]) for name in losses[0]]
differences = pd.DataFrame(rows, columns=["data", "metric", "difference"])
summary = differences.groupby(["metric", "data"], sort=False)["difference"]
summary.agg(["mean", "min", "max"]).round(4)

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (metric, part) in zip(axes, differences.groupby("metric", sort=False), strict=True):
    for place, (_, values) in enumerate(part.groupby("data", sort=False)["difference"]):
        ax.scatter(values, [place] * len(values), s=25, alpha=0.6, color="#0072B2")
        ax.scatter(values.mean(), place, marker="|", s=300, color="#D55E00")
        ax.text(values.mean(), place - 0.25, f"{values.mean():+.3f}", ha="center")
    ax.axvline(0, color="0.5")
    ax.locator_params(axis="x", nbins=5)
    ax.set(title=metric, xlabel="corrected - base", ylim=(3.5, -0.6))
axes[0].set_yticks(range(4), differences["data"].unique())
plt.show()

# %%
# - *linear*: the correction changes almost nothing. The weights of the corrections are estimated on
#   out-of-fold predictions, and the uncorrected probability gets nearly all of the weight. Single
#   draws are worse by up to half a percentage point in Hamming loss.
# - *no relation*: a small gain, not because there is something to learn, but because the base
#   classifier overfits, and the correction pulls its probabilities towards the frequencies of the
#   labels.
# - *30 rows*: on average no difference, but the draws differ: some are worse, some better.
# - *curved*: this is the case for which the method is made.
#
# A fit of the corrected classifier trains the base classifier once more for each fold, about six
# times in all, also where it does not help. The :doc:`guide </mended>` has a table of more
# such simulations, among them one with a loss.
