"""Seed and offset of a Philox stream that follows the device's generator."""

from __future__ import annotations

import torch

#: The state of a generator that is itself a Philox stream, CUDA's: seed and offset.
_TWO_WORDS = 16


def seed_and_offset(increment: int, generator: torch.Generator | None = None) -> tuple[int, int]:
    """Return where the next draws begin and move the generator on.

    Args:
        increment: how many numbers each thread draws.
        generator: that of the current device where it is ``None``.
    """
    if generator is None:
        generator = _current()
    state = generator.get_state()
    if state.numel() == _TWO_WORDS:
        return _advanced(generator, state, increment)
    # another engine: one draw gives the seed, and the same state the same draw
    return _draw(generator), 0


def _current() -> torch.Generator:
    from flag_gems.runtime import torch_device_fn  # imported here: called by FlagGems alone

    found: torch.Generator = torch_device_fn.default_generators[torch_device_fn.current_device()]
    return found


def _advanced(generator: torch.Generator, state: torch.Tensor, increment: int) -> tuple[int, int]:
    words = state.view(torch.int64)
    seed, offset = words.tolist()
    words[1] += (increment + 3) // 4 * 4
    generator.set_state(state)
    return seed, offset


def _draw(generator: torch.Generator) -> int:
    drawn = torch.randint(0, 2**62, (), dtype=torch.int64, device=generator.device, generator=generator)
    return int(drawn.item())
