"""SavedModel.explain: names of labels, feature values as they were read."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairmend import MendedClassifier, PairwiseClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.persistence import SavedModel, load_model, save_model

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")


@pytest.fixture(scope="module")
def photos():
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"blue": rng.rand(80).round(3), "place": rng.choice(["town", "coast"], 80)})
    X.index = [f"p{k}" for k in range(80)]
    Y = pd.DataFrame({"sea": X["place"] == "coast", "sun": (X["blue"] - 0.5) ** 2 < 0.06})
    return X, Y.astype(int)


def test_frames_and_dicts_have_the_same_explanation(photos, tmp_path):
    X, Y = photos
    save_model(
        MendedClassifier(ScaledLogisticRegression(), random_state=0).fit(X, Y),
        tmp_path / "photos.model",
    )
    saved = load_model(tmp_path / "photos.model")
    dicts = X.to_dict("records")
    by_frame, by_dicts = saved.explain(X[:3], training=X), saved.explain(dicts[:3], training=dicts)
    for k, (one, other) in enumerate(zip(by_frame, by_dicts, strict=True)):
        assert (one.index, other.index) == (f"p{k}", None)
        assert [label.name for label in one.labels] == ["sea", "sun"]
        assert one.labels == other.labels
        assert one.features == other.features
        assert [feature.value for feature in one.features] == X.iloc[k].tolist()
        assert one.same_rows == other.same_rows
        assert k in one.same_rows


def test_values_are_those_before_the_steps_of_a_pipeline(photos):
    X, Y = photos
    pipeline = make_pipeline(
        StandardScaler(), MendedClassifier(ScaledLogisticRegression(), random_state=0)
    )
    fitted = pipeline.fit(X[["blue"]].to_numpy(), Y.to_numpy())
    saved = SavedModel(fitted, ("blue",), ("sea", "sun"), {}, "")
    (explained,) = saved.explain(X[5:6][["blue"]], training=X[["blue"]])
    assert [label.name for label in explained.labels] == ["sea", "sun"]
    assert explained.features[0].value == X["blue"].iloc[5]
    for row in explained.training_rows:
        assert row.values == (X["blue"].iloc[row.row],)
    assert fitted[-1].classes_.tolist() == [0, 1]  # the model keeps its classes
    (of_array,) = saved.explain(X[5:6][["blue"]].to_numpy())
    assert of_array.labels == explained.labels


def test_classifiers_without_explanations_are_named(photos):
    X, Y = photos
    fitted = PairwiseClassifier().fit(X[["blue"]].to_numpy(), Y.to_numpy())
    saved = SavedModel(fitted, ("blue",), (), {}, "")
    with pytest.raises(ValueError, match="PairwiseClassifier, which has no explanations"):
        saved.explain(X[["blue"]])
