"""Records of invented studies, and their reports."""

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
ERROR = "ValueError: y has <3> classes & no rows"
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
    noise=0.02,
):
    """Return the record of an invented study with losses near the published ones.

    `failed` has tuples of set, algorithm and fold (of the first repeat) without a result.
    `absent` names sets of the study that were not loaded. Without noise every fold has the
    published loss.
    """
    rng, known = np.random.RandomState(0), published.sets()
    sets = {known["name"].str.lower()[n]: n for n in paper_sets} | dict.fromkeys(own_sets)
    names = {"set": sets, "repeat": range(repeats), "fold": range(folds), "algorithm": algorithms}
    tasks = pd.MultiIndex.from_product(names.values(), names=list(names)).to_frame(index=False)
    is_failed = [
        (t.set, t.algorithm, t.fold) in failed and t.repeat == 0 for t in tasks.itertuples()
    ]
    shares = tasks["algorithm"].isin(["FCM-W", "FCM-O"]) & ("FCM" in algorithms)
    warned = (tasks["algorithm"] == "LPW") & (tasks["fold"] < 2)
    results = tasks[~np.array(is_failed)].merge(
        pd.Series(list(criteria), name="criterion"), "cross"
    )
    printed = published.losses().stack()
    centres = []
    for row in results.itertuples():
        centre = 0.4 - 0.02 * algorithms.index(row.algorithm)
        centre = printed.get((sets[row.set], row.criterion, row.algorithm), centre)
        if sets[row.set] in (11, 17) and noise:  # losses that the method can have
            centre = {"hamming": 0.48, "micro_f1": 0.92}.get(row.criterion, centre)
        centres.append(centre)
    values = np.clip(centres + rng.normal(0, noise, len(results)), 0, 1)
    greater = results["criterion"].map(pd.DataFrame(criteria).loc["greater_is_better"])
    other = {"N": 500, "d": 40, "L": 9, "LC": 2.1, "LD": 0.233, "avIR": 3.0, "AVsc": 0.1}
    facts = [known.loc[n].drop("name").to_dict() if n else other for n in sets.values()]
    about = {"class": "pairmend.PairwiseClassifier", "params": {"threshold": 0.5}}
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
            "algorithms": dict.fromkeys(algorithms, about),
            "criteria": criteria,
        },
        results=results.assign(value=np.where(greater, 1 - values, values)),
        tasks=tasks.assign(
            status=np.where(is_failed, "failed", "done"),
            seed=rng.randint(2**31, size=len(tasks)),
            fit_seconds=rng.uniform(0.5, 2, len(tasks)),
            predict_seconds=rng.uniform(0.1, 0.8, len(tasks)),
            fitted_by=np.where(shares, "FCM", tasks["algorithm"]),
            warnings=np.where(warned, WARNINGS, ""),
            error=np.where(is_failed, ERROR, ""),
            traceback=np.where(is_failed, f'File "fit.py", line 3, in fit\n{ERROR}', ""),
            chosen="",
            finished="2026-05-01T10:30:00+00:00",
            run=2,
        ),
        sets=pd.DataFrame(facts).assign(
            set=list(sets),
            title=[f"All about {name}" for name in sets],
            paper_number=np.array(list(sets.values()), dtype=float),
            sha256="0" * 64,
            source=[f"made up, {name}.arff" for name in sets],
        ),
        runs=pd.DataFrame({"run": [1, 2], "ended": ["", "2026-05-01T11:00:00+00:00"]}).assign(
            started="2026-05-01T10:00:00+00:00",
            versions=[{"python": "3.11.7", "numpy": "2.1.0", "pairmend": "0.1.0"}] * 2,
            machine=[{"system": "Linux", "processor": "x86_64", "cores": 2}] * 2,
        ),
    )


HOSTILE = '<script>alert("x")</script> & 50%_off #1 $x$ {a} ^~\\ |b|'
SMALL = {"own_sets": (), "criteria": TWO, "folds": 2, "repeats": 1}
RECORDS = {
    "paper": {
        "failed": [("flags", "FCM-W", 3), ("ours", "LPW", 0), ("ours", "LPW", 1)],
        "title": "The paper's study, made up",
    },
    "printed losses": {
        "paper_sets": tuple(published.sets().index), "own_sets": (), "folds": 2, "repeats": 1,
        "noise": 0.0,
    },
    "six sets": {
        "paper_sets": (), "own_sets": tuple(f"own {n}" for n in range(6)), "noise": 0.0,
    },
    "four sets": {"paper_sets": (10, 23, 24, 29), "own_sets": (), "repeats": 1},
    "sets to come": {**SMALL, "paper_sets": (8, 29), "absent": ("arts", "birds")},
    "twelve algorithms": {
        **SMALL, "algorithms": (*published.ALGORITHMS, *(f"own-{n}" for n in range(8))),
        "paper_sets": (6, 8, 9, 11, 29),
    },
    "more is better": {
        "criteria": {"accuracy": {"title": "accuracy", "greater_is_better": True}},
        "paper_sets": (6, 8, 9, 10, 29), "algorithms": ("A", "B", "C"), "repeats": 1,
    },
    "nothing finished": {
        **SMALL, "criteria": CRITERIA, "paper_sets": (29,),
        "failed": [("yeast", name, fold) for name in published.ALGORITHMS for fold in (0, 1)],
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
}  # fmt: skip
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
