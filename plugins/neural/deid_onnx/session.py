"""ONNX Runtime sessions: which hardware, how many threads, and arrays in and out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import PluginError
from deid_onnx.devices import has_card as sees_card
from deid_onnx.devices import say_cpu
from deid_onnx.families import Feeds, Run

OUTPUT = "emissions"
_PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
}

_WITHOUT_CUDA = (
    "this ONNX Runtime was built without CUDA; install onnxruntime-gpu instead of onnxruntime, or"
    ' name the option providers = "cpu"'
)
_CRASHES = "FuseFp16InitializerToFp32NodeTransformer"
"""It ends the process on a CPU where an LSTM has weights of 16 bits (ONNX Runtime 1.31).

A CPU casts them without it too.
"""


def cores() -> int:
    """Return the processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose(
    wanted: Sequence[str], *, present: Sequence[str] | None = None, has_card: bool | None = None
) -> list[str]:
    """Return execution providers by their names in ONNX Runtime, the best first.

    The CPU is always the last.

    Where none is named, a card is seen and this build of ONNX Runtime cannot use it, the CPU is
    taken, and that is said once on standard error.

    Args:
        wanted: ``cpu``, ``cuda``, ``tensorrt``; empty for CUDA where a card is seen and the build
            has it. TensorRT builds an engine for minutes at first use, so it is only used where it
            is asked for.
        present: Providers of this build; asked of ONNX Runtime where not given.
        has_card: Whether there is a GPU of NVIDIA; looked for where not given.

    Raises:
        PluginError: A name is unknown, or this build of ONNX Runtime has no such provider.
    """
    if present is None:
        import onnxruntime  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - importing the plugin stays light

        present = onnxruntime.get_available_providers()
    if has_card is None:
        has_card = sees_card()
    if not wanted and has_card:
        if _PROVIDERS["cuda"] in present:
            wanted = ["cuda"]
        else:
            say_cpu(_WITHOUT_CUDA)
    if unknown := [name for name in wanted if name not in _PROVIDERS]:
        raise PluginError(f"provider {unknown[0]!r} is unknown; choose of {', '.join(_PROVIDERS)}")
    if absent := [name for name in wanted if _PROVIDERS[name] not in present]:
        raise PluginError(
            f"this ONNX Runtime has no provider {absent[0]!r}; install onnxruntime-gpu instead of"
            " onnxruntime"
        )
    return list(dict.fromkeys([*(_PROVIDERS[name] for name in wanted), _PROVIDERS["cpu"]]))


def check_started(chosen: Sequence[str], started: Sequence[str], *, named: bool) -> None:
    """Refuse a session that runs elsewhere than was chosen.

    ONNX Runtime itself takes the CPU without a word.

    Args:
        chosen: As ``choose`` gives them.
        started: Those that the session has.
        named: Whether the provider was asked for, or follows from the card that was seen.

    Raises:
        PluginError: The best of those chosen did not start; the message says what to install.
    """
    if chosen[0] in started:
        return
    name = next(short for short, long in _PROVIDERS.items() if long == chosen[0])
    why = "" if named else "there is a GPU, and "
    raise PluginError(
        f"{why}provider {name!r} does not start: its libraries or the driver are missing; install"
        " CUDA 12 and cuDNN 9 (pip install 'onnxruntime-gpu[cuda,cudnn]'), or set providers ="
        ' "cpu"'
    )


def start(path: Path, *, providers: Sequence[str], threads: int) -> Any:
    """Return an ``InferenceSession`` of ONNX Runtime.

    Args:
        path: The ``.onnx`` file.
        providers: As ``choose`` takes them.
        threads: Cores that one run may use.

    Raises:
        PluginError: The file is missing or broken, or a wanted provider does not start.
    """
    if not path.is_file():
        raise PluginError(
            f"{path}: no such file; export the model with `deid export`, or choose another"
            " precision"
        )
    import onnxruntime  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - importing the plugin stays light

    chosen = choose(providers)
    if len(chosen) > 1 and hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls(directory="")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=chosen, disabled_optimizers=[_CRASHES]
        )
    except Exception as error:
        raise PluginError(
            f"{path} does not load in ONNX Runtime ({type(error).__name__}); export the model again"
        ) from error
    check_started(chosen, session.get_providers(), named=bool(providers))
    return session


class Session:
    """A tagger's network in ONNX Runtime.

    Arguments and errors as ``start``; it must have the one output, by its name.
    """

    def __init__(
        self, path: Path, *, providers: Sequence[str], threads: int, output: str = OUTPUT
    ) -> None:
        self._session = start(path, providers=providers, threads=threads)
        if [found.name for found in self._session.get_outputs()] != [output]:
            raise PluginError(f"{path} has not the one output {output!r}; it is no exported tagger")
        self._output = output
        self.inputs = frozenset(entry.name for entry in self._session.get_inputs())
        self.on_gpu = self._session.get_providers()[0] != _PROVIDERS["cpu"]
        self.run: Run = self._run_bound if self.on_gpu else self._plain

    def _plain(self, feeds: Feeds) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self._session.run([self._output], self._read(feeds))[0]
        return found

    def _read(self, feeds: Feeds) -> dict[str, NDArray[Any]]:
        """Return what the graph reads of the feeds.

        An input that plays no part in a small network is not in its file.
        """
        return {name: array for name, array in feeds.items() if name in self.inputs}

    def _run_bound(self, feeds: Feeds) -> NDArray[np.float32]:
        """Run with the output left on the card until all of it is there.

        So nothing waits in between.
        """
        binding = self._session.io_binding()
        for name, array in self._read(feeds).items():
            binding.bind_cpu_input(name, np.ascontiguousarray(array))
        binding.bind_output(self._output, "cuda")
        self._session.run_with_iobinding(binding)
        found: NDArray[np.float32] = binding.copy_outputs_to_cpu()[0]
        return found
