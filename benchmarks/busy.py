"""Time a default MendedClassifier fit beside busy processes, with and without OMP_NUM_THREADS=1.

    python benchmarks/busy.py [--busy 4] [--rows 3000] [--rounds 5]

Fits take turns, each in a process of its own. The ratio should be at most 1.3 with four busy
processes on two processors, and 1 on an idle machine (`--busy 0`).
"""

import argparse
import os
import statistics
import subprocess
import sys

FIT = """
import sys, time
sys.path.insert(0, {folder!r})
from compare_trees import generate
from pairmend import MendedClassifier

X, Y = generate({rows})
MendedClassifier(random_state=0).fit(X[:200], Y[:200])
start = time.perf_counter()
MendedClassifier(random_state=0).fit(X, Y)
print(time.perf_counter() - start)
"""


def seconds(rows: int, **variables: str) -> float:
    """Return the wall time of a fit in a process with some environment variables."""
    program = FIT.format(folder=os.path.dirname(os.path.abspath(__file__)), rows=rows)
    environment = {name: value for name, value in os.environ.items() if "_NUM_THREADS" not in name}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(
        command, env={**environment, **variables}, check=True, capture_output=True, text=True
    )
    return float(ran.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--busy", type=int, default=4, help="number of busy processes")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    endless = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(endless) for _ in range(options.busy)]
    default, one = [], []
    try:
        for _ in range(options.rounds):
            default.append(seconds(options.rows))
            one.append(seconds(options.rows, OMP_NUM_THREADS="1"))
            print(f"default {default[-1]:.1f} s, one thread {one[-1]:.1f} s", flush=True)
    finally:
        for other in others:
            other.kill()
    medians = statistics.median(default), statistics.median(one)
    print(f"medians {medians[0]:.1f} s and {medians[1]:.1f} s, ratio {medians[0] / medians[1]:.2f}")


if __name__ == "__main__":
    main()
