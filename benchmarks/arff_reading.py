"""Time pairmend's ARFF reader against liac-arff on the same text, in one run.

    python benchmarks/arff_reading.py FILE [FILE ...] [--out RESULTS.json]

Prints, for each file, the seconds of both, their ratio, and the peak memory of pairmend's reader.
Compressed files are decompressed first.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import arff as liac
from rich.console import Console
from rich.progress import track
from rich.table import Table

from pairmend._utils.files import OPENERS
from pairmend.datasets import load_file

MEMORY_OF = """
import sys
from pathlib import Path
from pairmend.datasets import load_file

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("VmHWM"))

before = peak()
load_file(sys.argv[1], ())
print(peak(), before)
"""


def measure(path: Path, repeats: int) -> dict[str, object]:
    with OPENERS.get(path.suffix, open)(path, "rt") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "file.arff")
        plain.write_text(text)
        ours, content = best_time(lambda: load_file(plain, ()), repeats)
        is_sparse = not hasattr(content.X, "strides")
        kind = liac.LOD if is_sparse else liac.DENSE
        theirs, _ = best_time(lambda: liac.loads(text, return_type=kind), repeats)
        ran = subprocess.run(
            [sys.executable, "-c", MEMORY_OF, str(plain)],
            capture_output=True,
            text=True,
            check=True,
        )
    peak, before = map(int, ran.stdout.split())
    return {
        "file": path.name,
        "rows": content.X.shape[0],
        "attributes": content.X.shape[1],
        "sparse": is_sparse,
        "ours_s": ours,
        "liac_s": theirs,
        "times_faster": theirs / ours,
        "peak_mib": peak / 1024,
        "peak_less_imports_mib": (peak - before) / 1024,
    }


def best_time(work, repeats: int) -> tuple[float, object]:
    best, result = float("inf"), None
    for _ in range(repeats):
        started = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - started)
    return best, result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument(
        "--repeats", type=int, default=3, help="number of runs, of which the fastest counts"
    )
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    options = parser.parse_args()
    console = Console()
    rows = [
        measure(path, options.repeats)
        for path in track(options.files, console=console, transient=True)
    ]
    table = Table(title="ARFF reading: pairmend and liac-arff")
    for heading in ("file", "rows", "ours s", "liac s", "times", "peak MiB", "less imports"):
        table.add_column(heading, justify="right")
    for row in rows:
        shown = ("file", "rows", "ours_s", "liac_s", "times_faster", "peak_mib",
                 "peak_less_imports_mib")  # fmt: skip
        cells = (row[name] for name in shown)
        table.add_row(*(f"{v:.3g}" if isinstance(v, float) else str(v) for v in cells))
    console.print(table)
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
