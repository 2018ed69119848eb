"""Names and defaults that the command line shows without importing the code that uses them."""

LOSS_NAMES = ("hamming", "macro_f1", "micro_f1", "zero_one")
"""Names of the losses in :data:`pairmend.metrics.LOSSES`."""
MAX_FILE_BYTES = 2**32
"""Largest size of a data file after it is unpacked."""
MAX_FILE_CELLS = 2**28
"""Largest number of cells of a data file."""
MAX_MODEL_BYTES = 2**32
"""Largest memory that a model file may need."""
SHIPPED_STUDIES = ("paper", "mended", "family")
"""Studies that come with the package."""
STORED_PREDICTIONS = ("scores", "labels", "none")
"""What a study stores of the predictions of test rows: labels and scores, labels, or nothing."""
