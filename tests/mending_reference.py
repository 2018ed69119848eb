"""The whole mending once more: slowly, row by row, with nothing of the library's mathematics."""

import numpy as np

from pairmend.kernels.rrc import beta_reference

REFERENCES = {"identity": lambda s: s, "beta": beta_reference}
BETAS = [0.5, 1, 2, 4, 8, 16, 32, 64, 128]
SHRINKAGES = [0.25, 1, 4, 16]


def unit(weights):
    """The smallest weight such that rows up to it hold 2 % of the weight."""
    return next(w for w in sorted(weights) if weights[weights <= w].sum() >= 0.02 * weights.sum())


def places(X, supports, X_other, supports_other, scaling, weights):
    """Where rows and other rows lie, scaled by the first."""
    if scaling == "supports":
        logit = [np.log(p / (1 - p)) for p in (np.clip(s, 1e-3, 1 - 1e-3) for s in
                                               (supports, supports_other))]  # fmt: skip
        return logit[0], logit[1]
    mean = np.average(X, axis=0, weights=weights)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    divisor = np.ptp(X, axis=0) if scaling == "range" else deviation
    return X / divisor, X_other / divisor


def typical(points, weights):
    """The squared distance below and above which pairs have the same weight."""
    pairs = [(((points[i] - points[j]) ** 2).sum(), weights[i] * weights[j])
             for i in range(len(points)) for j in range(i)]  # fmt: skip
    pairs = sorted(pair for pair in pairs if pair[0] > 1e-12)
    half = sum(weight for _, weight in pairs) / 2
    low = next(s for k, (s, _) in enumerate(pairs) if sum(w for _, w in pairs[: k + 1]) >= half)
    high = next(s for k, (s, _) in enumerate(pairs)
                if sum(w for _, w in pairs[: k + 1]) > half * (1 + 1e-9))  # fmt: skip
    return (low + high) / 2


def competence(Y, decided, near, label, decision):
    """Share of the weight of rows decided so that carries the label; and that weight."""
    taken = near * (decided[:, label] if decision else 1 - decided[:, label])
    return taken @ Y[:, label], taken.sum()


def correct_one(Y, supports, weights, near, support, shrinkage, reference):
    """Correct the supports of one row by rows that are near; None means all of them alike."""
    decide = REFERENCES[reference]
    decided, own = decide(supports), decide(support)
    said = np.empty(len(support))
    for label in range(len(said)):
        prevalence = weights @ Y[:, label] / weights.sum()
        given = []
        for decision in (True, False):
            hit, total = competence(Y, decided, weights, label, decision)
            goal = (hit + prevalence) / (total + 1)
            if near is not None:
                hit, total = competence(Y, decided, weights * near, label, decision)
                goal = (hit + shrinkage * goal) / (total + shrinkage)
            given.append(goal)
        said[label] = own[label] * given[0] + (1 - own[label]) * given[1]
    return said


def nearness(points, place, beta, weights):
    """Gaussian weights; the largest times the mass of its row, at most one row, is 1."""
    near = -beta * ((points - place) ** 2).sum(axis=1)
    return np.exp(near - (near + np.log(np.minimum(weights, 1))).max())


def left_out(Y, supports, weights, points, correction):
    """What a correction says of each row, from the others."""
    beta, shrinkage, reference = correction
    said = []
    for row in range(len(Y)):
        rest = np.delete(np.arange(len(Y)), row)
        near = None if beta is None else nearness(points[rest], points[row], beta, weights[rest])
        said.append(correct_one(Y[rest], supports[rest], weights[rest], near, supports[row],
                                shrinkage, reference))  # fmt: skip
    return np.array(said)


def brier(said, Y, weights):
    return np.average(((said - Y) ** 2).mean(axis=1), weights=weights)


def set_marginals(Y, weights, probabilities):
    """Probabilities of labels over the seen sets, those of less than a row by their weight."""
    p = np.clip(probabilities, 1e-6, 1 - 1e-6)
    seen = np.unique(Y, axis=0)
    mass = np.array([weights[(s == Y).all(axis=1)].sum() for s in seen])
    likely = np.array([np.prod(np.where(s, p, 1 - p)) for s in seen]) * np.minimum(mass, 1)
    return likely @ seen / likely.sum()


def mend(X, Y, supports, weights, X_new, supports_new, blend_weights):
    """Mend the supports of new rows; also return the losses of all corrections tried."""
    weights = weights / unit(weights)
    candidates = {("global", None, 0.0, name): None for name in REFERENCES}
    points = {"global": (None, None)}
    for scaling in ("range", "standard", "supports"):
        points[scaling] = places(X, supports, X_new, supports_new, scaling, weights)
        distance = typical(points[scaling][0], weights)
        candidates |= {
            (scaling, beta / distance, shrinkage, name): None
            for name in REFERENCES for beta in BETAS for shrinkage in SHRINKAGES
        }  # fmt: skip
    opinions, chosen = {"uncorrected": supports}, {}
    for scaling in points:
        tried = {}
        for key in (key for key in candidates if key[0] == scaling):
            tried[key] = left_out(Y, supports, weights, points[scaling][0], key[1:])
            candidates[key] = brier(tried[key], Y, weights)
        chosen[scaling] = min(tried, key=candidates.get)
        opinions[scaling] = tried[chosen[scaling]]
    blend = blend_weights(opinions, Y, weights)

    examples = np.minimum(weights @ Y, weights @ ~Y)
    trust = examples / (examples + 10)

    def alone(said):
        return trust * sum(blend[n] * said[n] for n in blend) + (1 - trust) * said["uncorrected"]

    known = alone(opinions)
    sets = [
        set_marginals(np.delete(Y, row, axis=0), np.delete(weights, row), known[row])
        for row in range(len(Y))
    ]
    both = blend_weights({"alone": known, "sets": np.array(sets)}, Y, weights)
    out = []
    for row, support in enumerate(supports_new):
        said = {"uncorrected": support}
        for scaling, (_, beta, shrinkage, reference) in chosen.items():
            old, new = points[scaling]
            near = None if beta is None else nearness(old, new[row], beta, weights)
            said[scaling] = correct_one(Y, supports, weights, near, support, shrinkage, reference)
        p = alone(said)
        out.append(both["alone"] * p + both["sets"] * set_marginals(Y, weights, p))
    return np.array(out), candidates, chosen, blend, both
