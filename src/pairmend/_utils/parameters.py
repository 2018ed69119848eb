"""Default objects of nested parameters (``None``), and comparison of parameters by value."""

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from pairmend._utils.sklearn_private import get_visual_block


class DefaultParts:
    """Mixin for estimators in which None as a parameter stands for an object with parameters.

    ``get_params`` lists the parameters of that object, ``set_params`` of one of them sets the
    object first, and the HTML diagram shows it. The parameter stays None until then, so that
    ``clone`` and ``repr`` are those of any scikit-learn estimator. Where the parameter is "auto",
    ``set_params`` of a nested parameter sets the object first, too.
    """

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {}
    """Functions that create the object that None stands for, by the name of the parameter."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of nested objects, also of those that None stands for.

        Returns
        -------
        dict
            Parameter names mapped to their values.
        """
        params: dict[str, Any] = super().get_params(deep=deep)  # type: ignore[misc]
        if deep:
            for name in self._missing_parts(params):
                nested = self._default_parts[name]().get_params(deep=True)
                params.update({f"{name}__{key}": value for key, value in nested.items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator.

        Parameters
        ----------
        **params : dict
            Parameters. ``<name>__<parameter>`` is one of a nested object; where the object is
            None or "auto", the one that None stands for is set first.

        Returns
        -------
        self
        """
        nested = {name.partition("__")[0] for name in params if "__" in name}
        after = {**self.get_params(deep=False), **params}
        parts = {
            name: self._default_parts[name]()
            for name in self._default_parts
            if name in nested and (after[name] is None or is_auto(after[name]))
        }
        for name, part in parts.items():  # an error changes nothing
            own = [key for key in params if key.startswith(f"{name}__")]
            part.set_params(**{key.partition("__")[2]: params.pop(key) for key in own})
        changed: Self = super().set_params(**{**params, **parts})  # type: ignore[misc]
        return changed

    def _part(self, name: str) -> Any:
        """Return the value of a parameter, or the object that None stands for."""
        value = getattr(self, name)
        return self._default_parts[name]() if value is None else value

    def _missing_parts(self, params: Mapping[str, Any]) -> list[str]:
        """Return the names of the parameters that are None and stand for an object."""
        return [name for name in self._default_parts if params[name] is None]

    @property
    def _sk_visual_block_(self) -> Callable[[], Any]:
        """Part of scikit-learn's HTML diagram; only defined where None stands for an object."""
        missing = self._missing_parts(vars(self))
        if not missing:
            raise AttributeError("All parts are given: scikit-learn's own diagram shows them.")
        shown = copy(self)
        for name in missing:
            setattr(shown, name, self._default_parts[name]())
        return lambda: get_visual_block(shown)


def is_auto(value: Any) -> bool:
    """Return whether the value of a parameter is "auto"."""
    return isinstance(value, str) and value == "auto"


def same_parameters(first: Any, second: Any) -> bool:
    """Compare two values of a parameter; estimators by all their parameters, lists by members.

    Values that cannot be compared count as different.
    """
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, str):
        return bool(first == second)
    if hasattr(first, "get_params"):
        ours, theirs = first.get_params(deep=False), second.get_params(deep=False)
        return ours.keys() == theirs.keys() and all(
            same_parameters(ours[name], theirs[name]) for name in ours
        )
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(same_parameters, first, second))
    return np.array_equal(first, second)
