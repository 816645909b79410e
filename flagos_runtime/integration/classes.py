"""Classes that stand at the name of a C type which allows no subclass, and whose instances are that type's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class _StandsFor(type):
    """Make a class equal to the C type that it stands for.

    Tables all over torch (schema inference, Dynamo's constants, FX's types) are keyed by such types. With equality and
    hash shared, both find the same entry whichever of the two a table was built with.
    """

    stock: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.stock)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, cls.stock)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.stock or (isinstance(other, _StandsFor) and other.stock is cls.stock)

    def __hash__(cls) -> int:
        return hash(cls.stock)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.stock, name)

    def __repr__(cls) -> str:
        return repr(cls.stock)


def standing_for(stock: type, name: str, new: Callable[..., Any]) -> type:
    """Return a class of torch's *name* for the C type *stock*, made by ``new(cls, ...)``."""
    body = {"__new__": new, "__doc__": stock.__doc__, "__module__": "torch", "__qualname__": name, "stock": stock}
    return _StandsFor(name, (), body)
