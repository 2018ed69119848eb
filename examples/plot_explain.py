"""Plot the explanation of one prediction: contributions, and the terms of the probability.

The data are support tickets with text. The explained row is the first test row with a label that
is predicted wrongly. Needs matplotlib.

    python examples/plot_explain.py --out docs/explain.png
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from pairmend import MendedClassifier
from pairmend.plots import plot_explanation

TOPICS = ["billing", "login", "crash", "slow", "wish"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", default="explain.png", help="file to write")
    parser.add_argument("--tickets", default="docs/tickets.csv", help="file to read")
    options = parser.parse_args()

    tickets = pd.read_csv(options.tickets)
    X, Y = tickets.drop(columns=["id", *TOPICS]), tickets[TOPICS]
    X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)
    clf = MendedClassifier(criterion="micro_f1", random_state=0).fit(X_train, Y_train)
    row, label = np.argwhere(clf.predict(X_test) > Y_test.to_numpy())[0].tolist()
    (explanation,) = clf.explain(X_test.iloc[[row]], labels=[label])
    print(explanation)
    plot_explanation(explanation).savefig(options.out, dpi=110, facecolor="white")


if __name__ == "__main__":
    main()
