"""`lazy`: an attribute that is computed at first access, without a lock."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class lazy(Generic[Value]):
    """Compute an attribute at first access and store it, without a lock.

    On Python 3.11, :class:`functools.cached_property` locks all objects of a class. A process that
    is forked while another thread holds that lock waits for it forever. Without a lock, two
    threads may both compute the value, which is the same.
    """

    def __init__(self, compute: Callable[[Any], Value]):
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "lazy[Value]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: Any, owner: type) -> "lazy[Value] | Value":
        if instance is None:
            return self
        value = self.compute(instance)
        instance.__dict__[self.name] = value  # shadows the descriptor; works for frozen classes
        return value
