"""`and`, `or` and `not` on the tensors of a kernel, element by element as the compiler reads them.

Triton's interpreter leaves them to Python, which asks a whole block for one truth value: a mask that is made of two is
then the second alone, and what it should have kept out is read and written.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

import triton.language as tl

if TYPE_CHECKING:
    from collections.abc import Callable

_CONNECTIVES: Final = {ast.And: "all_of", ast.Or: "any_of"}


def all_of(*operands: Callable[[], Any]) -> Any:
    """Return what ``and`` means: of plain values the first false one, of tensors the conjunction."""
    return _joined(operands, until=False, join=lambda one, other: one.logical_and(other))


def any_of(*operands: Callable[[], Any]) -> Any:
    """Return what ``or`` means: of plain values the first true one, of tensors the disjunction."""
    return _joined(operands, until=True, join=lambda one, other: one.logical_or(other))


def none_of(value: Any) -> Any:
    """Return what ``not`` means."""
    return value.__not__() if isinstance(value, tl.tensor) else not value


def _joined(operands: tuple[Callable[[], Any], ...], *, until: bool, join: Callable[[Any, Any], Any]) -> Any:
    plain: Any = None
    tensors = []
    for operand in operands:
        value = operand()
        if isinstance(value, tl.tensor):
            tensors.append(value)
        elif bool(value) is until:
            return value
        else:
            plain = value
    if not tensors:
        return plain
    found = tensors[0]
    for other in tensors[1:]:
        found = join(found, other)
    return found


class Connectives(ast.NodeTransformer):
    """Rewrites a kernel so that the functions of this module decide; its globals are left as they are."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Rewrite ``a and b``."""
        self.generic_visit(node)
        return _call(_CONNECTIVES[type(node.op)], [_deferred(value) for value in node.values])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Rewrite ``not a``."""
        self.generic_visit(node)
        return _call("none_of", [node.operand]) if isinstance(node.op, ast.Not) else node


def _deferred(value: ast.expr) -> ast.expr:
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=empty, body=value)


def _call(name: str, arguments: list[ast.expr]) -> ast.expr:
    module = ast.parse(f"__import__({__name__!r}, fromlist=[{name!r}]).{name}", mode="eval").body
    return ast.Call(func=module, args=arguments, keywords=[])
