"""What differs on Windows and macOS, as far as it can be simulated on any system."""

import io
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import pandas as pd
import pytest

from pairmend._utils import files
from pairmend._utils.files import written
from pairmend.cli import main
from pairmend.datasets import load_file


@pytest.mark.parametrize("n_failures", [2, 100])
def test_a_file_that_another_program_reads(n_failures, monkeypatch, tmp_path):
    """On Windows it is replaced if it is open for a moment, else the error says so."""
    replace, left = os.replace, iter(range(n_failures))

    def refuse(source, target):
        if next(left, None) is not None:
            raise PermissionError(13, "Access is denied")
        replace(source, target)

    monkeypatch.setattr(files, "WAITS", (0, 0))
    monkeypatch.setattr(os, "replace", refuse)
    path = tmp_path / "a.txt"
    path.write_text("old")
    refused = pytest.raises(PermissionError, match="Access is denied")
    with refused if n_failures > 2 else nullcontext(), written(path) as file:
        file.write("new")
    assert path.read_text() == ("old" if n_failures > 2 else "new")
    assert [*tmp_path.iterdir()] == [path]


def test_predictions_on_standard_output_are_the_bytes_of_a_file(monkeypatch, tmp_path):
    """Also if the encoding of the output has not all characters, as on Windows."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{n / 8},{n % 2},{n % 3 // 2}\n" for n in range(30))
    Path("x.csv").write_text(f"size,海,sun\n{rows}", encoding="utf-8")
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="cp1252", newline="\r\n"))
    words = ["--labels", "海", "sun", "--method", "BinaryRelevance", "--model", "m.model"]
    assert main(["fit", "x.csv", *words, "--json", "-"]) == 0
    assert main(["datasets", "describe", "x.csv", "--labels", "2", "--quiet"]) == 0
    assert b"\\u6d77" in buffer.getvalue()
    buffer.truncate(0)
    for out in ("p.csv", "-"):
        assert main(["predict", "m.model", "x.csv", "--out", out, "--quiet"]) == 0
    assert buffer.getvalue().lstrip(b"\0") == Path("p.csv").read_bytes()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads /proc of Linux")
def test_readers_leave_no_file_open(tmp_path):
    """Windows would neither replace nor remove the file."""
    frame = pd.DataFrame({"size": [1.5, 2.5, 0.5], "sea": [1, 0, 1], "sun": [0, 1, 1]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.csv.gz", index=False)
    if pytest.importorskip("openpyxl"):
        frame.to_excel(tmp_path / "a.xlsx", index=False)
    if pytest.importorskip("pyarrow"):
        frame.to_parquet(tmp_path / "a.parquet")
    kept = [load_file(path, labels=["sea", "sun"]) for path in sorted(tmp_path.iterdir())]
    assert len(kept) == 4
    links = (Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))
    open_files = {os.readlink(link) for link in links if link.is_symlink()}
    assert not {path for path in open_files if path.startswith(str(tmp_path))}
    assert str(tmp_path) not in Path("/proc/self/maps").read_text(encoding="utf-8")
