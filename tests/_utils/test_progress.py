"""Messages about the progress of fit: printed with verbose, passed to a listener, or none."""

import inspect
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier, ThresholdedClassifier
from pairmend._utils.progress import MAX_MESSAGES, collect, fitted_text, messages_to, report
from pairmend.baselines import BinaryRelevance
from pairmend.thresholds import F1Thresholds, NeverEmpty
from public_classifiers import CLASSIFIERS, data_for, made, rows

VERBOSE = {
    "BinaryRelevance",
    "CalibratedLabelRanking",
    "ClassifierChainEnsemble",
    "CorrectedPairwiseClassifier",
    "MendedClassifier",
    "PairwiseClassifier",
    "RAkEL",
    "ThresholdedClassifier",
}


class Owner:
    def __init__(self, verbose=False):
        self.verbose = verbose


def heard(function):
    """Return the messages of a call."""
    messages = []
    with messages_to(messages.append):
        function()
    return messages


def without_seconds(messages):
    return [re.sub(r", \d+\.\d s$", "", message) for message in messages]


@pytest.mark.parametrize("verbose", [True, 1, 2, np.True_])
def test_a_verbose_classifier_prints_to_standard_output(verbose, capsys):
    report(Owner(verbose), "(split 1 of 2)  one\n  line")
    assert capsys.readouterr() == ("[Owner] (split 1 of 2) one line\n", "")


@pytest.mark.parametrize("owner", [Owner(), Owner(0), object(), None])
def test_other_classifiers_print_nothing(owner, capsys):
    report(owner, "message")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("verbose", [False, True])
def test_a_listener_gets_all_messages_and_nothing_is_printed(verbose, capsys):
    assert heard(lambda: report(Owner(verbose), "message")) == ["[Owner] message"]
    assert capsys.readouterr() == ("", "")


def test_the_outer_listener_is_restored_also_after_an_error():
    def failing():
        report(Owner(), "inner")
        raise ZeroDivisionError

    outer, inner = [], []
    with messages_to(outer.append):
        with pytest.raises(ZeroDivisionError), messages_to(inner.append):
            failing()
        report(Owner(), "outer")
    assert (inner, outer) == (["[Owner] inner"], ["[Owner] outer"])


def test_a_message_is_made_only_if_it_is_shown(capsys):
    def message():
        calls.append(1)
        return "made"

    calls = []
    report(Owner(), message)
    assert not calls
    report(Owner(True), message)
    assert heard(lambda: report(Owner(), message)) == ["[Owner] made"]
    assert capsys.readouterr().out == "[Owner] made\n"
    assert len(calls) == 2


def test_nothing_is_reported_without_a_classifier():
    assert heard(lambda: report(None, "message")) == []


@pytest.mark.parametrize("n", [0, 1, 7, MAX_MESSAGES, MAX_MESSAGES + 1, 12345])
def test_the_number_of_messages_about_results_is_bounded(n):
    results = []
    messages = heard(lambda: results.extend(collect(Owner(), iter(range(n)), n, "pair", "trained")))
    assert results == list(range(n))
    assert len(messages) == min(n, MAX_MESSAGES)
    if n:
        assert without_seconds(messages[-1:]) == [f"[Owner] (pair {n} of {n}) trained"]


def test_a_result_is_reported_before_the_next_is_computed():
    events = []

    def results():
        for k in (1, 2):
            events.append(f"computed {k}")
            yield k

    with messages_to(lambda message: events.append(message.split(")")[0])):
        collect(Owner(), results(), 2, "chain", "trained")
    assert events == ["computed 1", "[Owner] (chain 1 of 2", "computed 2", "[Owner] (chain 2 of 2"]


def test_fitted_numbers_of_a_threshold():
    scores, Y = np.array([[0.2, 0.3], [0.6, 0.7]]), np.array([[0, 0], [1, 1]])
    threshold = NeverEmpty(F1Thresholds("micro")).fit(scores, Y)
    assert fitted_text(threshold) == (
        "NeverEmpty(threshold=F1Thresholds(average='micro')), F1Thresholds(average='micro'), "
        "thresholds_=[0.45 0.45]"
    )


def test_fitted_attributes_that_are_no_numbers_are_left_out():
    odd = Owner()
    odd.names_, odd.k_, odd._cut_, odd.value = ["a"], 2, 0.5, 1
    assert fitted_text(odd) == f"{odd!r}, k_=2"
    assert fitted_text(3) == "3"


def test_the_long_running_classifiers_have_the_parameter():
    has_it = {
        name for name, cls in CLASSIFIERS.items() if "verbose" in inspect.signature(cls).parameters
    }
    assert has_it == VERBOSE


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_fit_is_silent_by_default(name, capfd):
    made(name).fit(*data_for(name))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", sorted(VERBOSE))
def test_verbose_prints_and_changes_no_prediction(name, capsys):
    X, Y = rows()
    expected = made(name).fit(X, Y).predict(X)
    verbose = made(name, verbose=True).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith(f"[{name}] ") for line in lines)
    np.testing.assert_array_equal(verbose.predict(X), expected)
    assert capsys.readouterr().out == ""
    assert clone(verbose).verbose is True


@pytest.mark.parametrize("name", sorted(VERBOSE))
def test_an_invalid_verbose_is_refused(name):
    with pytest.raises(ValueError, match="verbose"):
        made(name, verbose="much").fit(*rows())


NUMBERED = {
    "BinaryRelevance": (4, "label"),
    "CalibratedLabelRanking": (10, "pair"),
    "ClassifierChainEnsemble": (2, "chain"),
    "PairwiseClassifier": (6, "pair"),
    "RAkEL": (4, "model"),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_trained_models_are_counted_in_order(name):
    n, unit = NUMBERED[name]
    classifier = made(name, estimator=GaussianNB())
    assert without_seconds(heard(lambda: classifier.fit(*rows()))) == [
        f"[{name}] ({unit} {k} of {n}) trained" for k in range(1, n + 1)
    ]


def test_processes_keep_the_order():
    X, Y = rows()
    classifier = BinaryRelevance(LogisticRegression(), n_jobs=2)
    expected = [f"[BinaryRelevance] (label {k} of 4) trained" for k in range(1, 5)]
    assert without_seconds(heard(lambda: classifier.fit(X, Y))) == expected
    thresholded = ThresholdedClassifier(classifier, cv=3, n_jobs=2, random_state=0)
    splits = [line for line in heard(lambda: thresholded.fit(X, Y)) if "(split" in line]
    assert without_seconds(splits) == [
        f"[ThresholdedClassifier] (split {k} of 3) out-of-fold predictions" for k in (1, 2, 3)
    ]


def test_a_threshold_is_reported():
    classifier = made("ThresholdedClassifier", estimator=BinaryRelevance(random_state=0))
    messages = [line for line in heard(lambda: classifier.fit(*rows())) if "[Thr" in line]
    cut = np.array2string(np.asarray(classifier.threshold_.threshold_), precision=3)
    assert without_seconds(messages) == [
        "[ThresholdedClassifier] (split 1 of 2) out-of-fold predictions",
        "[ThresholdedClassifier] (split 2 of 2) out-of-fold predictions",
        f"[ThresholdedClassifier] threshold: CardinalityThreshold(), threshold_={cut}",
        "[ThresholdedClassifier] fitting BinaryRelevance on 60 rows",
    ]


def test_the_closed_form_has_one_message_a_training():
    classifier = PairwiseClassifier(random_state=0)
    assert heard(lambda: classifier.fit(*rows())) == [
        "[PairwiseClassifier] 6 pairs trained in closed form"
    ]


@pytest.mark.parametrize(("validation", "n_trainings"), [(0.5, 1), (3, 4)])
def test_trainings_of_the_corrected_classifier_are_counted(validation, n_trainings):
    classifier = CorrectedPairwiseClassifier(validation=validation, random_state=0)
    messages = heard(lambda: classifier.fit(*rows()))
    assert messages[0] == (
        f"[CorrectedPairwiseClassifier] (training 1 of {n_trainings}) "
        f"6 pairs on {len(classifier.train_indices_)} rows"
    )
    numbers = [line.split("training ")[1][0] for line in messages if "(training" in line]
    assert numbers == [str(k + 1) for k in range(n_trainings)]
    assert messages[-1] == (
        "[CorrectedPairwiseClassifier] validation set of "
        f"{len(classifier.validation_indices_)} rows predicted"
    )
