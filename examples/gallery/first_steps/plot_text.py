"""
Texts with TF-IDF
=================

How do I classify texts that can have several topics? Compute TF-IDF features first, in a pipeline.
:class:`~pairmend.MendedClassifier` takes the sparse rows as they are; distances are then those of
rows scaled to length 1, the cosine distances that are usual for texts.
"""

# %%
# Texts
# -----
# The texts are generated: each has one to three of six topics, and most of its words are from
# these topics or common to all. Some words belong to two topics, so a word alone is not enough.
import numpy as np
import pandas as pd

WORDS = {
    "finance": "bank interest share loan market price trade tax profit fund",
    "nature": "bank river tree bird season wild plant rain stream field",
    "sport": "match score field goal season coach team pitch final race",
    "music": "pitch score band note concert record song stage tune play",
    "computing": "record memory tree field code server note plant network bug",
    "theatre": "play stage scene cast trade act drama curtain script match",
}
COMMON = "the and of to in it was for on with that this day year people time"
rng = np.random.RandomState(0)
topics = list(WORDS)


def make_text(n_words=22):
    """Return a text and its topics."""
    chosen = rng.choice(topics, rng.choice([1, 2, 3], p=[0.5, 0.35, 0.15]), replace=False)
    vocabulary = [word for topic in chosen for word in WORDS[topic].split()]
    words = np.where(
        rng.rand(n_words) < 0.3,
        rng.choice(vocabulary, n_words),
        rng.choice(COMMON.split(), n_words),
    )
    return " ".join(words), set(chosen.tolist())


texts, tags = zip(*(make_text() for _ in range(1500)), strict=True)
print(texts[0], sorted(tags[0]))

# %%
# The topics of each text become a 0/1 column for each topic.
from sklearn.preprocessing import MultiLabelBinarizer

binarizer = MultiLabelBinarizer(classes=topics)
Y = binarizer.fit_transform(tags)
texts_train, texts_test, Y_train, Y_test = texts[:1000], texts[1000:], Y[:1000], Y[1000:]

# %%
# Fit
# ---
# Both methods have the same logistic regression and the same TF-IDF features.
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline

from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance

models = {
    "binary relevance": BinaryRelevance(ScaledLogisticRegression()),
    "corrected": MendedClassifier(ScaledLogisticRegression(), criterion="micro_f1", random_state=0),
}
scores = {}
for name, model in models.items():
    pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True), model).fit(texts_train, Y_train)
    predicted = pipeline.predict(texts_test)
    scores[name] = f1_score(Y_test, predicted, average=None)
    print(f"{name}: micro F1 {f1_score(Y_test, predicted, average='micro'):.3f}")

# %%
import matplotlib.pyplot as plt

ax = pd.DataFrame(scores, index=topics).plot.bar(rot=0, color=["0.7", "#D55E00"], figsize=(7, 3.4))
ax.set(ylabel="F1 on the test set", ylim=(0, 1))
ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=2, frameon=False)
plt.show()

# %%
# New texts
# ---------
# The last pipeline predicts the topics of new texts. Words that were not in training are ignored.
new = ["the band was on the stage for a concert", "rain on the river bank this season"]
binarizer.inverse_transform(pipeline.predict(new))

# %%
# A text column beside other columns needs no pipeline: in a data frame, strings of several words
# that rarely repeat are encoded by TF-IDF, see
# :doc:`/auto_examples/first_steps/plot_first_classifier` and :doc:`the guide </tables>`.
