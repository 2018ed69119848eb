"""Compare MendedClassifier on texts with TF-IDF and logistic regression.

    python benchmarks/texts.py [--data FOLDER] [--rows 2000]

FOLDER holds the English texts of SemEval-2018, task 1, E-c, in a folder `tweets`. The Markdown
table has the scores on E-c-En-test-gold.txt after a fit on E-c-En-train.txt. Without a folder, rows
of a text, two numbers and a category are generated, and as many are predicted. The logistic
regressions see TF-IDF of words and pairs of words of two rows or more beside standardized numbers
and indicators of categories; their thresholds, one for all labels (micro F1) or one per label
(macro F1), are fitted on five-fold predictions.
"""

import argparse
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import average_precision_score, f1_score
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pairmend import MendedClassifier, ThresholdedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.thresholds import F1Thresholds


def read(path: Path) -> tuple[list[str], np.ndarray]:
    """Return texts and labels of a file."""
    frame = pd.read_csv(path, sep="\t", quoting=3)
    return frame["Tweet"].tolist(), frame.iloc[:, 2:].to_numpy()


def generate(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows and six labels; what a word says of a label depends on the other columns."""
    shape, rng = np.random.RandomState(0), np.random.RandomState(seed)
    words = np.array(["".join(shape.choice(list("abdegiklmnorstu"), 6)) for _ in range(2_000)])
    share = 1 / np.arange(10, 10 + len(words))
    effect = shape.randn(len(words), 6) * (shape.rand(len(words), 6) < 0.1) * 2
    size, age, place = rng.randn(n_rows), rng.rand(n_rows), rng.randint(4, size=n_rows)
    counts = rng.multinomial(25, share / share.sum(), size=n_rows)
    texts = [" ".join(rng.permutation(np.repeat(words, own))) for own in counts]
    factor = (
        np.where(place < 2, 1.0, 0.3)[:, np.newaxis] * np.where(age > 0.7, -1, 1)[:, np.newaxis]
    )
    scores = counts @ effect * factor + np.outer(size, [1, 1, 0, 0, -1, 0])
    scores[:, 3] += 2 * (place == 1) * size
    Y = scores + rng.logistic(size=scores.shape) > [1, 0, 2, 1, 0, 3]
    frame = pd.DataFrame({"text": texts, "size": size, "age": age, "place": place.astype(str)})
    return frame, Y.astype(int)


def encoder(columns: pd.Index) -> ColumnTransformer:
    """Return the features of logistic regressions."""
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    steps = [("words", words, columns[0])]
    if len(columns) > 1:
        steps.append(("numbers", StandardScaler(), ["size", "age"]))
        steps.append(("categories", OneHotEncoder(), ["place"]))
    return ColumnTransformer(steps)


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
    parser.add_argument("--data", type=Path, help="folder with the folder tweets")
    parser.add_argument("--rows", type=int, default=2_000, help="number of generated rows")
    options = parser.parse_args()
    if options.data:
        parts = [options.data / "tweets" / f"E-c-En-{part}.txt" for part in ("train", "test-gold")]
        train, test = (read(path) for path in parts)
    else:
        train, test = (generate(options.rows, seed) for seed in (1, 2))
    frames = [pd.DataFrame(part[0]) for part in (train, test)]
    features = encoder(frames[0].columns)
    words = (features.fit_transform(frames[0]), train[1]), (features.transform(frames[1]), test[1])
    print("| | micro F1 | macro F1 | macro AP | Brier score | processor time (s) |")
    print("|---|---|---|---|---|---|")
    for C in (1, 3, 10, 30):
        base = BinaryRelevance(ScaledLogisticRegression(C=C))
        given = {
            average: ThresholdedClassifier(base, F1Thresholds(average=average), cv=5)
            for average in ("micro", "macro")
        }
        print(row(f"features + logistic regression, C={C}", given, *words), flush=True)
    given = {
        average: MendedClassifier(criterion=f"{average}_f1", random_state=0)
        for average in ("micro", "macro")
    }
    print(row("features + `MendedClassifier`", given, *words), flush=True)
    print(row("`MendedClassifier` on the rows", given, train, test), flush=True)


if __name__ == "__main__":
    main()
