"""Generated datasets: each label is a cube or a ball; a row has the labels of those around it.

After Mldatagen: J. T. Tomás, N. Spolaôr, E. A. Cherman, M. C. Monard, "A framework to generate
synthetic multi-label datasets", Electronic Notes in Theoretical Computer Science 302 (2014)
155-176.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from pairmend._utils.sklearn_private import Interval, validate_params
from pairmend._utils.typing import BoolArray, FloatArray
from pairmend.datasets.data import MultiLabelData

RandomState = np.random.RandomState


def _draw_in_cube(n_points: int, n_dims: int, rng: RandomState) -> FloatArray:
    return rng.uniform(-1, 1, size=(n_points, n_dims))


def _in_cube(offsets: FloatArray, radius: float) -> BoolArray:
    return np.abs(offsets).max(axis=1) <= radius


def _draw_in_ball(n_points: int, n_dims: int, rng: RandomState) -> FloatArray:
    # Each coordinate is drawn within the rest of the squared radius that the previous ones leave.
    # The first has the widest range, so the order of coordinates is random for every point.
    points = rng.uniform(-1, 1, size=(n_points, n_dims))
    left = np.ones(n_points)
    for step in range(n_dims):
        points[:, step] *= np.sqrt(left)
        left = np.maximum(left - points[:, step] ** 2, 0)
    order = rng.random_sample((n_points, n_dims)).argsort(axis=1)
    return np.take_along_axis(points, order, axis=1)


def _in_ball(offsets: FloatArray, radius: float) -> BoolArray:
    return np.einsum("nd,nd->n", offsets, offsets) <= radius**2


_CONSTRAINTS: dict[str, list[Any]] = {
    "n_samples": [Interval(Integral, 1, None, closed="left")],
    "n_labels": [Interval(Integral, 1, None, closed="left")],
    "n_relevant": [Interval(Integral, 1, None, closed="left")],
    "n_irrelevant": [Interval(Integral, 0, None, closed="left")],
    "n_redundant": [Interval(Integral, 0, None, closed="left")],
    "min_radius": [Interval(Real, 0, 1, closed="right")],
    "max_radius": [Interval(Real, 0, 1, closed="right")],
    "noise": [Interval(Real, 0, 1, closed="both")],
    "proportional": ["boolean"],
    "random_state": ["random_state"],
}


@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def make_hypercubes(
    n_samples: int = 3000,
    *,
    n_labels: int = 10,
    n_relevant: int = 20,
    n_irrelevant: int = 5,
    n_redundant: int = 5,
    min_radius: float = 0.2,
    max_radius: float = 0.8,
    noise: float = 0.0,
    proportional: bool = False,
    random_state: int | RandomState | None = None,
) -> MultiLabelData:
    """Make a set whose labels are axis-parallel cubes.

    Each label is a cube within [-1, 1] in the space of the relevant features. Points are drawn in
    the cubes, and a point has the labels of all cubes it lies in.

    Parameters
    ----------
    n_samples : int, default=3000
        Number of rows.
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
    proportional : bool, default=False
        Draw points in proportion to the radius of the shapes (not to their volume), rather than
        equally many in each, rounded to whole points.
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

    Examples
    --------
    >>> from pairmend.datasets import make_hypercubes
    >>> data = make_hypercubes(500, n_labels=3, n_relevant=2, random_state=0)
    >>> data.X.shape, data.Y.mean(axis=0).round(2).tolist()
    ((500, 12), [0.68, 0.84, 0.6])
    """
    return _make("hypercubes", _draw_in_cube, _in_cube, **locals())


@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def make_hyperspheres(
    n_samples: int = 3000,
    *,
    n_labels: int = 10,
    n_relevant: int = 20,
    n_irrelevant: int = 5,
    n_redundant: int = 5,
    min_radius: float = 0.2,
    max_radius: float = 0.8,
    noise: float = 0.0,
    proportional: bool = False,
    random_state: int | RandomState | None = None,
) -> MultiLabelData:
    """Make a set whose labels are balls.

    Each label is a ball within the one of radius 1 in the space of the relevant features. Points
    are drawn in the balls, and a point has the labels of all balls it lies in.

    Parameters
    ----------
    n_samples, n_labels, n_relevant, n_irrelevant, n_redundant : int
        As in `make_hypercubes`.
    min_radius, max_radius, noise : float
        As in `make_hypercubes`.
    proportional : bool, default=False
        As in `make_hypercubes`.
    random_state : int, RandomState or None, default=None
        As in `make_hypercubes`.

    Returns
    -------
    MultiLabelData
        As of `make_hypercubes`.

    Notes
    -----
    The coordinates of a point, and of the centre of a ball, are drawn one after the other in random
    order, each uniform within the rest of the radius that the previous ones leave. That is
    Mldatagen's distribution, which is not uniform in the ball.

    Examples
    --------
    >>> from pairmend.datasets import make_hyperspheres
    >>> data = make_hyperspheres(500, n_labels=3, n_relevant=2, random_state=0)
    >>> data.X.shape, data.Y.mean(axis=0).round(2).tolist()
    ((500, 12), [0.68, 0.84, 0.62])
    """
    return _make("hyperspheres", _draw_in_ball, _in_ball, **locals())


def _make(
    name: str,
    draw: Callable[[int, int, RandomState], FloatArray],
    contains: Callable[[FloatArray, float], BoolArray],
    n_samples: int,
    n_labels: int,
    n_relevant: int,
    n_irrelevant: int,
    n_redundant: int,
    min_radius: float,
    max_radius: float,
    noise: float,
    proportional: bool,
    random_state: int | RandomState | None,
) -> MultiLabelData:
    """Make a set of shapes; the radius of a cube is half its edge.

    `draw` draws points, one a row, in the shape of radius 1 around 0. `contains` returns which
    offsets from the centre lie in the shape of some radius.
    """
    if min_radius > max_radius:
        raise ValueError(f"min_radius={min_radius} is greater than max_radius={max_radius}.")
    rng = check_random_state(random_state)
    radii = rng.uniform(min_radius, max_radius, size=n_labels)
    # A shape of radius r lies within the one of radius 1 if its centre lies within 1 - r.
    centres = draw(n_labels, n_relevant, rng) * (1 - radii)[:, None]
    # The rows are split among the shapes to whole rows, by largest remainder.
    share = radii if proportional else np.ones(n_labels)
    exact = n_samples * share / share.sum()
    counts = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: n_samples - counts.sum()]] += 1
    home = np.repeat(np.arange(n_labels), counts)
    rng.shuffle(home)
    points = centres[home] + radii[home, None] * draw(n_samples, n_relevant, rng)
    Y = np.column_stack([contains(points - c, r) for c, r in zip(centres, radii, strict=True)])
    # A point on the border may lie a rounding error outside of its shape.
    Y[np.arange(n_samples), home] = True
    irrelevant = rng.uniform(-1, 1, size=(n_samples, n_irrelevant))
    copied = rng.choice(n_relevant, n_redundant, replace=n_redundant > n_relevant)
    Y ^= rng.random_sample(Y.shape) < noise
    return MultiLabelData(
        X=np.hstack([points, irrelevant, points[:, copied]]),
        Y=Y.astype(np.int64),
        feature_names=(
            *_number("relevant", n_relevant),
            *_number("irrelevant", n_irrelevant),
            *_number("redundant", n_redundant),
        ),
        label_names=_number("label", n_labels),
        categories={},
        name=name,
        source=(),
    )


def _number(word: str, count: int) -> tuple[str, ...]:
    return tuple(f"{word}_{i}" for i in range(count))
