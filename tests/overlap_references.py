"""Slow reference implementations of pair classifiers that use rows with both labels."""

import math

import numpy as np
from scipy.optimize import minimize


def bradley_terry_loss(unknowns, wins_or_ties, against_virtual, prior):
    """Negative logarithm of the likelihood, with the model's probabilities of wins and ties.

    The unknowns are logarithms of the strengths, and that of the logarithm of the tie factor.
    """
    *strengths, factor = [math.exp(u) for u in unknowns]
    factor = math.exp(factor)
    total = 0.0
    for i, a in enumerate(strengths):
        total += (against_virtual[i] + prior) * math.log(a / (a + 1))
        total += (1 - against_virtual[i] + prior) * math.log(1 / (a + 1))
        for j, b in list(enumerate(strengths))[i + 1 :]:
            mine, its = wins_or_ties[i][j], wins_or_ties[j][i]
            if mine + its < 1:
                mine, its = (mine / (mine + its), its / (mine + its)) if mine + its else (0.5, 0.5)
            tie = mine + its - 1
            total += (mine - tie) * math.log(a / (a + factor * b))
            total += (its - tie) * math.log(b / (b + factor * a))
            both = (factor**2 - 1) * a * b / ((a + factor * b) * (b + factor * a))
            total += tie * math.log(both)
    # Two labels of equal strength: one win for each, and a tie.
    total += prior * 2 * math.log(1 / (1 + factor))
    total += prior * math.log((factor**2 - 1) / (1 + factor) ** 2)
    return -total


def parallel_hyperplanes(X, Y, costs):
    """Direction and two thresholds, as a quadratic programme with a slack for each distance."""
    n, d = X.shape

    def loss(v):
        return v[:d] @ v[:d] / 2 + np.tile(costs, 2) @ v[d + 2 :] ** 2 / 2

    def gradient(v):
        return np.concatenate([v[:d], [0, 0], np.tile(costs, 2) * v[d + 2 :]])

    rows = []
    for k, side in enumerate((1, -1)):
        for r in range(n):
            sign = side if Y[r][k] else -side
            row = np.zeros(d + 2 + 2 * n)
            row[:d], row[d + k], row[d + 2 + k * n + r] = sign * X[r], -sign, 1
            rows.append(row)
    A = np.array(rows)  # A v >= 1: distances of 1, but for slack
    found = minimize(
        loss,
        np.append(np.zeros(d + 2), np.ones(2 * n)),
        jac=gradient,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda v: A @ v - 1, "jac": lambda v: A},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x[:d], found.x[d : d + 2]


def share(y):
    """Smoothed share of ones."""
    return (sum(y) + 1) / (len(y) + 2)


def support(base, X, y, query):
    """Probability of class 1 at a row, by a classifier trained on rows of two classes."""
    if len(set(y)) < 2:
        return share(y)
    return base().fit(np.array(X), np.array(y)).predict_proba([query])[0, 1]


def split_by_labels(X, Y, i, j):
    """Rows with the first label only, with the second only, with both."""
    first = [x for x, y in zip(X, Y, strict=True) if y[i] and not y[j]]
    second = [x for x, y in zip(X, Y, strict=True) if y[j] and not y[i]]
    both = [x for x, y in zip(X, Y, strict=True) if y[i] and y[j]]
    return first, second, both


def overlap_supports(base, X, Y, i, j, query):
    """Supports for either label, trained on its rows, shared ones included, against the rest."""
    first, second, both = split_by_labels(X, Y, i, j)
    mine = support(base, first + both + second, [1] * len(first + both) + [0] * len(second), query)
    its = support(base, second + both + first, [1] * len(second + both) + [0] * len(first), query)
    return mine, its


def shared_first_supports(base, X, Y, i, j, query, voting):
    """Supports for either label from P(both) and, without shared rows, P(first)."""
    first, second, both = split_by_labels(X, Y, i, j)
    q = support(base, both + first + second, [1] * len(both) + [0] * len(first + second), query)
    p = support(base, first + second, [1] * len(first) + [0] * len(second), query)
    if voting == "votes":
        if q > 0.5:
            return 1.0, 1.0
        won = 0.5 if p == 0.5 else float(p > 0.5)
        return won, 1 - won
    return q + (1 - q) * p, q + (1 - q) * (1 - p)


def four_class_score(base, X, Y, label, query, pair_weight):
    """Weighted mean of a label's binary probability and its mean support over pairs."""
    own = support(base, X, Y[:, label].tolist(), query)
    from_pairs = []
    for other in range(Y.shape[1]):
        if other != label:
            classes = [f"{y[label]}{y[other]}" for y in Y]
            model = base().fit(X, classes)
            p = dict(zip(model.classes_, model.predict_proba([query])[0], strict=True))
            from_pairs.append(p.get("10", 0) + p.get("11", 0))
    return (1 - pair_weight) * own + pair_weight * sum(from_pairs) / len(from_pairs)


def calibrated_scores(n_labels, supports, virtual):
    """Scores from the supports of pairs and those against the virtual label."""
    total = [virtual[i] for i in range(n_labels)]
    for (i, j), (mine, its) in supports.items():
        total[i] += mine
        total[j] += its
    of_virtual = sum(1 - v for v in virtual)
    return [(1 + mine / n_labels - of_virtual / n_labels) / 2 for mine in total]
