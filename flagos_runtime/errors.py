"""Exceptions that this package raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flagos_runtime.diagnostics import Diagnostic


class FlagosError(Exception):
    """Base of every error of this package."""


class ConfigError(FlagosError):
    """A route file or an environment variable is wrong.

    ``diagnostics`` holds every finding, not only the first.
    """

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.diagnostics = diagnostics
        super().__init__("\n".join(str(item) for item in diagnostics))


class ResolveError(ConfigError):
    """The routes are valid one by one but give no plan: a cycle, an unknown name, two writers."""


class ActivationError(FlagosError):
    """Activation failed; everything that it had written was put back.

    ``step`` is the id of the step that failed, where one did, and ``diagnostics`` say more where there is more.
    """

    def __init__(self, message: str, *, step: str | None = None, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        self.step = step
        self.diagnostics = diagnostics
        super().__init__(message)


class RefusedError(FlagosError, NotImplementedError):
    """An API of ``torch.cuda`` has no meaning on the platform's device.

    The message names the API and the platform.
    """


class KernelUnavailableError(FlagosError):
    """A backend has no kernel of an overload on this machine; the message says why."""
