"""
A first classifier on a table of your own
=========================================

How do I train a multi-label classifier on a table that has numbers, categories, dates and missing
values? Pass the data frame as it is. The columns are encoded by their kind, and the default of
:class:`~pairmend.MendedClassifier` chooses its base classifier itself.
"""

# %%
# The table
# ---------
# Each row of the table describes a photo. Three columns with 0 and 1 are the labels: a photo can
# show the sea, the sun and people, in any combination. The data are generated here;
# ``pandas.read_csv`` would return the same kind of table.
import numpy as np
import pandas as pd

rng = np.random.RandomState(0)
n_photos = 900
place = rng.choice(["coast", "town", "hills"], n_photos, p=[0.4, 0.4, 0.2])
hour = rng.uniform(0, 24, n_photos).round(1)
taken = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.randint(0, 365, n_photos), unit="D")
summer = np.cos((taken.day_of_year - 190) / 365 * 2 * np.pi)
blue = np.clip(0.3 + 0.25 * (place == "coast") + 0.1 * summer + 0.1 * rng.randn(n_photos), 0, 1)
daylight = np.abs(hour - 13) < 5 + 2.5 * summer
photos = pd.DataFrame({"place": place, "hour": hour, "taken": taken, "blue": blue.round(2)})
labels = pd.DataFrame(
    {
        "sea": (place == "coast") & (rng.rand(n_photos) < 0.85),
        "sun": daylight & (rng.rand(n_photos) < 0.9),
        "people": np.where(place == "town", hour > 9, summer > 0.2) & (rng.rand(n_photos) < 0.9),
    }
).astype(int)
photos.loc[rng.rand(n_photos) < 0.1, "blue"] = np.nan
photos.head()

# %%
# Fit and predict
# ---------------
# ``criterion`` is the metric to optimise. Rows are split into a training set and a test set, which
# has no influence on the fit.
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from pairmend import MendedClassifier

X_train, X_test, Y_train, Y_test = train_test_split(photos, labels, test_size=1 / 3, random_state=0)
clf = MendedClassifier(criterion="micro_f1", random_state=0).fit(X_train, Y_train)
print(f"micro F1 on the test set: {f1_score(Y_test, clf.predict(X_test), average='micro'):.3f}")

# %%
# How each column was read is an attribute of the fitted classifier:
pd.DataFrame(clf.frame_encoder_.columns_)[["name", "kind", "n_distinct", "n_missing"]]

# %%
# The probabilities of the first test rows, beside their true labels:
proba = pd.DataFrame(clf.predict_proba(X_test), columns=clf.classes_, index=X_test.index)
pd.concat({"probability": proba.round(2), "true": Y_test}, axis=1).head(4)

# %%
# Compare with a simple method
# ----------------------------
# Binary relevance trains one logistic regression for each label. A label is predicted if its
# probability is above 0.5, or above a threshold that is fitted for micro F1, too.
import matplotlib.pyplot as plt

from pairmend import ThresholdedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.thresholds import F1Thresholds

relevance = BinaryRelevance(ScaledLogisticRegression())
thresholded = ThresholdedClassifier(relevance, F1Thresholds(average="micro"), random_state=0)
models = {
    "binary relevance": relevance.fit(X_train, Y_train),
    "with a fitted threshold": thresholded.fit(X_train, Y_train),
    "MendedClassifier": clf,
}
scores = pd.DataFrame(
    {name: f1_score(Y_test, model.predict(X_test), average=None) for name, model in models.items()},
    index=labels.columns,
)
ax = scores.plot.bar(rot=0, color=["0.8", "0.5", "#D55E00"], figsize=(7, 3.6))
ax.set(ylabel="F1 on the test set", ylim=(0, 1))
ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.15), ncols=3, frameon=False)
plt.show()

# %%
# The hours with daylight, and the hours with people in a town, are intervals, which a logistic
# regression of the hour cannot represent. For the sea the place is enough, and binary relevance is
# as good. The default compares a logistic regression, a random forest, a kernel ridge regression
# and their weighted sums; here it chose the forest:
print(clf.base_weights_)
