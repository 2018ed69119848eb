"""Generated datasets: each label is a cube or a ball; a row has the labels of those around it.

After Mldatagen: J. T. Tomás, N. Spolaôr, E. A. Cherman, M. C. Monard, "A framework to generate
synthetic multi-label datasets", Electronic Notes in Theoretical Computer Science 302 (2014)
155-176.
"""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from pairmend._utils.typing import BoolArray, FloatArray, IntArray
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


@dataclass(frozen=True)
class _Shape:
    """What cubes and balls differ in; the radius of a cube is half its edge.

    `draw` draws points, one a row, in the shape of radius 1 around 0. `contains` returns which
    offsets from the centre lie in the shape of some radius.
    """

    name: str
    draw: Callable[[int, int, RandomState], FloatArray]
    contains: Callable[[FloatArray, float], BoolArray]


_CUBE = _Shape("hypercubes", _draw_in_cube, _in_cube)
_BALL = _Shape("hyperspheres", _draw_in_ball, _in_ball)


@dataclass(frozen=True)
class _Plan:
    """The parameters of a generated set, checked."""

    n_samples: int
    n_labels: int
    n_relevant: int
    n_irrelevant: int
    n_redundant: int
    min_radius: float
    max_radius: float
    noise: float
    proportional: bool

    def __post_init__(self) -> None:
        for name, least in (
            ("n_samples", 1), ("n_labels", 1), ("n_relevant", 1),
            ("n_irrelevant", 0), ("n_redundant", 0),
        ):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
        for name in ("min_radius", "max_radius", "noise"):
            value = getattr(self, name)
            if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) <= 1:
                raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}.")
        if not isinstance(self.proportional, bool | np.bool_):
            raise ValueError(f"proportional must be True or False, got {self.proportional!r}.")
        if not 0 < self.min_radius <= self.max_radius:
            raise ValueError(
                "Expected 0 < min_radius <= max_radius <= 1, got "
                f"min_radius={self.min_radius!r} and max_radius={self.max_radius!r}."
            )


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
    return _make(
        _CUBE,
        _Plan(
            n_samples, n_labels, n_relevant, n_irrelevant, n_redundant,
            min_radius, max_radius, noise, proportional,
        ),
        random_state,
    )  # fmt: skip


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
    return _make(
        _BALL,
        _Plan(
            n_samples, n_labels, n_relevant, n_irrelevant, n_redundant,
            min_radius, max_radius, noise, proportional,
        ),
        random_state,
    )  # fmt: skip


def _make(shape: _Shape, plan: _Plan, random_state: int | RandomState | None) -> MultiLabelData:
    rng = _source_of_randomness(random_state)
    radii = rng.uniform(plan.min_radius, plan.max_radius, size=plan.n_labels)
    # A shape of radius r lies within the one of radius 1 if its centre lies within 1 - r.
    centres = shape.draw(plan.n_labels, plan.n_relevant, rng) * (1 - radii)[:, None]
    home = np.repeat(np.arange(plan.n_labels), _points_per_shape(plan, radii))
    rng.shuffle(home)
    points = shape.draw(plan.n_samples, plan.n_relevant, rng)
    points = centres[home] + radii[home, None] * points
    Y = np.column_stack(
        [shape.contains(points - c, r) for c, r in zip(centres, radii, strict=True)]
    )
    # A point on the border may lie a rounding error outside of its shape.
    Y[np.arange(plan.n_samples), home] = True
    irrelevant = rng.uniform(-1, 1, size=(plan.n_samples, plan.n_irrelevant))
    copied = rng.choice(
        plan.n_relevant, plan.n_redundant, replace=plan.n_redundant > plan.n_relevant
    )
    Y ^= rng.random_sample(Y.shape) < plan.noise
    return MultiLabelData(
        X=np.hstack([points, irrelevant, points[:, copied]]),
        Y=Y.astype(np.int64),
        feature_names=(
            *_number("relevant", plan.n_relevant),
            *_number("irrelevant", plan.n_irrelevant),
            *_number("redundant", plan.n_redundant),
        ),
        label_names=_number("label", plan.n_labels),
        categories={},
        name=shape.name,
        source=(),
    )


def _points_per_shape(plan: _Plan, radii: FloatArray) -> IntArray:
    """Split the rows among the shapes, equally or by radius, to whole rows by largest remainder."""
    share = radii if plan.proportional else np.ones(plan.n_labels)
    exact = plan.n_samples * share / share.sum()
    counts = np.floor(exact).astype(np.int64)
    short = plan.n_samples - counts.sum()
    counts[np.argsort(counts - exact, kind="stable")[:short]] += 1
    return counts


def _source_of_randomness(random_state: int | RandomState | None) -> RandomState:
    if isinstance(random_state, RandomState):
        return random_state
    if random_state is None or (isinstance(random_state, Integral) and 0 <= random_state < 2**32):
        return RandomState(random_state)
    raise ValueError(
        "random_state must be an integer from 0 to 2**32 - 1, a RandomState or None, got "
        f"{random_state!r}."
    )


def _number(word: str, count: int) -> tuple[str, ...]:
    return tuple(f"{word}_{i}" for i in range(count))
