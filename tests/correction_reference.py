"""Slow reference of MendedClassifier: row by row, without the kernels of the library.

The probabilities of label sets, and their local lift, are loops of their own.
"""

import numpy as np

from pairmend.kernels.rrc import beta_reference

REFERENCES = {"identity": lambda s: s, "beta": beta_reference}
BETAS = [0.5, 1, 2, 4, 8, 16, 32, 64, 128]
SHRINKAGES = [0.25, 1, 4, 16]


def unit(weights):
    """Smallest weight such that rows with weights up to it hold 2 % of the total weight."""
    return next(w for w in sorted(weights) if weights[weights <= w].sum() >= 0.02 * weights.sum())


def coordinates(X, proba, X_new, proba_new, scaling, weights, landmarks):
    """Coordinates of validation rows and of new rows, scaled by the landmarks."""
    if scaling == "log_odds":
        logit = [np.log(p / (1 - p)) for p in (np.clip(s, 1e-3, 1 - 1e-3) for s in
                                               (proba, proba_new))]  # fmt: skip
        return logit[0], logit[1]
    at, weights = X[landmarks], weights[landmarks]
    mean = np.average(at, axis=0, weights=weights)
    deviation = np.sqrt(np.average((at - mean) ** 2, axis=0, weights=weights))
    divisor = np.ptp(at, axis=0) if scaling == "range" else deviation
    return X / divisor, X_new / divisor


def median_squared_distance(points, weights):
    """Weighted median of the squared distances of unequal rows."""
    pairs = [(((points[i] - points[j]) ** 2).sum(), weights[i] * weights[j])
             for i in range(len(points)) for j in range(i)]  # fmt: skip
    pairs = sorted(pair for pair in pairs if pair[0] > 1e-12)
    half = sum(weight for _, weight in pairs) / 2
    low = next(s for k, (s, _) in enumerate(pairs) if sum(w for _, w in pairs[: k + 1]) >= half)
    high = next(s for k, (s, _) in enumerate(pairs)
                if sum(w for _, w in pairs[: k + 1]) > half * (1 + 1e-9))  # fmt: skip
    return (low + high) / 2


def moved_to_landmarks(points, landmarks):
    """Move each row to its nearest landmark; a landmark stays where it is."""
    moved = points.copy()
    for row in set(range(len(points))) - set(landmarks.tolist()):
        moved[row] = min(points[landmarks], key=lambda at: ((at - points[row]) ** 2).sum())
    return moved


def decision_masses(Y, p_decide, weights, label, decision):
    """Mass of a decision with the label true, and the whole mass of the decision."""
    mass = weights * (p_decide[:, label] if decision else 1 - p_decide[:, label])
    return mass @ Y[:, label], mass.sum()


def correct_row(Y, proba, weights, kernel, own_proba, shrinkage, reference):
    """Correct one row by kernel weights of the validation rows; None means globally."""
    p_decide, own = REFERENCES[reference](proba), REFERENCES[reference](own_proba)
    corrected = np.empty(len(own_proba))
    for label in range(len(corrected)):
        prevalence = weights @ Y[:, label] / weights.sum()
        p_true = []
        for decision in (True, False):
            hit, total = decision_masses(Y, p_decide, weights, label, decision)
            share = (hit + prevalence) / (total + 1)
            if kernel is not None:
                hit, total = decision_masses(Y, p_decide, weights * kernel, label, decision)
                share = (hit + shrinkage * share) / (total + shrinkage)
            p_true.append(share)
        corrected[label] = own[label] * p_true[0] + (1 - own[label]) * p_true[1]
    return corrected


def gaussian_kernel(points, point, beta, weights):
    """Gaussian weights; the largest times the mass of its row, at most one row, is 1."""
    exponents = -beta * ((points - point) ** 2).sum(axis=1)
    return np.exp(exponents - (exponents + np.log(np.minimum(weights, 1))).max())


def leave_one_out(Y, proba, weights, points, moved, correction):
    """Correct each validation row by all others, which are moved to their landmarks."""
    beta, shrinkage, reference = correction
    corrected = []
    for row in range(len(Y)):
        rest = np.delete(np.arange(len(Y)), row)
        kernel = None
        if beta is not None:
            kernel = gaussian_kernel(moved[rest], points[row], beta, weights[rest])
        corrected.append(correct_row(Y[rest], proba[rest], weights[rest], kernel, proba[row],
                                     shrinkage, reference))  # fmt: skip
    return np.array(corrected)


def brier_score(proba, Y, weights):
    return np.average(((proba - Y) ** 2).mean(axis=1), weights=weights)


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


def set_marginals(Y, weights, proba):
    """Probabilities of labels over the seen sets; sets of less than one row by their weight."""
    seen, scores = log_scores(Y, weights, np.clip(proba, 1e-6, 1 - 1e-6), 0)
    likelihood = np.exp(scores)
    return likelihood @ seen / likelihood.sum()


def correct(X, Y, proba, weights, X_new, proba_new, fit_stacking_weights, landmarks):
    """Correct new rows; also return the losses of all corrections, the best, and the weights."""
    weights = weights / unit(weights)
    losses = {("global", None, 0.0, name): None for name in REFERENCES}
    points = {"global": (None, None, None)}
    for scaling in ("range", "standard", "log_odds"):
        old, new = coordinates(X, proba, X_new, proba_new, scaling, weights, landmarks)
        points[scaling] = old, moved_to_landmarks(old, landmarks), new
        distance = median_squared_distance(old[landmarks], weights[landmarks])
        losses |= {
            (scaling, beta / distance, shrinkage, name): None
            for name in REFERENCES for beta in BETAS for shrinkage in SHRINKAGES
        }  # fmt: skip
    terms, best = {"uncorrected": proba}, {}
    for scaling in points:
        corrected = {}
        for key in (key for key in losses if key[0] == scaling):
            corrected[key] = leave_one_out(Y, proba, weights, *points[scaling][:2], key[1:])
            losses[key] = brier_score(corrected[key], Y, weights)
        best[scaling] = min(corrected, key=losses.get)
        terms[scaling] = corrected[best[scaling]]
    stacking_weights = fit_stacking_weights(terms, Y, weights)

    examples = np.minimum(weights @ Y, weights @ ~Y)
    share = examples / (examples + 10)

    def stack(terms):
        stacked = sum(stacking_weights[name] * terms[name] for name in stacking_weights)
        return share * stacked + (1 - share) * terms["uncorrected"]

    by_label = stack(terms)
    by_sets = [
        set_marginals(np.delete(Y, row, axis=0), np.delete(weights, row), by_label[row])
        for row in range(len(Y))
    ]
    set_weights = fit_stacking_weights({"labels": by_label, "sets": np.array(by_sets)}, Y, weights)
    out = []
    for row, own_proba in enumerate(proba_new):
        terms = {"uncorrected": own_proba}
        for scaling, (_, beta, shrinkage, reference) in best.items():
            _, moved, new = points[scaling]
            kernel = None if beta is None else gaussian_kernel(moved, new[row], beta, weights)
            terms[scaling] = correct_row(Y, proba, weights, kernel, own_proba, shrinkage, reference)
        p = stack(terms)
        out.append(set_weights["labels"] * p + set_weights["sets"] * set_marginals(Y, weights, p))
    return np.array(out), losses, best, stacking_weights, set_weights
