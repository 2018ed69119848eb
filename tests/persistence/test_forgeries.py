"""Model files forged at random, and models with indices out of range."""

import os
import textwrap

import numpy as np
import pytest

import model_forgeries
from pairmend import CorrectedPairwiseClassifier
from pairmend.persistence.audit import reachable

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")

X = np.random.RandomState(0).normal(size=(40, 3))
Y = (X[:, :2] > 0).astype(int)


def test_files_forged_at_random_are_refused_or_harmless():
    counts, failures = model_forgeries.run_batch(0, 40)
    assert not failures
    assert counts["refused"] > 10
    assert counts["predicted"] > 0


def test_a_killed_process_is_reported_as_a_failure(tmp_path):
    """A process that dies is a failure of its seed, and the next seeds are tried."""
    script = tmp_path / "dying.py"
    source = textwrap.dedent(
        """
        import sys
        sys.path.insert(0, {folder!r})
        import model_forgeries
        from pathlib import Path
        def forge(seed, folder):
            path = Path(folder, f"{{seed}}.model")
            path.touch()
            return path, None
        def outcome(path, rows):
            if path.name == "2.model":
                import os
                os.kill(os.getpid(), 11)
            return "refused"
        model_forgeries.originals = list
        model_forgeries.forge = forge
        model_forgeries.outcome = outcome
        arguments = sys.argv
        model_forgeries.check_seeds(int(arguments[2]), int(arguments[3]), arguments[5])
        """
    )
    script.write_text(source.format(folder=os.path.dirname(model_forgeries.__file__)))
    old, model_forgeries.__file__ = model_forgeries.__file__, str(script)
    try:
        counts, failures = model_forgeries.run_batch(0, 5)
    finally:
        model_forgeries.__file__ = old
    assert list(failures) == [2]
    assert counts == {"before a failure": 2, "refused": 2}


def forged_pairs(change):
    """Predict with a classifier whose parts were changed."""
    model = CorrectedPairwiseClassifier(validation=2, random_state=0).fit(X, Y)
    expected = model.predict_proba(X)
    assert np.isfinite(expected).all()
    changed = change(structures_of(model))
    assert changed
    with pytest.raises(IndexError, match="out of bounds"):
        model.predict_proba(X)


def structures_of(model):
    """Return all objects of the library that a model holds, by class."""
    found = {}
    for value in reachable(model):
        if type(value).__module__.startswith("pairmend."):
            found.setdefault(type(value).__name__, []).append(value)
    return found


def test_row_numbers_out_of_range_are_an_error():
    def change(found):
        for label_rows in found["LabelRows"]:
            label_rows.rows[:] = 10**9
        return found["LabelRows"]

    forged_pairs(change)


def test_column_numbers_out_of_range_are_an_error():
    def change(found):
        for design in found["Design"]:
            design.weight_table[:] = 10**9
        return found["Design"]

    forged_pairs(change)
