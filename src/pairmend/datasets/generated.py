"""Generated datasets: each label is a cube or sphere; a row has the labels of those around it.

After Mldatagen: J. T. Tomás, N. Spolaôr, E. A. Cherman, M. C. Monard, "A framework to generate
synthetic multi-label datasets", Electronic Notes in Theoretical Computer Science 302 (2014)
155-176.
"""

import numpy as np
from sklearn.utils import check_random_state

from pairmend._utils.typing import FloatArray
from pairmend.datasets.data import MultiLabelData

RandomState = np.random.RandomState


def make_shapes(
    n_samples: int = 3000,
    *,
    shape: str = "cube",
    n_labels: int = 10,
    n_relevant: int = 20,
    n_irrelevant: int = 5,
    n_redundant: int = 5,
    min_radius: float = 0.2,
    max_radius: float = 0.8,
    noise: float = 0.0,
    random_state: int | RandomState | None = None,
) -> MultiLabelData:
    """Make a set whose labels are cubes or spheres.

    Each label is a shape in the space of the relevant features: an axis-parallel cube within
    [-1, 1], or a sphere within the one of radius 1. Equally many points are drawn in each shape,
    and a point has the labels of all shapes it lies in.

    Parameters
    ----------
    n_samples : int, default=3000
        Number of rows.
    shape : {"cube", "sphere"}, default="cube"
        Kind of all shapes.
    n_labels : int, default=10
        Number of labels, and of shapes.
    n_relevant : int, default=20
        Number of features that determine the labels. The more, the less shapes overlap.
    n_irrelevant : int, default=5
        Number of features that are uniform in [-1, 1], independent of the labels.
    n_redundant : int, default=5
        Number of features that copy relevant ones chosen at random, each at most once while
        there are enough.
    min_radius, max_radius : float, default=0.2 and 0.8
        Bounds of the radius, which is uniform between them; of a cube it is half the edge. The
        defaults are Mldatagen's own for ten labels.
    noise : float, default=0.0
        Probability that a cell of Y is flipped.
    random_state : int, RandomState or None, default=None
        Seed of the set; None makes another one every time.

    Returns
    -------
    MultiLabelData
        With the relevant features first, then the irrelevant, then the redundant, and the rows
        in random order.

    Notes
    -----
    The method is that of J. T. Tomás et al., "A framework to generate synthetic multi-label
    datasets", ENTCS 302 (2014) 155-176. The same seed with another `noise` gives the same X.

    The coordinates of a point in a sphere, and of the centre of a sphere, are drawn one after the
    other in random order, each uniform within the rest of the radius that the previous ones leave.
    That is Mldatagen's distribution, which is not uniform in the sphere.

    Examples
    --------
    >>> from pairmend.datasets import make_shapes
    >>> data = make_shapes(500, n_labels=3, n_relevant=2, random_state=0)
    >>> data.X.shape, data.Y.mean(axis=0).round(2).tolist()
    ((500, 12), [0.68, 0.84, 0.6])
    """
    if shape not in ("cube", "sphere"):
        raise ValueError(f"shape must be 'cube' or 'sphere', got {shape!r}")
    if not 0 < min_radius <= max_radius <= 1:
        raise ValueError(
            "expected 0 < min_radius <= max_radius <= 1, got "
            f"min_radius={min_radius} and max_radius={max_radius}"
        )
    rng = check_random_state(random_state)
    radii = rng.uniform(min_radius, max_radius, size=n_labels)
    # A shape of radius r lies within the one of radius 1 if its centre lies within 1 - r.
    centres = _draw(shape, n_labels, n_relevant, rng) * (1 - radii)[:, None]
    # As many points in each shape; the first ones have one more if there is a rest.
    home = np.sort(np.arange(n_samples) % n_labels)
    rng.shuffle(home)
    points = centres[home] + radii[home, None] * _draw(shape, n_samples, n_relevant, rng)
    # The radius of a cube is half its edge.
    order = np.inf if shape == "cube" else 2
    distances = [np.linalg.norm(points - centre, ord=order, axis=1) for centre in centres]
    Y = np.column_stack(distances) <= radii
    # A point on the border may lie a rounding error outside of its shape.
    Y[np.arange(n_samples), home] = True
    irrelevant = rng.uniform(-1, 1, size=(n_samples, n_irrelevant))
    copied = rng.choice(n_relevant, n_redundant, replace=n_redundant > n_relevant)
    Y ^= rng.random_sample(Y.shape) < noise
    counts = {"relevant": n_relevant, "irrelevant": n_irrelevant, "redundant": n_redundant}
    return MultiLabelData(
        X=np.hstack([points, irrelevant, points[:, copied]]),
        Y=Y.astype(np.int64),
        feature_names=tuple(f"{kind}_{i}" for kind, count in counts.items() for i in range(count)),
        label_names=tuple(f"label_{i}" for i in range(n_labels)),
        categories={},
        name=f"hyper{shape}s",
        source=(),
    )


def _draw(shape: str, n_points: int, n_dims: int, rng: RandomState) -> FloatArray:
    """Draw points, one a row, in the shape of radius 1 around 0."""
    points = rng.uniform(-1, 1, size=(n_points, n_dims))
    if shape == "cube":
        return points
    # Each coordinate is drawn within the rest of the squared radius that the previous ones leave.
    # The first has the widest range, so the order of coordinates is random for every point.
    left = np.ones(n_points)
    for step in range(n_dims):
        points[:, step] *= np.sqrt(left)
        left = np.maximum(left - points[:, step] ** 2, 0)
    order = rng.random_sample((n_points, n_dims)).argsort(axis=1)
    return np.take_along_axis(points, order, axis=1)
