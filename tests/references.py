"""Slow reference implementations of the method: loops written from the definitions alone."""

import math
from functools import lru_cache

import numpy as np
from scipy.integrate import quad
from scipy.special import beta, betainc


@lru_cache(maxsize=2**16)  # tests of several settings have supports in common
def rrc(s: float) -> float:
    """Pr[first > second] of independent Beta(2s, 2-2s) and Beta(2-2s, 2s), by quadrature."""
    if s > 0.5:
        return 1 - rrc(1 - s)
    if s == 0:
        return 0.0
    a, b = 2 * s, 2 - 2 * s
    # Density of the first times distribution function of the second; the density's powers of
    # u and 1 - u, singular at the ends, are a weight function of the quadrature.
    integral, _ = quad(
        lambda u: betainc(b, a, u),
        0,
        1,
        weight="alg",
        wvar=(a - 1, b - 1),
        epsabs=0,
        epsrel=1e-13,
        limit=500,
    )
    return integral / beta(a, b)


def crisp_rrc(s: float) -> float:
    return 1.0 if s > 0.5 else 0.0 if s < 0.5 else 0.5


RRC = {"beta": rrc, "identity": float, "crisp": crisp_rrc}


def gaussian_weights(queries, points, beta):
    out = np.zeros((len(queries), len(points)))
    for a, z in enumerate(queries):
        squared = [sum((p - q) ** 2 for p, q in zip(z, x, strict=True)) for x in points]
        for k, d in enumerate(squared):
            out[a, k] = math.exp(-beta * (d - min(squared)))
    return out


def adaptive_weights(queries, points, k):
    out = np.zeros((len(queries), len(points)))
    for a, z in enumerate(queries):
        squared = [sum((p - q) ** 2 for p, q in zip(z, x, strict=True)) for x in points]
        width = sorted(squared)[k - 1]
        for m, d in enumerate(squared):
            if width > 0:
                out[a, m] = math.exp(math.log(0.3) * d / width)
            else:
                out[a, m] = 1.0 if d == 0 else 0.0
    return out


def pairs(n_labels):
    return [(i, j) for i in range(n_labels) for j in range(i + 1, n_labels)]


def class_memberships(y, i, j, overlap):
    """Memberships of a row with labels y in the classes of pair (i, j).

    Label number len(y) is the virtual one: its rows are those without label i.
    """
    if j == len(y):
        return (1.0, 0.0) if y[i] else (0.0, 1.0)
    if y[i] and not y[j]:
        return 1.0, 0.0
    if y[j] and not y[i]:
        return 0.0, 1.0
    if y[i] and y[j]:
        return overlap, overlap
    return 0.0, 0.0


def balance(Y, i, j, how, weights):
    """Weights of the two classes of a pair."""
    if how is None:
        return 1.0, 1.0
    n_i = n_j = 0.0
    for y, w in zip(Y, weights, strict=True):
        if j == len(y):
            n_i, n_j = n_i + w * y[i], n_j + w * (1 - y[i])
        elif how == "labels" or y[i] != y[j]:
            n_i, n_j = n_i + w * y[i], n_j + w * y[j]
    return (
        min(1.0, n_j / n_i) if n_i else 1.0,
        min(1.0, n_i / n_j) if n_j else 1.0,
    )


def confusion(weights, Y, p_decide, *, overlap=0.0, how=None, row_weights=None, virtual=False):
    """Confusion sums (t, P, 2, 2) from weights (t, M), labels (M, L), decisions (M, P)."""
    row_weights = np.ones(len(Y)) if row_weights is None else row_weights
    t, all_pairs = len(weights), pairs(Y.shape[1] + virtual)
    e = np.zeros((t, len(all_pairs), 2, 2))
    for m, (i, j) in enumerate(all_pairs):
        b_i, b_j = balance(Y, i, j, how, row_weights)
        for a in range(t):
            for k, y in enumerate(Y):
                v_i, v_j = class_memberships(y, i, j, overlap)
                w, r = weights[a, k] * row_weights[k], p_decide[k, m]
                e[a, m, 0, 0] += w * v_i * b_i * r
                e[a, m, 0, 1] += w * v_i * b_i * (1 - r)
                e[a, m, 1, 0] += w * v_j * b_j * r
                e[a, m, 1, 1] += w * v_j * b_j * (1 - r)
    return e


def correct(p, e):
    """Corrected support from P(h = first) and one confusion matrix."""
    first = e[0][0] / (e[0][0] + e[1][0]) if e[0][0] + e[1][0] > 0 else 1.0
    second = e[0][1] / (e[0][1] + e[1][1]) if e[0][1] + e[1][1] > 0 else 0.0
    return p * first + (1 - p) * second


def scores(supports, n_labels):
    """Label scores (t, L) from supports (t, P)."""
    out = np.zeros((len(supports), n_labels))
    for a, row in enumerate(supports):
        for m, (i, j) in enumerate(pairs(n_labels)):
            out[a, i] += row[m] / (n_labels - 1)
            out[a, j] += (1 - row[m]) / (n_labels - 1)
    return out


def calibrated_scores(supports, n_labels):
    """Label scores (t, L) from supports (t, P), relative to the virtual label at 1/2."""
    means = scores(supports, n_labels + 1)
    out = np.zeros((len(supports), n_labels))
    for a, row in enumerate(means):
        for i in range(n_labels):
            out[a, i] = 0.5 + (row[i] - row[n_labels]) / 2
    return out


def scale_by_range(points, rows):
    """Rows divided by the range of each feature over the points; constant features become 0."""
    out = np.zeros(rows.shape)
    for f in range(rows.shape[1]):
        low, high = min(points[:, f]), max(points[:, f])
        for k in range(len(rows)):
            out[k, f] = (rows[k, f] - low) / (high - low) if high > low else 0.0
    return out


def naive_bayes(X, y, queries, subspaces, kinds, floors, n_values, weights=None):
    """Averaged class probabilities of naive Bayes in subspaces.

    `kinds[f]` is None for a numeric feature, else the list of its values; `n_values[f]` is the
    number of declared values.
    """
    weights = np.ones(len(y)) if weights is None else weights
    classes = sorted(set(y[weights > 0].tolist()))
    out = np.zeros((len(queries), len(classes)))
    for a, z in enumerate(queries):
        for subspace in subspaces:
            joint = []
            for c in classes:
                mine = [k for k in range(len(y)) if y[k] == c]
                total = sum(weights)
                value = math.log((sum(weights[mine]) + 1) / (total + len(classes)))
                for f in subspace:
                    value += cell_log_likelihood(
                        X, y, weights, mine, f, z[f], kinds[f], floors[f], n_values[f]
                    )
                joint.append(value)
            top = max(joint)
            odds = [math.exp(value - top) for value in joint]
            out[a] += np.array(odds) / sum(odds) / len(subspaces)
    return out


def cell_log_likelihood(X, y, weights, mine, f, value, kind, floor, n_values):
    if math.isnan(value):
        return 0.0
    known = [k for k in mine if not math.isnan(X[k, f])]
    n = sum(weights[k] for k in known)
    if kind is not None:
        if value not in kind:
            return 0.0
        hits = sum(weights[k] for k in known if X[k, f] == value)
        return math.log((hits + 1) / (n + n_values))
    for c in set(y.tolist()):  # a feature that one class never has is left out
        if not sum(weights[k] for k in range(len(y)) if y[k] == c and not math.isnan(X[k, f])):
            return 0.0
    mean = sum(weights[k] * X[k, f] for k in known) / n
    variance = sum(weights[k] * (X[k, f] - mean) ** 2 for k in known) / n
    sd = max(math.sqrt(variance), floor)
    return -math.log(sd) - ((value - mean) / sd) ** 2 / 2
