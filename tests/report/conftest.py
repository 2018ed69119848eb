"""Records of invented studies, and their reports."""

import hashlib
from functools import cache

import numpy as np
import pandas as pd
import pytest

from pairmend import published
from pairmend.report import summarise, write_report
from pairmend.study import StudyRecord

CRITERIA = {
    "hamming": {"title": "Hamming loss", "greater_is_better": False},
    "macro_f1": {"title": "1 - macro F1", "greater_is_better": False},
    "micro_f1": {"title": "1 - micro F1", "greater_is_better": False},
    "zero_one": {"title": "zero-one loss", "greater_is_better": False},
}
TWO = {name: CRITERIA[name] for name in ("hamming", "micro_f1")}
TRACEBACK = (
    'Traceback (most recent call last):\n  File "fit.py", line 3, in fit\n'
    "ValueError: y has <3> classes & no rows\n"
)
WARNINGS = (
    "ConvergenceWarning: lbfgs <failed> to converge\n\nIncrease max_iter\n"
    "UserWarning: label 3 has no rows"
)


def make_record(
    *,
    paper_sets=(6, 8, 9, 10, 11, 17, 18, 22, 23, 24, 29),
    own_sets=("ours",),
    algorithms=published.ALGORITHMS,
    criteria=CRITERIA,
    folds=4,
    repeats=2,
    failed=(),
    absent=(),
    title="A study",
    printed_only=False,
):
    """Return the record of an invented study with losses near the published ones.

    `failed` has tuples of set, algorithm and fold (of the first repeat) without a result.
    `absent` names sets of the study that were not loaded.
    With `printed_only` every fold has the published loss.
    """
    rng = np.random.RandomState(0)
    printed = published.losses().stack()
    names = published.sets()["name"].str.lower()
    sets = {names[number]: number for number in paper_sets} | dict.fromkeys(own_sets)
    results, tasks = [], []
    for name, number in sets.items():
        for place, algorithm in enumerate(algorithms):
            for repeat in range(repeats):
                for fold in range(folds):
                    task = (name, repeat, fold, algorithm)
                    is_failed = (name, algorithm, fold) in failed and repeat == 0
                    tasks.append(make_task(*task, algorithms, is_failed, rng))
                    if is_failed:
                        continue
                    for criterion, about in criteria.items():
                        key = (number, criterion, algorithm)
                        centre = printed.get(key, 0.4 - 0.02 * place)
                        if (
                            number in (11, 17) and not printed_only
                        ):  # losses that the method can have
                            centre = {"hamming": 0.48, "micro_f1": 0.92}.get(criterion, centre)
                        spread = 0 if printed_only else 0.02
                        value = float(np.clip(centre + rng.normal(0, spread), 0, 1))
                        value = 1 - value if about["greater_is_better"] else value
                        results.append((*task, criterion, value))
    columns = ["set", "repeat", "fold", "algorithm", "criterion", "value"]
    return StudyRecord(
        definition={
            "name": "made-up",
            "title": title,
            "folds": folds,
            "repeats": repeats,
            "seed": 7,
            "split": "shuffled",
            "alpha": 0.1,
            "sets": {name: {"source": "catalogue"} for name in (*absent, *sets)},
            "algorithms": {
                name: {"class": "pairmend.PairwiseClassifier", "params": {"threshold": 0.5}}
                for name in algorithms
            },
            "criteria": criteria,
        },
        results=pd.DataFrame(results, columns=columns),
        tasks=pd.DataFrame(tasks),
        sets=pd.DataFrame([make_set(name, number, rng) for name, number in sets.items()]),
        runs=pd.DataFrame(
            [
                {
                    "started": "2026-05-01T10:00:00+00:00",
                    "ended": ended,
                    "versions": {"python": "3.11.7", "numpy": "2.1.0", "pairmend": "0.1.0"},
                    "machine": {"system": "Linux", "processor": "x86_64", "cores": 2},
                }
                for ended in ("", "2026-05-01T11:00:00+00:00")
            ]
        ),
    )


def make_task(name, repeat, fold, algorithm, algorithms, is_failed, rng):
    shares = algorithm in ("FCM-W", "FCM-O") and "FCM" in algorithms
    return {
        "set": name,
        "repeat": repeat,
        "fold": fold,
        "algorithm": algorithm,
        "status": "failed" if is_failed else "done",
        "seed": int(rng.randint(2**31)),
        "fit_seconds": float(rng.uniform(0.5, 2)),
        "predict_seconds": float(rng.uniform(0.1, 0.8)),
        "fitted_by": "FCM" if shares else algorithm,
        "warnings": WARNINGS if algorithm == "LPW" and fold < 2 else "",
        "error": "ValueError: y has <3> classes & no rows" if is_failed else "",
        "traceback": TRACEBACK if is_failed else "",
        "chosen": "",
        "finished": "2026-05-01T10:30:00+00:00",
    }


def make_set(name, number, rng):
    known = published.sets().loc[number].drop("name").to_dict() if number else None
    return {
        "set": name,
        "title": f"All about {name}",
        "paper_number": float("nan") if number is None else float(number),
        "sha256": hashlib.sha256(name.encode()).hexdigest(),
        "source": f"made up, {name}.arff",
        **(known or {"N": 500, "d": 40, "L": 9, "LC": 2.1, "LD": 0.233, "avIR": 3.0, "AVsc": 0.1}),
    }


HOSTILE = '<script>alert("x")</script> & 50%_off #1 $x$ {a} ^~\\ |b|'
RECORDS = {
    "paper": {
        "failed": [("flags", "FCM-W", 3), ("ours", "LPW", 0), ("ours", "LPW", 1)],
        "title": "The paper's study, made up",
    },
    "printed losses": {
        "paper_sets": tuple(published.sets().index),
        "own_sets": (),
        "folds": 2,
        "repeats": 1,
        "printed_only": True,
    },
    "one set": {"paper_sets": (29,), "own_sets": (), "criteria": TWO, "repeats": 1},
    "four sets": {"paper_sets": (10, 23, 24, 29), "own_sets": (), "repeats": 1},
    "two algorithms": {
        "paper_sets": (6, 8, 9, 10, 29),
        "algorithms": ("LPW", "FCM"),
        "criteria": TWO,
        "repeats": 1,
    },
    "one algorithm": {"algorithms": ("LPW",), "criteria": TWO, "repeats": 1, "folds": 3},
    "sets to come": {
        "paper_sets": (8, 29),
        "own_sets": (),
        "absent": ("arts", "birds"),
        "criteria": TWO,
        "folds": 2,
        "repeats": 1,
    },
    "twelve algorithms": {
        "algorithms": (*published.ALGORITHMS, *(f"own-{n}" for n in range(8))),
        "paper_sets": (6, 8, 9, 11, 29),
        "own_sets": (),
        "criteria": TWO,
        "folds": 2,
        "repeats": 1,
    },
    "more is better": {
        "criteria": {"accuracy": {"title": "accuracy", "greater_is_better": True}},
        "paper_sets": (6, 8, 9, 10, 29),
        "algorithms": ("A", "B", "C"),
        "repeats": 1,
    },
    "nothing finished": {
        "paper_sets": (29,),
        "own_sets": (),
        "folds": 2,
        "repeats": 1,
        "failed": [("yeast", name, fold) for name in published.ALGORITHMS for fold in (0, 1)],
    },
    "own algorithms": {
        "algorithms": ("chains", "trees", "neighbours"),
        "paper_sets": (),
        "own_sets": tuple(f"own {n}" for n in range(7)),
        "criteria": TWO,
        "repeats": 1,
    },
    "hostile names": {
        "algorithms": (HOSTILE, "LPW", "_under", "$m$"),
        "paper_sets": (6, 8, 9, 11, 29),
        "own_sets": (HOSTILE, "[x]", "=1+1"),
        "criteria": {
            HOSTILE: {"title": HOSTILE, "greater_is_better": False},
            "hamming": CRITERIA["hamming"],
            "Hamming!": {"title": "x | y", "greater_is_better": True},
        },
        "title": HOSTILE,
        "failed": [("flags", HOSTILE, 1)],
        "folds": 3,
    },
}
"""Arguments of `make_record` by the name of a study."""


@pytest.fixture(scope="session")
def make():
    """Return the record of a study by its name in `RECORDS`; tests may modify it."""
    return lambda name: make_record(**RECORDS[name])


@pytest.fixture(scope="session")
def summary_of(make):
    """The summary of a study by its name, computed once."""
    return cache(lambda name: summarise(make(name)))


@pytest.fixture(scope="session")
def page_of(summary_of, tmp_path_factory):
    """The path of a report by the name of the study, written once."""
    return cache(lambda name: write_report(summary_of(name), tmp_path_factory.mktemp("report")))


@pytest.fixture(scope="session", params=[name for name in RECORDS if name != "printed losses"])
def study(request):
    """The name of a study, for tests that apply to all studies."""
    return request.param


@pytest.fixture(scope="session")
def record(study, make):
    return make(study)


@pytest.fixture(scope="session")
def summary(study, summary_of):
    return summary_of(study)
