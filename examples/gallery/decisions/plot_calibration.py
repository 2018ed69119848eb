"""
Are the probabilities calibrated?
=================================

Of all labels with a predicted probability of 0.7, are 70 % true? A reliability diagram compares
predicted probabilities with observed frequencies. Probabilities of two base classifiers are
compared here before and after the correction.
"""

# %%
# The data are yeast. Naive Bayes multiplies the evidence of 103 features as if they were
# independent, so its probabilities are known to be too extreme.
import pandas as pd
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.naive_bayes import GaussianNB

from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.datasets import load
from pairmend.metrics import reliability
from pairmend.plots import plot_reliability

yeast = load("yeast")
X, Y = yeast.X, yeast.Y.astype(int)
X_train, Y_train, X_test, Y_test = X[::2], Y[::2], X[1::2], Y[1::2]

proba = {}
for name, base in {
    "naive Bayes": GaussianNB(),
    "logistic regression": ScaledLogisticRegression(),
}.items():
    models = {"base": BinaryRelevance(base), "corrected": MendedClassifier(base, random_state=0)}
    proba[name] = {
        kind: model.fit(X_train, Y_train).predict_proba(X_test) for kind, model in models.items()
    }

# %%
# Reliability diagrams
# --------------------
# All 14 labels are pooled. The lower plot has the number of predictions in each bin.
figure = plot_reliability(Y_test, proba["naive Bayes"], title="naive Bayes")

# %%
# The probabilities of naive Bayes are near 0 or 1, and hardly depend on how often the label is
# true. After the correction the points are close to the diagonal.
figure = plot_reliability(Y_test, proba["logistic regression"], title="logistic regression")

# %%
# The logistic regression is too certain above 0.5, as it has many features for its rows. The
# correction helps here, too, but there is less to correct.
#
# Scores
# ------
# Less is better in all three: Brier score (the mean squared error), log loss, and the calibration
# error, the mean distance from the diagonal.
pd.DataFrame(
    {
        (name, kind): {
            "Brier score": mean_squared_error(Y_test, p),
            "log loss": log_loss(Y_test.ravel(), p.ravel()),
            "calibration error": reliability(Y_test, p).error,
        }
        for name, kinds in proba.items()
        for kind, p in kinds.items()
    }
).T.round(3)

# %%
# Calibration is not all: predicting each label's frequency for every row would be calibrated, and
# useless. The Brier score and the log loss also measure how well rows are distinguished.
