"""Compare MendedClassifier on texts with TF-IDF and logistic regression.

    python benchmarks/texts.py --data FOLDER

FOLDER holds the English texts of SemEval-2018, task 1, E-c, in a folder `tweets`. The Markdown
table has the scores on E-c-En-test-gold.txt after a fit on E-c-En-train.txt. The logistic
regressions see TF-IDF of words and pairs of words of two rows or more; their thresholds, one for
all labels (micro F1) or one per label (macro F1), are fitted on five-fold predictions.
"""

import argparse
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import average_precision_score, f1_score

from pairmend import MendedClassifier, ThresholdedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.thresholds import F1Thresholds


def read(path: Path) -> tuple[list[str], np.ndarray]:
    """Return texts and labels of a file."""
    frame = pd.read_csv(path, sep="\t", quoting=3)
    return frame["Tweet"].tolist(), frame.iloc[:, 2:].to_numpy()


def row(name: str, by_average: dict[str, object], train: tuple, test: tuple) -> str:
    """Return a line of the table: F1 of the classifier for each average, and probabilities."""
    cells, seconds = [], []
    for average, classifier in by_average.items():
        start = process_time()
        classifier.fit(*train)
        predicted = classifier.predict(test[0])
        seconds.append(process_time() - start)
        cells.append(f1_score(test[1], predicted, average=average))
    proba = classifier.predict_proba(test[0])
    cells.append(average_precision_score(test[1], proba, average="macro"))
    cells.append(np.mean((proba - test[1]) ** 2))
    scores = " | ".join(f"{cell:.4f}" for cell in cells)
    return f"| {name} | {scores} | {np.mean(seconds):.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the folder tweets")
    folder = parser.parse_args().data / "tweets"
    train, test = (read(folder / f"E-c-En-{part}.txt") for part in ("train", "test-gold"))
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    words = (vectorizer.fit_transform(train[0]), train[1]), (vectorizer.transform(test[0]), test[1])
    print("| | micro F1 | macro F1 | macro AP | Brier score | processor time (s) |")
    print("|---|---|---|---|---|---|")
    for C in (1, 3, 10, 30):
        base = BinaryRelevance(ScaledLogisticRegression(C=C))
        given = {
            average: ThresholdedClassifier(base, F1Thresholds(average=average), cv=5)
            for average in ("micro", "macro")
        }
        print(row(f"TF-IDF + logistic regression, C={C}", given, *words), flush=True)
    given = {
        average: MendedClassifier(criterion=f"{average}_f1", random_state=0)
        for average in ("micro", "macro")
    }
    print(row("TF-IDF + `MendedClassifier`", given, *words), flush=True)
    print(row("`MendedClassifier` on the texts", given, train, test), flush=True)


if __name__ == "__main__":
    main()
