"""
A study of your own, and its report
===================================

How do I compare classifiers of my own on several datasets, with tests and a report? A
:class:`~pairmend.study.Study` names datasets, algorithms and metrics. It is cross-validated, and
each result is stored when it is computed, so that an interrupted study can be continued.
"""

# %%
# The study
# ---------
# Datasets are arrays, names of the catalogue, files or functions. Six generated datasets differ in
# the number of labels and in the noise of the labels. Any classifier with the interface of
# scikit-learn can be compared.
import tempfile
from pathlib import Path

from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

from pairmend import MendedClassifier
from pairmend.baselines import BinaryRelevance, MLkNN
from pairmend.datasets import make_hyperspheres
from pairmend.study import Study, read_study, run_study

sets = {}
for n_labels in (4, 8):
    for noise in (0.0, 0.05, 0.1):
        data = make_hyperspheres(
            200, n_labels=n_labels, n_relevant=6, noise=noise, random_state=n_labels
        )
        sets[f"{n_labels} labels, noise {noise}"] = (data.X, data.Y)
study = Study(
    sets=sets,
    algorithms={
        "binary relevance": BinaryRelevance(LogisticRegression()),
        "chain": ClassifierChain(LogisticRegression()),
        "ML-kNN": MLkNN(),
        "corrected": MendedClassifier(LogisticRegression(), cv=3, random_state=0),
    },
    criteria=["hamming", "zero_one"],
    folds=3,
    title="Four classifiers on generated data",
)
folder = Path(tempfile.mkdtemp()) / "study"
results = run_study(study, folder)
results.head(3)

# %%
# The mean losses over datasets and folds; less is better.
results.pivot_table("value", "algorithm", "criterion").round(3)

# %%
# Tests
# -----
# The tests of :mod:`pairmend.stats` take a table of losses with a row for each dataset and a column
# for each algorithm.
from pairmend import plots, stats

losses = results[results["criterion"] == "hamming"].pivot_table("value", "set", "algorithm")
print(f"Friedman's test: p = {stats.friedman(losses)['p_value']:.4f}")
stats.wilcoxon(losses, adjust="shaffer")[["p_value", "adjusted_p_value"]].round(3)

# %%
difference = stats.critical_difference(n_algorithms=losses.shape[1], n_sets=len(losses))
ax = plots.critical_difference(stats.average_ranks(losses), difference)
figure = ax.figure

# %%
# Bars join algorithms that do not differ significantly by Nemenyi's test. With six datasets and an
# adjustment for six comparisons Wilcoxon's test cannot be significant at 0.05: its smallest p-value
# is 2 / 2⁶ = 0.03, times 6. Bayesian tests can be read with few datasets, too:
stats.bayesian_signed_rank(losses[["binary relevance", "corrected"]]).round(3)

# %%
# The report
# ----------
# The report is an HTML page that opens without network, with all tables as LaTeX, CSV and Markdown
# and all figures as SVG and PDF beside it.
from pairmend.report import write_report

page = write_report(folder)
print(sorted(path.name for path in page.parent.iterdir()))

# %%
# The stored results can be read again, also by other programs: they are one SQLite file.
record = read_study(folder)
print(len(record.results), "results;", len(record.tasks), "tasks")

# %%
# The command line does the same for a study file: ``pairmend study ours.toml``. The page
# :doc:`/study` describes it, and :doc:`/generated/reports` has reports of this kind.
