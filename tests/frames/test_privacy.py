"""What a fitted encoder holds: categories and common words, no other values of a column."""

import pickle
import struct
import warnings
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from pairmend import MendedClassifier, RandomSubspaceNB
from pairmend.base_classifiers import DenseScaler
from pairmend.baselines import BinaryRelevance
from pairmend.frames import ColumnWarning, FrameEncoder

N = 90
START = datetime(2001, 2, 3)
WORDS = ["sea", "sand", "sun", "town", "wood", "rain", "wind", "field", "snow", "road"]


def table(dtype):
    """Return a table of private values, and labels."""
    rng = np.random.RandomState(0)
    numbers = rng.normal(50, 10, N)
    notes = [" ".join([*rng.choice(WORDS, 5), f"single{row:03}word"]) for row in range(N)]
    frame = pd.DataFrame({
        "id": [f"person-{row:05}" for row in range(N)],
        "mail": [f"mail{row:03}@example.org" for row in range(N)],
        "note": notes,
        "number": numbers,
        "text of number": [f"{number:.7f}" for number in rng.normal(50, 10, N)],
        "date": [START + timedelta(seconds=int(s)) for s in rng.randint(9**9, size=N)],
        "text of date": [f"{rng.randint(1900, 2000)}-05-{row % 28 + 1:02}" for row in range(N)],
        "place": rng.choice(["coast", "town", "field"], N),
    })  # fmt: skip
    names = ["id", "mail", "place"]
    frame = frame.astype(dict.fromkeys(names, dtype))
    Y = np.column_stack([numbers > 50, frame["place"] == "coast", ["sea" in n for n in notes]])
    return frame, Y.astype(int)


def private_parts(frame):
    """Return the bytes by column that no fitted object may hold."""
    texts = {name: map(str, frame[name]) for name in ("id", "mail", "note", "text of number",
                                                      "text of date")}  # fmt: skip
    texts["word"] = [note.split()[-1] for note in frame["note"]]
    parts = {}
    for name, found in texts.items():
        listed = list(found)
        parts[name] = [text.encode() for text in listed]
        parts[f"{name} in an array"] = [text.encode("utf-32-le") for text in listed]
    days = frame["date"].astype("datetime64[us]").astype(np.int64) / 86_400_000_000
    floats = {"number": frame["number"], "text of number": frame["text of number"].astype(float),
              "date": days}  # fmt: skip
    for name, found in floats.items():
        parts[f"8 bytes of {name}"] = [struct.pack("<d", value) for value in found]
    stamps = frame["date"].astype("datetime64[us]").astype(np.int64)
    parts["8 bytes of date in microseconds"] = [struct.pack("<q", value) for value in stamps]
    return parts


@pytest.mark.parametrize("dtype", ["object", "category"])
@pytest.mark.parametrize(
    "fitted",
    [
        FrameEncoder(),
        DenseScaler(),
        RandomSubspaceNB(),
        BinaryRelevance(),
        MendedClassifier(cv=2, random_state=0),
        MendedClassifier(cv=2, scaling="range", random_state=0),
        MendedClassifier(cv=2, scaling="standard", random_state=0),
    ],
    ids=["encoder", "scaler", "naive Bayes", "relevance", "mended", "range", "standardized"],
)
def test_no_private_value_is_in_a_fitted_object(fitted, dtype):
    frame, Y = table(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        fitted.fit(frame, Y[:, 0] if isinstance(fitted, RandomSubspaceNB) else Y)
    content = pickle.dumps(fitted)
    assert b"coast" in content  # a category that the encoder distinguishes
    assert b"sea" in content  # a word of several rows
    found = {
        name: [part for part in parts if part in content]
        for name, parts in private_parts(frame).items()
    }
    assert {name: parts for name, parts in found.items() if parts} == {}
