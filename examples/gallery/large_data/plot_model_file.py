"""
Save a model, and predict rows of JSON
======================================

How does a fitted classifier get into another program, without pickle? A model file of
:func:`~pairmend.persistence.save_model` contains arrays and plain values. It is checked before any
object is created, and runs no code when it is loaded.
"""

# %%
# Fit and save
# ------------
# The names and kinds of the columns are saved with the classifier. ``save_model`` returns the
# SHA-256 of the file, which ``load_model`` compares, and a line on what it holds of the rows.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pairmend import MendedClassifier
from pairmend.persistence import load_model, save_model

rng = np.random.RandomState(0)
photos = pd.DataFrame({"blue": rng.rand(400).round(2), "place": rng.choice(["coast", "town"], 400)})
labels = pd.DataFrame(
    {
        "sea": (photos["place"] == "coast") & (photos["blue"] > 0.3),
        "sun": (photos["blue"] - 0.5).abs() < 0.25,
    }
).astype(int)
clf = MendedClassifier(random_state=0).fit(photos, labels)
path = Path(tempfile.mkdtemp()) / "photos.model"
digest = save_model(clf, path)
print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")

# %%
# Load and predict
# ----------------
# Rows can be data frames, or a list with a dict for each row, as JSON is read. The names are
# those of fit, numbers may be texts, and None is a missing value.
saved = load_model(path, sha256=digest)
rows = [
    {"blue": 0.9, "place": "coast"},
    {"blue": "0.45", "place": "town"},
    {"blue": None, "place": "coast"},
]
pd.DataFrame(saved.predict_proba(rows), columns=saved.label_names).round(2)

# %%
# The loaded classifier predicts the same as the fitted one:
print((saved.estimator.predict_proba(photos) == clf.predict_proba(photos)).all())

# %%
# A damaged file is refused
# -------------------------
from pairmend.persistence import ModelFileError

content = bytearray(path.read_bytes())
content[len(content) // 2] ^= 1  # one bit
path.write_bytes(content)
try:
    load_model(path)
except ModelFileError as error:
    print(str(error).replace(str(path), path.name))

# %%
# The probabilities of a model over one column, as a check before it is used:
grid = pd.DataFrame({"blue": np.linspace(0, 1, 101), "place": "coast"})
figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for name, values, style in zip(
    saved.label_names, saved.predict_proba(grid).T, ("-", "--"), strict=True
):
    ax.plot(grid["blue"], values, style, label=name)
ax.set(xlabel="blue, at the coast", ylabel="probability", ylim=(-0.03, 1.03))
ax.legend(frameon=False)
plt.show()
