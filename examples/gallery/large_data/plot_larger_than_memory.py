"""
Data larger than memory
=======================

How do I fit a classifier on rows that do not fit into memory? :mod:`pairmend.distributed` fits and
predicts on Dask arrays block by block. Here the blocks are small, so that the example is fast; the
code is the same for more rows, and for a cluster.
"""

# %%
# Rows in blocks
# --------------
# The rows are generated block by block when they are needed: no block is kept. With files, use
# ``dask.dataframe.read_parquet`` or ``dask.array.from_zarr``.
import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

BLOCK, N_BLOCKS, N_FEATURES, N_LABELS = 1000, 12, 10, 4
centres = np.random.RandomState(0).uniform(-0.5, 0.5, size=(N_LABELS, N_FEATURES))


def make_block(number):
    """Return the rows and labels of a block: label i is a ball around centre i."""
    rng = np.random.RandomState(number)
    X = rng.uniform(-1, 1, size=(BLOCK, N_FEATURES))
    distances = np.linalg.norm(X[:, None] - centres, axis=2)
    return X, (distances + 0.1 * rng.randn(BLOCK, N_LABELS) < 1.9).astype(int)


blocks = [dask.delayed(make_block, nout=2)(number) for number in range(N_BLOCKS)]
X = da.concatenate([da.from_delayed(b[0], (BLOCK, N_FEATURES), dtype=float) for b in blocks])
Y = da.concatenate([da.from_delayed(b[1], (BLOCK, N_LABELS), dtype=int) for b in blocks])
print(X)

# %%
# Fit block by block
# ------------------
# A base classifier with ``partial_fit`` is trained block by block. A worker holds one block, the
# model and the sums of the landmarks. Without a ``distributed.Client`` the threads of Dask are
# used.
from sklearn.linear_model import SGDClassifier

from pairmend import MendedClassifier, distributed

sgd = SGDClassifier(loss="log_loss", average=True, random_state=0)
clf = distributed.fit(MendedClassifier(sgd, cv=3, max_landmarks=500, random_state=0), X, Y)

# %%
# Predict
# -------
# Predictions are Dask arrays, too: nothing is computed until their blocks are written or reduced.
# Test rows are further blocks.
from sklearn.metrics import hamming_loss

X_test, Y_test = make_block(N_BLOCKS + 1)


def losses_of(clf):
    """Return the losses of the base classifier and of the corrected one on new rows."""
    base = clf.estimator_.predict_proba(X_test) > 0.5
    return hamming_loss(Y_test, base), hamming_loss(Y_test, clf.predict(X_test))


print("Hamming losses: base {:.3f}, corrected {:.3f}".format(*losses_of(clf)))
proba = distributed.predict_proba(clf, X)
print("chunks of the probabilities:", proba.chunks[0])
print("mean probability of each label:", proba.mean(axis=0).compute().round(3))

# %%
# How the loss depends on the number of rows
# ------------------------------------------
# The same fits on the first blocks only:
n_rows = BLOCK * np.array([1, 3, 6, N_BLOCKS])
losses = [losses_of(distributed.fit(clf, X[:n], Y[:n])) for n in n_rows]
figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
base, corrected = zip(*losses, strict=True)
ax.plot(n_rows, base, "s--", label="base", color="0.5")
ax.plot(n_rows, corrected, "o-", label="corrected", color="#D55E00")
ax.set(xlabel="training rows", ylabel="Hamming loss on new rows", ylim=(0.2, 0.25))
ax.legend(frameon=False)
plt.show()

# %%
# The labels are balls, which the linear base classifier cannot represent, so more rows do not help
# it. The corrected classifier is better, and improves with the rows near each landmark.
