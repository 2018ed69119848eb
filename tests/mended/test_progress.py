"""Messages about the progress of MendedClassifier.fit."""

import re

import pytest

from pairmend import MendedClassifier
from pairmend._utils.progress import messages_to
from public_classifiers import rows

PREFIX = "[MendedClassifier] "


def fitted(y=None, **params):
    """Fit, and return the classifier with its messages."""
    X, Y = rows()
    classifier = MendedClassifier(**{"estimator": None, "random_state": 0, **params})
    messages = []
    with messages_to(messages.append):
        classifier.fit(X, Y if y is None else y)
    assert all(message.startswith(PREFIX) for message in messages)
    return classifier, [message.removeprefix(PREFIX) for message in messages]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_messages_are_those_of_the_fitted_attributes(n_jobs):
    classifier, messages = fitted(cv=3, criterion="macro_f1", max_landmarks=20, n_jobs=n_jobs)
    for k in (1, 2, 3):
        assert re.fullmatch(
            rf"\(split {k} of 3\) out-of-fold predictions, \d+\.\d s", messages[k - 1]
        )
    search = classifier.search_
    expected = [
        "validation set: 60 rows, 20 of them landmarks",
        f"{len(search['loss'])} corrections compared",
    ]
    for title, weights in (
        ("stacking weights", classifier.stacking_weights_),
        ("stacking weights of label sets", classifier.label_set_weights_),
    ):
        shown = ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())
        expected.append(f"{title}: {shown}")
    assert messages[3 : 3 + len(expected)] == expected
    decision, fitting, last = messages[3 + len(expected) :]
    n_compared, loss = len(classifier.decisions_["loss"]), min(classifier.decisions_["loss"])
    assert decision.startswith(f"decision: '{classifier.decision_}'")
    assert decision.endswith(f"; loss {loss:.4f} by 'macro_f1'; {n_compared} compared")
    assert fitting == "fitting ScaledLogisticRegression on 60 rows"
    assert re.fullmatch(r"fitted in \d+\.\d s", last)


def test_the_threshold_of_a_decision_is_reported():
    _, messages = fitted(cv=2, decision="labels", threshold=0.25)
    (decision,) = (message for message in messages if message.startswith("decision"))
    assert decision.startswith("decision: 'labels' with FixedThreshold(value=0.25); loss ")


def test_one_dimensional_classes_have_no_decision():
    _, messages = fitted(rows()[0][:, :3].argmax(axis=1), cv=2)
    assert not any(message.startswith("decision") for message in messages)
    assert messages[-2] == "fitting ScaledLogisticRegression on 60 rows"


def test_verbose_prints_the_same_lines(capsys):
    _, messages = fitted(cv=2)
    MendedClassifier(None, random_state=0, cv=2, verbose=True).fit(*rows())
    printed = capsys.readouterr().out.splitlines()
    seconds = re.compile(r"\d+\.\d s$")
    assert [seconds.sub("", line) for line in printed] == [
        PREFIX + seconds.sub("", message) for message in messages
    ]


def test_messages_of_the_choice_of_a_base_classifier():
    classifier, messages = fitted(estimator="auto", cv=3)
    assert messages[0] == "fitting MultiLabelForest on 60 rows"
    (chosen,) = [message for message in messages if message.startswith("base classifiers: ")]
    for name, weight in classifier.base_weights_.items():
        assert f"{weight:.2f} {name}" in chosen
