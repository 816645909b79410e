"""Reads a module's syntax tree for what the architecture forbids: foreign writes, torch, print, length."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

#: Containers of the process. Their methods of these names write as well.
PROCESS_WIDE = ("os.environ", "sys.modules", "sys.meta_path", "sys.path_hooks")
WRITING_METHODS = frozenset({"update", "setdefault", "pop", "popitem", "clear", "append", "insert", "extend", "remove"})
WRITING_CALLS = frozenset({"setattr", "delattr", "os.putenv", "os.unsetenv"})
DUNDER_WRITES = frozenset({"__setattr__", "__delattr__", "__setitem__", "__delitem__"})
LIBRARY_MAKERS = frozenset({"torch.library.Library", "torch.library._scoped_library"})
IMPORTERS = frozenset({"importlib.import_module", "__import__"})
#: Calls that make a new object, which its maker may write; so do classes that the module defines.
MAKERS = frozenset({"types.ModuleType", "types.SimpleNamespace", "threading.local"})


@dataclass(frozen=True)
class Finding:
    """One place in a source file, as ``path:line: what``."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


@dataclass(frozen=True)
class Imported:
    """One imported module, and whether the import runs when the importing module does."""

    module: str
    line: int
    at_module_level: bool


class Source:
    """One parsed module and the questions that the architecture tests ask of it."""

    def __init__(self, text: str, path: str = "<planted>") -> None:
        self.path = path
        self.lines = len(text.splitlines())
        self.tree = ast.parse(text)

    @cached_property
    def names(self) -> dict[str, str]:
        """What each name stands for: imported names, and names bound to a dotted path below one."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for item in node.names:
                    root = item.name.partition(".")[0]
                    found[item.asname or root] = item.name if item.asname else root
            elif isinstance(node, ast.ImportFrom):
                found.update({item.asname or item.name: f"{node.module}.{item.name}" for item in node.names})
        return {**self._bound_paths(found), **found}

    def _bound_paths(self, imported: dict[str, str]) -> dict[str, str]:
        """`cuda = torch.cuda` and `m = sys.modules["torch"]` make a name as foreign as what it is bound to."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Assign) or isinstance(node.value, ast.Name):
                continue
            path = dotted(node.value, imported) or _module_taken_by_name(node.value, imported)
            if path:
                found.update({target.id: path for target in node.targets if isinstance(target, ast.Name)})
        return found

    @cached_property
    def own(self) -> frozenset[str]:
        """Names of what a module may write: its instances, its classes, and what it makes."""
        classes = {node.name for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)}
        made = {
            target.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            for target in node.targets
            if isinstance(target, ast.Name) and self._makes(node.value, classes)
        }
        return frozenset({"self", "cls", *made})

    def _makes(self, call: ast.Call, classes: set[str]) -> bool:
        return dotted(call.func, self.names) in MAKERS or ast.unparse(call.func) in classes

    def foreign_writes(self) -> Iterator[Finding]:
        """Yield every write on something that is not the module's own."""
        for node in ast.walk(self.tree):
            what = None
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                what = self._stored(node)
            elif isinstance(node, ast.Call):
                what = self._written_by(node)
            if what:
                yield Finding(self.path, node.lineno, what)

    def _stored(self, node: ast.Attribute | ast.Subscript) -> str | None:
        container = node.value
        if isinstance(node, ast.Subscript) and (owner := _namespace_owner(container)) is not None:
            return None if _root(owner) in self.own else f"writes a namespace: {ast.unparse(node)}"
        path = dotted(container, self.names)
        return f"writes {path}: {ast.unparse(node)}" if path else None

    def _written_by(self, call: ast.Call) -> str | None:
        name = dotted(call.func, self.names) or ast.unparse(call.func)
        if name in WRITING_CALLS:
            return None if call.args and _root(call.args[0]) in self.own else f"calls {ast.unparse(call)}"
        if not isinstance(call.func, ast.Attribute):
            return None
        if call.func.attr in DUNDER_WRITES:
            return None if call.args and _root(call.args[0]) in self.own else f"calls {ast.unparse(call)}"
        if call.func.attr not in WRITING_METHODS:
            return None
        owner = _namespace_owner(call.func.value)
        in_namespace = owner is not None and _root(owner) not in self.own
        process_wide = dotted(call.func.value, self.names) in PROCESS_WIDE
        return f"calls {ast.unparse(call)}" if in_namespace or process_wide else None

    def library_makers(self) -> Iterator[Finding]:
        """Yield every construction of a ``torch.library.Library``."""
        for call in self._calls():
            if dotted(call.func, self.names) in LIBRARY_MAKERS:
                yield Finding(self.path, call.lineno, f"makes a Library: {ast.unparse(call)}")

    def prints(self) -> Iterator[Finding]:
        """Yield every call of the built-in ``print``."""
        for call in self._calls():
            if isinstance(call.func, ast.Name) and call.func.id == "print":
                yield Finding(self.path, call.lineno, "calls print")

    def imports(self) -> Iterator[Imported]:
        """Yield what the module imports, at any depth, except for type checkers only."""
        yield from _imports(self.tree, self.names, at_module_level=True)

    def function_lengths(self) -> list[int]:
        """Return the number of lines of each function and method."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [node.end_lineno - node.lineno + 1 for node in ast.walk(self.tree) if isinstance(node, kinds)]

    def _calls(self) -> Iterator[ast.Call]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))


def dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    """Return the full path of ``a.b.c`` where ``a`` is a known foreign name, and nothing for anything else."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        base = dotted(node.value, names)
        return f"{base}.{node.attr}" if base else None
    return None


def _module_taken_by_name(node: ast.expr, names: dict[str, str]) -> str | None:
    if isinstance(node, ast.Subscript) and dotted(node.value, names) == "sys.modules":
        return ast.unparse(node)
    if isinstance(node, ast.Call) and dotted(node.func, names) == "importlib.import_module":
        return ast.unparse(node)
    return None


def _namespace_owner(node: ast.expr) -> ast.expr | None:
    """Return ``x`` of ``x.__dict__`` and ``vars(x)``."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vars" and node.args:
        return node.args[0]
    return None


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _imports(node: ast.AST, names: dict[str, str], *, at_module_level: bool) -> Iterator[Imported]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for other in child.orelse:
                yield from _imports(ast.Module([other], []), names, at_module_level=at_module_level)
            continue
        for module in _named_modules(child, names):
            yield Imported(module, child.lineno, at_module_level)
        inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from _imports(child, names, at_module_level=at_module_level and not inside)


def _named_modules(node: ast.AST, names: dict[str, str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [item.name for item in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{item.name}" for item in node.names]
    if isinstance(node, ast.Call) and (dotted(node.func, names) or ast.unparse(node.func)) in IMPORTERS:
        first = node.args[0] if node.args else None
        return [first.value] if isinstance(first, ast.Constant) and isinstance(first.value, str) else []
    return []
