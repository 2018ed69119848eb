"""Reading data files, and model files."""

import tempfile
from pathlib import Path

import numpy as np

from pairmend.baselines import BinaryRelevance
from pairmend.datasets import load_file
from pairmend.persistence import load_model, save_model


class Files:
    """A table of 5,000 rows and 40 columns, and a model."""

    def setup(self):
        """Write the files."""
        self.folder = tempfile.TemporaryDirectory()
        self.csv = Path(self.folder.name, "rows.csv")
        self.model = Path(self.folder.name, "rows.model")
        rng = np.random.RandomState(0)
        rows = np.hstack([rng.normal(size=(5000, 35)), rng.randint(2, size=(5000, 5))])
        names = [f"x{i}" for i in range(35)] + [f"label{i}" for i in range(5)]
        formats = ["%.6g"] * 35 + ["%d"] * 5
        np.savetxt(self.csv, rows, fmt=formats, delimiter=",", header=",".join(names), comments="")
        self.fitted = BinaryRelevance(random_state=0).fit(rows[:500, :35], rows[:500, 35:])
        save_model(self.fitted, self.model)

    def teardown(self):
        """Remove the files."""
        self.folder.cleanup()

    def time_load_file(self):
        """Read the CSV file."""
        load_file(self.csv, labels=[f"label{i}" for i in range(5)])

    def time_save_model(self):
        """Write the model file."""
        save_model(self.fitted, self.model)

    def time_load_model(self):
        """Check and read the model file."""
        load_model(self.model)


class Import:
    """Starting the command line."""

    def timeraw_import(self):
        """Import the package in a new process."""
        return "import pairmend"

    def timeraw_import_classifier(self):
        """Import a classifier, and with it scikit-learn."""
        return "from pairmend import MendedClassifier"
