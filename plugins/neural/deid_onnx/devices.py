"""Where networks run.

A card where there is one, and never the CPU in silence where a card could have been used.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import typer

from deid_assets.extending import ConfigError, PluginError

_NVIDIA = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
_KINDS = ("cpu", "cuda", "mps", "xpu")
_CPU = 'for the CPU, set device = "cpu" of a detector, or CUDA_VISIBLE_DEVICES=-1 for all'


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a network of PyTorch could run on.

    Args:
        has_card: Whether there is a GPU of NVIDIA that this process may use.
        is_built: Whether this PyTorch was built for such cards.
        devices: What starts beside the CPU, as PyTorch counts it: ``cuda:0``, ``cuda:1``, ``mps:0``
            and so on.
    """

    has_card: bool
    is_built: bool
    devices: Sequence[str] = ()


def device(named: str | None = None, *, machine: Machine | None = None) -> str:
    """Return where a network of PyTorch runs, as PyTorch names it.

    Where none is named, a card is seen and this PyTorch was built without CUDA, the CPU is taken,
    and that is said once on standard error.

    Args:
        named: ``cpu``, ``cuda``, ``cuda:1`` and so on; CUDA where there is a GPU, otherwise the
            CPU, when not given.
        machine: What there is; looked for where not given.

    Raises:
        ConfigError: PyTorch has no devices of that name.
        PluginError: What was named is not there, or there is a GPU and it does not start.
    """
    if named is not None:
        kind, colon, number = named.partition(":")
        if kind not in _KINDS or (colon and not number.isdecimal()):
            raise ConfigError(
                f"device {named!r} is unknown; give {', '.join(_KINDS)}, or one of several as"
                " cuda:1"
            )
        if kind == "cpu":
            return kind
    machine = machine or _machine()
    if named is not None:
        if f"{kind}:{number or 0}" not in machine.devices:
            raise PluginError(f"device {named!r} is not there: {_why(kind, machine)}; {_CPU}")
        return named
    if "cuda:0" in machine.devices:
        return "cuda"
    if machine.has_card and machine.is_built:
        raise PluginError(f"there is a GPU, and {_why('cuda', machine)}; {_CPU}")
    if machine.has_card:
        say_cpu(f"{_why('cuda', machine)}; {_CPU}")
    return "cpu"


def _why(kind: str, machine: Machine) -> str:
    """Return why a kind of device is not used, with the remedy."""
    if others := [name for name in machine.devices if name.startswith(kind)]:
        return f"there are {', '.join(others)}; give one of these"
    if kind != "cuda":
        return "this PyTorch and this machine have none; give another"
    if not machine.has_card:
        return "no NVIDIA GPU is seen; see that nvidia-smi and CUDA_VISIBLE_DEVICES show it"
    if not machine.is_built:
        return (
            "this PyTorch was built without CUDA; install one with it"
            " (https://pytorch.org/get-started/locally)"
        )
    return (
        "PyTorch cannot start it: the driver is missing or older than this PyTorch's CUDA; see that"
        " nvidia-smi runs and install a newer driver or a PyTorch of an older CUDA"
    )


def _machine() -> Machine:
    import torch  # noqa: PLC0415 - importing the plugin stays light

    counts = {
        "cuda": torch.cuda.device_count() if torch.cuda.is_available() else 0,
        "mps": int(torch.backends.mps.is_available()),
        "xpu": torch.xpu.device_count() if torch.xpu.is_available() else 0,
    }
    return Machine(
        has_card=has_card(),
        is_built=torch.version.cuda is not None or torch.version.hip is not None,
        devices=[f"{kind}:{number}" for kind, count in counts.items() for number in range(count)],
    )


def has_card() -> bool:
    """Return whether there is a GPU of NVIDIA, and ``CUDA_VISIBLE_DEVICES`` does not hide it."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip()
    return bool(shown) and not shown.startswith("-") and any(path.exists() for path in _NVIDIA)


@cache
def say_cpu(why: str) -> None:
    """Say once that networks run on the CPU although there is a GPU.

    Args:
        why: With the remedy.
    """
    typer.echo(
        f"warning: there is a GPU, and networks run on the CPU, many times slower: {why}", err=True
    )
