"""Load platform plugins, one by one: a broken one becomes a diagnostic and leaves the others alone."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from pluggy import PluginManager, PluginValidationError

from flagos_runtime import hookspecs
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.faults import backend_faults, platform_faults
from flagos_runtime.hookspecs import HOOK_PREFIX, PROJECT
from flagos_runtime.records import OpBackend, Platform, StepSpec

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUILTIN: Final = (
    "flagos_platforms.sim",
    "flagos_platforms.cuda",
    "flagos_platforms.ascend",
    "flagos_platforms.bpu",
    "flagos_platforms.cambricon",
    "flagos_platforms.dcu",
    "flagos_platforms.gcu",
    "flagos_platforms.iluvatar",
    "flagos_platforms.kunlunxin",
    "flagos_platforms.metax",
    "flagos_platforms.musa",
    "flagos_platforms.ppu",
    "flagos_platforms.sunrise",
    "flagos_platforms.tsingmicro",
)
GROUP: Final = "flagos_runtime.platforms"
DISTRIBUTION: Final = "flagos-runtime"
#: The backends of this runtime, whose names no plugin can take.
RESERVED_BACKENDS: Final = frozenset({"vendor", "cpu", "none", "flaggems", "flaggems_cpp", "tileops"})
HOOKS: Final = frozenset(name for name, item in vars(hookspecs).items() if hasattr(item, f"{PROJECT}_spec"))

T = TypeVar("T")


class PluginSet(NamedTuple):
    """What the plugins of this process describe.

    Attributes:
        platforms: one for each plugin that loaded, built-in ones first.
        patches: the steps of each platform, by its name.
        provenance: the distribution that describes each platform, by its name.
        entries: the module or entry point by which each platform was found, by its name.
        backends: operator backends that the plugins bring.
        diagnostics: one or more for each plugin that did not load.
    """

    platforms: tuple[Platform, ...] = ()
    patches: Mapping[str, tuple[StepSpec, ...]] = MappingProxyType({})
    provenance: Mapping[str, str] = MappingProxyType({})
    entries: Mapping[str, str] = MappingProxyType({})
    backends: tuple[OpBackend, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


class _Source(NamedTuple):
    """Where a plugin comes from and how it is imported."""

    name: str
    distribution: str
    load: Callable[[], object]

    def error(self, code: str, message: str, hint: str = "") -> Diagnostic:
        return Diagnostic(code, "error", f"plugin '{self.name}' of {self.distribution}", message, hint)


class _Loaded(NamedTuple):
    source: _Source
    platform: Platform
    patches: tuple[StepSpec, ...]
    backends: tuple[OpBackend, ...]


class _RefusedPluginError(Exception):
    """One plugin cannot be used; ``diagnostics`` says why."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics
        super().__init__("\n".join(str(item) for item in diagnostics))


def load_plugins(entry_points: Iterable[EntryPoint] | None = None, *, builtin: Iterable[str] = BUILTIN) -> PluginSet:
    """Load the *builtin* plugins and those that *entry_points* name, the installed ones where it is ``None``.

    Nothing is printed and nothing is raised for a broken plugin: ``diagnostics`` says what is wrong with it.
    """
    manager = PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    loaded: dict[str, _Loaded] = {}
    diagnostics: list[Diagnostic] = []
    for source in _sources(builtin, entry_points):
        try:
            item = _load(manager, source, loaded)
        except _RefusedPluginError as exc:
            diagnostics.extend(exc.diagnostics)
        else:
            loaded[item.platform.name] = item
    return _plugin_set(loaded, diagnostics)


def _plugin_set(loaded: Mapping[str, _Loaded], diagnostics: Iterable[Diagnostic]) -> PluginSet:
    return PluginSet(
        platforms=tuple(item.platform for item in loaded.values()),
        patches=MappingProxyType({name: item.patches for name, item in loaded.items()}),
        provenance=MappingProxyType({name: item.source.distribution for name, item in loaded.items()}),
        entries=MappingProxyType({name: item.source.name for name, item in loaded.items()}),
        backends=tuple(backend for item in loaded.values() for backend in item.backends),
        diagnostics=tuple(diagnostics),
    )


# -- where plugins come from ----------------------------------------------------------------------------------------


def _sources(builtin: Iterable[str], entry_points: Iterable[EntryPoint] | None) -> Iterator[_Source]:
    # imported late: 15 ms in a process that has not loaded it yet
    from importlib import metadata

    own = next(iter(metadata.distributions(name=DISTRIBUTION)), None)
    # once: reading a version parses the distribution's metadata
    title = _title(DISTRIBUTION, own.version if own else None)
    for path in builtin:
        yield _Source(path, title, partial(importlib.import_module, path))
    points = metadata.entry_points(group=GROUP) if entry_points is None else entry_points
    # the order of sys.path must not decide which of two plugins for one platform wins
    for point in sorted(points, key=lambda item: (item.name, item.value)):
        yield _Source(point.name, _distribution(point), point.load)


def _distribution(point: EntryPoint) -> str:
    dist = point.dist
    return "an unknown distribution" if dist is None else _title(dist.metadata["Name"], dist.version)


def _title(name: str, version: str | None) -> str:
    return f"{name} {version}" if version else name


# -- one plugin -----------------------------------------------------------------------------------------------------


def _load(manager: PluginManager, source: _Source, loaded: Mapping[str, _Loaded]) -> _Loaded:
    """Import, register and ask one plugin; nothing of it stays in *manager* when it is refused."""
    plugin = _guarded(source, "FR201", "the import raised", source.load)
    misnamed = _guarded(source, "FR204", "looking at its names raised", lambda: tuple(_misnamed(plugin, source)))
    if misnamed:
        raise _RefusedPluginError(*misnamed)
    try:
        _register(manager, source, plugin)
        platform = _platform(manager, source, plugin)
        _require_new(source, platform, loaded)
        patches = _records(manager, source, plugin, "flagos_patches", StepSpec)
        return _Loaded(source, platform, patches, _backends(manager, source, plugin, loaded))
    except _RefusedPluginError:
        if manager.is_registered(plugin):
            manager.unregister(plugin)
        raise


def _misnamed(plugin: object, source: _Source) -> Iterator[Diagnostic]:
    """Report the functions that look like hooks and that pluggy would pass over in silence."""
    for name in (item for item in dir(plugin) if item.startswith(HOOK_PREFIX)):
        function = getattr(plugin, name)
        options = getattr(function, f"{PROJECT}_impl", None)
        if not callable(function) or (options and (options.get("specname") or options.get("optionalhook"))):
            continue
        if name not in HOOKS:
            yield source.error("FR202", f"there is no hook '{name}'", _did_you_mean(name))
        elif options is None:
            yield source.error("FR202", f"'{name}' is unmarked and would never be called", "put @hookimpl above it")


def _register(manager: PluginManager, source: _Source, plugin: object) -> None:
    """Register *plugin* under a name that no other plugin can have."""
    if manager.is_registered(plugin):
        raise _RefusedPluginError(source.error("FR205", f"its plugin is loaded already, by {manager.get_name(plugin)}"))
    name = f"'{source.name}' of {source.distribution}"
    hint = f"the hooks are {', '.join(sorted(HOOKS))}; their arguments stand in flagos_runtime.hookspecs"
    for code, action in (("FR203", partial(manager.register, plugin, name)), ("FR202", manager.check_pending)):
        try:
            _guarded(source, "FR204", "registering it raised", action)
        except PluginValidationError as exc:
            raise _RefusedPluginError(source.error(code, _cause(exc), hint)) from exc


def _platform(manager: PluginManager, source: _Source, plugin: object) -> Platform:
    answers = _called(manager, source, plugin, "flagos_platform")
    if len(answers) != 1:
        raise _wrong(source, f"flagos_platform gave {len(answers)} platforms, wanted exactly one")
    (platform,) = answers
    if not isinstance(platform, Platform):
        raise _wrong(source, f"flagos_platform returned {type(platform).__name__}, wanted Platform")
    faults = _guarded(source, "FR204", "its platform is malformed", lambda: tuple(platform_faults(platform)))
    if faults:
        raise _RefusedPluginError(*(source.error("FR204", fault) for fault in faults))
    return platform


def _require_new(source: _Source, platform: Platform, loaded: Mapping[str, _Loaded]) -> None:
    first = loaded.get(platform.name)
    if first is None:
        return
    other = f"plugin '{first.source.name}' of {first.source.distribution}"
    message = f"platform '{platform.name}' is described by {other} already"
    raise _RefusedPluginError(source.error("FR205", message, "uninstall one of the two distributions"))


def _backends(
    manager: PluginManager, source: _Source, plugin: object, loaded: Mapping[str, _Loaded]
) -> tuple[OpBackend, ...]:
    found = _records(manager, source, plugin, "flagos_op_backends", OpBackend)
    for backend in found:
        if faults := _guarded(source, "FR204", "its backend is malformed", partial(_listed_faults, backend)):
            raise _RefusedPluginError(*(source.error("FR204", fault) for fault in faults))
    _require_new_backends(source, found, loaded)
    return found


def _listed_faults(backend: OpBackend) -> tuple[str, ...]:
    return tuple(backend_faults(backend))


def _require_new_backends(source: _Source, backends: Iterable[OpBackend], loaded: Mapping[str, _Loaded]) -> None:
    owners = dict.fromkeys(RESERVED_BACKENDS, "this runtime")
    for item in loaded.values():
        title = f"plugin '{item.source.name}' of {item.source.distribution}"
        owners.update((backend.name, title) for backend in item.backends)
    for backend in backends:
        if backend.name in owners:
            message = f"backend '{backend.name}' is declared by {owners[backend.name]} already"
            raise _RefusedPluginError(source.error("FR206", message, "uninstall one of the two, or rename the backend"))
        owners[backend.name] = "this plugin"


def _records(manager: PluginManager, source: _Source, plugin: object, hook: str, wanted: type[T]) -> tuple[T, ...]:
    """Return what *hook* of *plugin* yields; a record of another kind refuses the plugin."""
    records: list[T] = []
    for answer in _called(manager, source, plugin, hook):
        if not isinstance(answer, Iterable):
            raise _wrong(source, f"{hook} returned {type(answer).__name__}, wanted {wanted.__name__} records")
        for record in _guarded(source, "FR204", f"{hook} raised", partial(tuple, answer)):
            if not isinstance(record, wanted):
                raise _wrong(source, f"{hook} gave {type(record).__name__}, wanted {wanted.__name__}")
            records.append(record)
    return tuple(records)


def _called(manager: PluginManager, source: _Source, plugin: object, hook: str) -> list[object]:
    """Call *hook* of *plugin* alone: in a common call one that raises would cost the others theirs."""
    others = [item for item in manager.get_plugins() if item is not plugin]
    return _guarded(source, "FR204", f"{hook} raised", manager.subset_hook_caller(hook, others))


def _guarded(source: _Source, code: str, what: str, action: Callable[[], T]) -> T:
    """Run code of a plugin and turn what it raises into a diagnostic."""
    try:
        return action()
    except PluginValidationError:
        raise
    except Exception as exc:
        raise _RefusedPluginError(source.error(code, f"{what} {_cause(exc)}")) from exc


def _wrong(source: _Source, message: str) -> _RefusedPluginError:
    return _RefusedPluginError(source.error("FR204", message))


def _cause(exc: Exception) -> str:
    return f"{type(exc).__name__}: {' '.join(str(exc).split())}"


def _did_you_mean(name: str) -> str:
    # imported late: needed in no process whose plugins are right
    from difflib import get_close_matches

    close = get_close_matches(name, HOOKS, n=1)
    known = f"the hooks are {', '.join(sorted(HOOKS))}"
    return f"did you mean '{close[0]}'?" if close else f"{known}; give a helper function another prefix"
