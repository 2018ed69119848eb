"""Messages about the progress of fit, and calls that joblib runs."""

import inspect
import re
from contextlib import nullcontext

import numpy as np
import pytest
from joblib import parallel_config
from joblib.parallel import ThreadingBackend
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.parallel import delayed

from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier, ThresholdedClassifier
from pairmend._utils.progress import MAX_MESSAGES, collect, iterate_calls, messages_to, report
from pairmend.baselines import BinaryRelevance
from public_classifiers import CLASSIFIERS, data_for, made, rows


def having(parameter):
    """Return the names of the classifiers with a parameter."""
    return [
        name
        for name, kind in CLASSIFIERS.items()
        if parameter in inspect.signature(kind).parameters
    ]


class Owner:
    def __init__(self, verbose=False):
        self.verbose = verbose


def heard(function):
    """Return the messages of a call, without seconds."""
    messages = []
    with messages_to(messages.append):
        function()
    return [re.sub(r", \d+\.\d s$", "", message) for message in messages]


@pytest.mark.parametrize(
    ("owner", "message", "printed"),
    [
        (Owner(True), "(split 1 of 2)  one\n  line", "[Owner] (split 1 of 2) one line\n"),
        (Owner(np.True_), lambda: "made", "[Owner] made\n"),
        (Owner(), lambda: 1 / 0, ""),  # a message that is not shown is not made
        (Owner(0), "message", ""),
        (object(), "message", ""),
        (None, "message", ""),
    ],
)
def test_messages_are_printed_if_verbose(owner, message, printed, capsys):
    report(owner, message)
    assert capsys.readouterr() == (printed, "")


def test_a_listener_gets_all_messages_instead_until_its_block_ends(capsys):
    def failing():
        report(Owner(True), "inner")
        raise ZeroDivisionError

    outer, inner = [], []
    with messages_to(outer.append):
        with pytest.raises(ZeroDivisionError), messages_to(inner.append):
            failing()
        report(Owner(), lambda: "outer")
        report(None, "of no classifier")
    assert (inner, outer) == (["[Owner] inner"], ["[Owner] outer"])
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("n", [0, 1, MAX_MESSAGES, MAX_MESSAGES + 1, 12345])
def test_the_number_of_messages_about_results_is_bounded(n):
    results = []
    messages = heard(lambda: results.extend(collect(Owner(), iter(range(n)), n, "pair", "trained")))
    assert results == list(range(n))
    assert len(messages) == min(n, MAX_MESSAGES)
    assert messages[-1:] == [f"[Owner] (pair {n} of {n}) trained"] * bool(n)


def test_a_result_is_computed_when_the_one_before_is_reported():
    events = []
    calls = (delayed(events.append)(f"computed {k}") for k in (1, 2))
    with messages_to(lambda message: events.append(message.split(")")[0])):
        collect(Owner(), iterate_calls(calls, n_jobs=1), 2, "chain", "trained")
    assert events == ["computed 1", "[Owner] (chain 1 of 2", "computed 2", "[Owner] (chain 2 of 2"]
    with pytest.raises(ValueError, match="batch_size"):
        iterate_calls([], batch_size=0)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_fit_is_silent_by_default(name, capfd):
    made(name).fit(*data_for(name))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", having("verbose"))
def test_verbose_prints_and_changes_no_prediction(name, capsys):
    X, Y = rows()
    expected = made(name).fit(X, Y).predict(X)
    verbose = made(name, verbose=True).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith(f"[{name}] ") for line in lines)
    np.testing.assert_array_equal(verbose.predict(X), expected)
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="verbose"):
        made(name, verbose="much").fit(X, Y)


X, Y = rows()
COUNTED = {
    "BinaryRelevance": (4, "label"),
    "CalibratedLabelRanking": (10, "pair"),
    "ClassifierChainEnsemble": (2, "chain"),
    "PairwiseClassifier": (6, "pair"),
    "RAkEL": (4, "model"),
}
BY_LABEL = BinaryRelevance(LogisticRegression(), n_jobs=2)
MESSAGES = [
    *(
        (made(name, estimator=GaussianNB()), [f"({unit} {k + 1} of {n}) trained" for k in range(n)])
        for name, (n, unit) in COUNTED.items()
    ),
    (BY_LABEL, [f"(label {k} of 4) trained" for k in (1, 2, 3, 4)]),
    (PairwiseClassifier(random_state=0), ["6 pairs trained in closed form"]),
    (
        ThresholdedClassifier(BY_LABEL, cv=3, n_jobs=2, random_state=0),
        [
            *(f"(split {k} of 3) out-of-fold predictions" for k in (1, 2, 3)),
            "threshold: CardinalityThreshold()", "fitting BinaryRelevance on 60 rows",
        ],
    ),
    (
        CorrectedPairwiseClassifier(validation=2, random_state=0),
        [
            "(training 1 of 3) 6 pairs on 60 rows", "6 pairs trained in closed form",
            "(training 2 of 3) 6 pairs on 30 rows", "6 pairs trained in closed form",
            "(training 3 of 3) 6 pairs on 30 rows", "6 pairs trained in closed form",
            "validation set of 60 rows predicted",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("clf", "expected"), MESSAGES)
def test_steps_are_reported_in_order(clf, expected):
    name = f"[{type(clf).__name__}] "
    found = [line.removeprefix(name) for line in heard(lambda: clf.fit(X, Y)) if name in line]
    assert found == expected


class WithoutGenerators(ThreadingBackend):
    supports_return_generator = False


@pytest.mark.parametrize("is_reported", [False, True])
@pytest.mark.parametrize("base", [None, GaussianNB()])
@pytest.mark.parametrize("name", having("n_jobs"))
def test_a_backend_without_generators_changes_no_prediction(name, base, is_reported):
    params = {} if base is None or name == "ThresholdedClassifier" else {"estimator": base}
    if not set(params) <= set(inspect.signature(CLASSIFIERS[name]).parameters):
        pytest.skip("has no base classifier")
    X, y = data_for(name)
    expected = made(name, **params).fit(X, y).predict(X)
    with parallel_config(backend=WithoutGenerators()):
        with messages_to([].append) if is_reported else nullcontext():
            clf = made(name, **params, n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(clf.predict(X), expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork beside threads
def test_the_multiprocessing_backend():
    expected = BinaryRelevance(GaussianNB()).fit(X, Y).predict_proba(X)
    clf = BinaryRelevance(GaussianNB(), n_jobs=2)
    with parallel_config(backend="multiprocessing"):
        np.testing.assert_array_equal(clf.fit(X, Y).predict_proba(X), expected)
