"""The probabilities of label sets, and their local lift, by their definitions."""

import numpy as np


def local_lift(local, p, left_out=None):
    """Local lift of each set at a row with probabilities p, by loops; nan without other rows."""

    def log_odds(proba):
        clipped = np.clip(proba, 1e-3, 1 - 1e-3)
        return np.log(clipped / (1 - clipped))

    weight_of = np.zeros(len(local.counts))
    weight = 0.0
    counts, total = local.counts.copy(), local.total
    for row, (proba, number) in enumerate(zip(local.proba, local.sets, strict=True)):
        if row == left_out:
            # The rows here are all rows, so that their masses are their weights.
            total -= local.masses[row]
            counts[number] -= local.masses[row]
            continue
        distance = ((log_odds(proba) - log_odds(p)) ** 2).sum()
        near = np.exp(-local.beta * distance) * local.masses[row]
        weight += near
        if number >= 0:
            weight_of[number] += near
    with np.errstate(invalid="ignore", divide="ignore"):
        frequency = counts / total
        return (weight_of + 5 * frequency) / (weight + 5) / frequency


def log_scores(Y, weights, p, exponent, left_out=None):
    """Log-probabilities of the distinct sets of Y at one row."""
    distinct = sorted({tuple(row) for row in Y.tolist()})
    total = sum(weights)
    share = [(sum(weights[column]) + 1) / (total + 2) for column in Y.T]
    scores = []
    for labels in distinct:
        rows = [k for k, row in enumerate(Y.tolist()) if tuple(row) == labels and k != left_out]
        count = sum(weights[k] for k in rows)
        if not rows:
            scores.append(-np.inf)
            continue
        independent = np.prod([s if on else 1 - s for s, on in zip(share, labels, strict=True)])
        lift = count / total / independent
        product = np.prod([q if on else 1 - q for q, on in zip(p, labels, strict=True)])
        scores.append(np.log(min(count, 1) * product) + exponent * np.log(lift))
    return np.array(distinct), np.array(scores)
