"""Compare the speed of two source trees of pairmend in one run.

    git worktree add ../before COMMIT
    python benchmarks/compare_trees.py ../before . --data FOLDER [--sets yeast plant medical]

Each tree runs in a separate process. The two processes alternate: each turn fits and predicts LPW,
FCM, FCM-W and FCM-O in all folds of a set. The table gives the median over the rounds of the ratio
after / before, for wall time and processor time. A ratio above 1 means that the second tree is
slower.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

SETTINGS = [{}, {"balance": "labels"}, {"overlap": 0.5}]
"""FCM, FCM-W and FCM-O."""


def serve(folder: str) -> None:
    """Time all folds of each set whose name is read from standard input."""
    import numpy as np

    from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier
    from pairmend.datasets import load
    from pairmend.model_selection import shuffled_folds

    sets: dict[str, tuple] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in sets:
            data = load(name, data_dir=folder)
            X = data.X.toarray() if hasattr(data.X, "toarray") and name != "medical" else data.X
            Y = np.asarray(data.Y).astype(bool)
            sets[name] = X, Y, list(shuffled_folds(len(Y), 10, 0))
        X, Y, folds = sets[name]
        wall, processor = time.perf_counter(), time.process_time()
        for train, test in folds:
            PairwiseClassifier(random_state=0).fit(X[train], Y[train]).predict(X[test])
            corrected = CorrectedPairwiseClassifier(random_state=0).fit(X[train], Y[train])
            corrected.predict_each(X[test], SETTINGS)
        print(json.dumps([time.perf_counter() - wall, time.process_time() - processor]), flush=True)


def start(tree: str, folder: str) -> subprocess.Popen:
    """Start the process of one tree."""
    environment = {**os.environ, "PYTHONPATH": str(Path(tree).resolve() / "src")}
    return subprocess.Popen(
        [sys.executable, __file__, "--serve", "--data", folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def take_turn(process: subprocess.Popen, name: str) -> list[float]:
    """Return wall and processor seconds of one turn."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(name, file=process.stdin, flush=True)
    return json.loads(process.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", nargs="*", metavar="TREE", help="before and after")
    parser.add_argument("--data", required=True, help="folder with the real sets")
    parser.add_argument("--sets", nargs="*", default=["yeast", "plant", "medical"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.data)
        return
    if len(options.trees) != 2:
        parser.error(f"two source trees are needed, {len(options.trees)} found")
    before, after = (start(tree, options.data) for tree in options.trees)
    print(f"{'set':<12}{'before s':>10}{'after s':>10}{'wall':>8}{'processor':>11}")
    for name in options.sets:
        take_turn(before, name), take_turn(after, name)  # compiled code is loaded here
        turns = [(take_turn(before, name), take_turn(after, name)) for _ in range(options.rounds)]
        wall, processor = (
            statistics.median(b[kind] / a[kind] for a, b in turns) for kind in (0, 1)
        )
        seconds = [statistics.median(turn[tree][0] for turn in turns) for tree in (0, 1)]
        print(f"{name:<12}{seconds[0]:>10.3f}{seconds[1]:>10.3f}{wall:>8.3f}{processor:>11.3f}")
    for process in (before, after):
        process.terminate()


if __name__ == "__main__":
    main()
