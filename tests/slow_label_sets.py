"""The local lift of label sets by its definition."""

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
