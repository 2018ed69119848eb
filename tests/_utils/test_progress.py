"""Messages about the progress of fit, and calls that joblib runs."""

import inspect
import re

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.parallel import delayed

from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier, ThresholdedClassifier
from pairmend._utils.progress import MAX_MESSAGES, messages_to, report, run_calls
from pairmend.baselines import BinaryRelevance
from public_classifiers import CLASSIFIERS, data_for, made, rows

X, Y = rows()
OWNER = BinaryRelevance()


def heard(function):
    """Return the messages of a call, without seconds."""
    messages = []
    with messages_to(messages.append):
        function()
    return [re.sub(r", \d+\.\d s$", "", message) for message in messages]


def test_a_message_is_one_line_and_made_only_if_it_is_shown():
    assert heard(lambda: report(OWNER, "(split 1 of 2)  one\n  line")) == [
        "[BinaryRelevance] (split 1 of 2) one line"
    ]
    report(OWNER, lambda: 1 / 0)


@pytest.mark.parametrize("n", [0, 1, MAX_MESSAGES, 1234])
def test_the_number_of_messages_about_results_is_bounded(n):
    results, calls = [], (delayed(abs)(-k) for k in range(n))
    messages = heard(
        lambda: results.extend(run_calls(OWNER, calls, n, "pair", "trained", n_jobs=1))
    )
    assert results == list(range(n))
    assert len(messages) == min(n, MAX_MESSAGES)
    assert messages[-1:] == [f"[BinaryRelevance] (pair {n} of {n}) trained"] * bool(n)


def test_a_result_is_computed_when_the_one_before_is_reported():
    events = []
    calls = (delayed(events.append)(f"computed {k}") for k in (1, 2))
    with messages_to(lambda message: events.append(message.split(" ")[2])):
        run_calls(OWNER, calls, 2, "chain", "trained", n_jobs=1)
    assert events == ["computed 1", "1", "computed 2", "2"]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_fit_prints_if_verbose_only_and_predicts_the_same(name, capfd):
    X, y = data_for(name)
    silent = made(name).fit(X, y)
    assert capfd.readouterr() == ("", "")
    if "verbose" not in inspect.signature(CLASSIFIERS[name]).parameters:
        return
    verbose = made(name, verbose=True).fit(X, y)
    lines = capfd.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith(f"[{name}] ") for line in lines)
    np.testing.assert_array_equal(verbose.predict(X), silent.predict(X))


BY_LABEL = BinaryRelevance(LogisticRegression(), n_jobs=2)


@pytest.mark.parametrize(("clf", "expected"), [
    (PairwiseClassifier(GaussianNB()), [f"(pair {k} of 6) trained" for k in range(1, 7)]),
    (ThresholdedClassifier(BY_LABEL, cv=3, n_jobs=2, random_state=0),
     [*(f"(split {k} of 3)" for k in (1, 2, 3)), "threshold", "fitting BinaryRelevance"]),
    (CorrectedPairwiseClassifier(validation=2, random_state=0),
     [part for k in (1, 2, 3) for part in (f"(training {k} of 3) 6 pairs", "6 pairs trained")]
     + ["validation set"]),
])  # fmt: skip
def test_steps_are_reported_in_order(clf, expected):
    name = f"[{type(clf).__name__}] "
    found = [line.removeprefix(name) for line in heard(lambda: clf.fit(X, Y)) if name in line]
    assert all(line.startswith(part) for line, part in zip(found, expected, strict=True))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork beside threads
def test_a_backend_without_generators():
    expected = BinaryRelevance(GaussianNB()).fit(X, Y).predict_proba(X)
    clf = BinaryRelevance(GaussianNB(), n_jobs=2)
    with parallel_config(backend="multiprocessing"):
        assert heard(lambda: clf.fit(X, Y))
        np.testing.assert_array_equal(clf.predict_proba(X), expected)
