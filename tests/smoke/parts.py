"""Parts of the package that an extra enables; ``python parts.py EXTRA`` runs one of them."""

import subprocess
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pairmend

SCRIPTS = Path(sys.executable).parent
DATA = Path("data").absolute()


def generated():
    """Return features and labels of 60 rows."""
    import numpy as np

    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(60, 4))
    return X, (X[:, :3] + rng.normal(scale=0.3, size=(60, 3)) > 0).astype(int)


def command(*words):
    """Run a command of pairmend."""
    subprocess.run([SCRIPTS / "pairmend", *map(str, words)], check=True, cwd=DATA)


def core():
    """Without extras only scikit-learn and what it needs is installed, and classifiers work."""
    installed = {dist.metadata["Name"].lower() for dist in metadata.distributions()}
    assert not installed & {"pandas", "matplotlib", "jinja2", "dask", "pyarrow", "skops", "numba"}
    X, Y = generated()
    classifiers = (
        pairmend.MendedClassifier(), pairmend.CorrectedPairwiseClassifier(),
        pairmend.baselines.BinaryRelevance(), pairmend.baselines.MLkNN(),
    )  # fmt: skip
    for clf in classifiers:
        assert clf.fit(X, Y).predict(X).shape == Y.shape
    command("--version")


def cli():
    X, Y = generated()
    rows = [[*features, *labels] for features, labels in zip(X.tolist(), Y.tolist(), strict=True)]
    table = [["a", "b", "c", "d", "sea", "sun", "sand"], *rows]
    text = "".join(",".join(map(str, row)) + "\n" for row in table)
    (DATA / "photos.csv").write_text(text, encoding="utf-8")
    labels = ("--labels", "sea", "sun", "sand")
    command("fit", "photos.csv", *labels, "--model", "photos.model")
    command("predict", "photos.model", "photos.csv", "--out", "predicted.csv")
    assert len((DATA / "predicted.csv").read_text(encoding="utf-8").splitlines()) == 61
    command("explain", "photos.model", "photos.csv", "--row", "0", "--html", "row.html")
    assert "</html>" in (DATA / "row.html").read_text(encoding="utf-8")


def dask():
    import dask.array as da

    from pairmend.distributed import fit, predict

    X, Y = generated()
    blocks = da.from_array(X, chunks=(20, 4)), da.from_array(Y, chunks=(20, 3))
    fitted = fit(pairmend.CorrectedPairwiseClassifier(random_state=0), *blocks)
    assert predict(fitted, blocks[0]).compute().shape == Y.shape


def data():
    from pairmend.datasets import load, load_file
    from pairmend.datasets.named_sets import cache_folder

    assert load("yeast").Y.shape == (2417, 14)
    assert load("simplehc").Y.shape[1] > 1
    assert cache_folder().name == "pairmend"
    (DATA / "photos.xlsx").write_bytes(b"no workbook")
    with suppress(ValueError):  # and not an ImportError
        load_file(DATA / "photos.xlsx")


def models():
    import numpy as np

    from pairmend.persistence import load_model, save_model

    X, Y = generated()
    clf = pairmend.baselines.BinaryRelevance().fit(X, Y)
    save_model(clf, DATA / "photos.model")
    np.testing.assert_array_equal(load_model(DATA / "photos.model").predict(X), clf.predict(X))


def parquet():
    from pyarrow import parquet, table

    from pairmend.datasets import load_file

    parquet.write_table(table({"size": [1.5, 2.5], "sea": [1, 0]}), DATA / "photos.parquet")
    assert load_file(DATA / "photos.parquet", labels=["sea"]).Y.tolist() == [[1], [0]]


def plots():
    from pairmend.plots import plot_reliability

    X, Y = generated()
    clf = pairmend.baselines.BinaryRelevance().fit(X, Y)
    plot_reliability(Y, {"base": clf.predict_proba(X)}).savefig(DATA / "reliability.png")
    assert (DATA / "reliability.png").stat().st_size


def study():
    from pairmend.report import write_report
    from pairmend.study import Study, run_study

    baselines = pairmend.baselines
    algorithms = {"BR": baselines.BinaryRelevance(), "ML-kNN": baselines.MLkNN()}
    run_study(Study({"small": generated()}, algorithms, folds=3), DATA / "results", jobs=2)
    assert "</html>" in write_report(DATA / "results").read_text(encoding="utf-8")
    command("report", "results")


def all():
    """Run the parts of all extras for one machine in one environment."""
    for part in (cli, data, models, parquet, plots, study):
        part()


if __name__ == "__main__":
    assert Path(pairmend.__file__).is_relative_to(sys.prefix), pairmend.__file__
    DATA.mkdir()
    globals()[sys.argv[1]]()
