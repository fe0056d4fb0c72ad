"""Energy that the machine's own counters tell.

Of processors by Linux powercap (RAPL), of NVIDIA devices by NVML.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

POWERCAP = Path("/sys/class/powercap")
EVERY = 30.0
"""Seconds between readings: a counter of 262 kJ goes round in 10 minutes at 400 W."""
_PACKAGE = "package-"


@dataclass(slots=True)
class Counter:
    """A counter of energy that begins again at its range.

    Args:
        name: Of what it counts.
        read: The number of joules now; it raises ``OSError`` where it cannot.
        range: Joules at which it begins again; 0 where it does not.
        joules: Since ``start``.
        broken: Whether a reading failed, so that the sum is not known.
    """

    name: str
    read: Callable[[], float] = field(repr=False)
    range: float = 0.0
    joules: float = 0.0
    broken: bool = False
    _last: float = 0.0

    def start(self) -> None:
        """Count from here."""
        self.joules, self.broken = 0.0, False
        with self._trying():
            self._last = self.read()

    def update(self) -> None:
        """Add what was used since the last reading, at most one round of the counter."""
        with self._trying():
            now = self.read()
            used = now - self._last + (self.range if now < self._last else 0.0)
            self.broken |= used < 0  # it went back, and has no range
            self.joules, self._last = self.joules + used, now

    @contextmanager
    def _trying(self) -> Iterator[None]:
        """Keep a failed reading from ending the job that is measured."""
        try:
            yield
        except (OSError, ValueError):
            self.broken = True


@dataclass(slots=True)
class Meter:
    """Counts the energy of what runs inside ``with``; all of the machine's, other work's too.

    Args:
        counters: As ``counters`` finds them.
        every: Seconds between readings.
    """

    counters: list[Counter]
    every: float = EVERY
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        for one in self.counters:
            one.start()
        self._ended.clear()
        if self.counters:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        for one in self.counters:
            one.update()

    def _watch(self) -> None:
        while not self._ended.wait(self.every):
            for one in self.counters:
                one.update()

    @property
    def joules(self) -> dict[str, float]:
        """Joules by counter, of those that could be read to the end."""
        return {one.name: one.joules for one in self.counters if not one.broken}


def counters(powercap: Path = POWERCAP) -> list[Counter]:
    """Return the counters that may be read; none where there are none, or only root may.

    Of processors the packages alone: cores and memory controller are parts of them, the platform
    holds them, and the same package stands again under ``intel-rapl-mmio``. Of NVIDIA devices those
    that PyTorch would use, where ``nvidia-ml-py`` is installed.
    """
    return [*_packages(powercap), *_devices()]


def _packages(powercap: Path) -> Iterator[Counter]:
    for folder in sorted(powercap.glob("intel-rapl:*")):
        with suppress(OSError, ValueError):
            name = (folder / "name").read_text("ascii").strip()
            if folder.name.count(":") == 1 and name.startswith(_PACKAGE):
                most = int((folder / "max_energy_range_uj").read_text("ascii")) / 1e6
                found = Counter(name, partial(_read, folder / "energy_uj"), most)
                found.read()
                yield found


def _read(path: Path) -> float:
    return int(path.read_text("ascii")) / 1e6


def _devices() -> Iterator[Counter]:
    """Yield a counter for each device of PyTorch.

    Since Volta, NVML counts the millijoules since the driver began.
    """
    import torch  # noqa: PLC0415 - heavy

    if not torch.cuda.is_available():
        return
    try:
        import pynvml  # noqa: PLC0415 - of an extra
    except ImportError:
        return
    with suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        for number in range(torch.cuda.device_count()):
            handle = pynvml.nvmlDeviceGetHandleByUUID(
                f"GPU-{torch.cuda.get_device_properties(number).uuid}"
            )

            def read(handle: Any = handle) -> float:
                try:
                    return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)) / 1e3
                except pynvml.NVMLError as error:
                    raise OSError(str(error)) from None

            with suppress(OSError):
                read()
                yield Counter(f"gpu-{number}", read)
