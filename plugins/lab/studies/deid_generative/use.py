"""How a model is used, on a server or here: the options of ``GenerativeDetector``, without what
either is opened with.
"""

from __future__ import annotations

from dataclasses import dataclass

from deid_assets.extending import ConfigError

PROTOCOLS = ("llama.cpp", "vllm", "openai")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """How a server is spoken to; see ``GenerativeDetector``."""

    served: str = ""
    prompt: str = "zero_shot_fr"
    allow_remote: bool = False
    protocol: str = "llama.cpp"
    chat: bool = False
    together: int = 4
    timeout: float = 120.0
    retries: int = 2
    key_env: str = ""
    window: int = 400
    constrained: bool = True

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise ConfigError(
                f"protocol is {self.protocol!r}; choose one of {', '.join(PROTOCOLS)}"
            )
        if self.together < 1 or self.retries < 0 or self.timeout <= 0 or self.window < 20:
            raise ConfigError(
                "together is 1 or more, retries 0 or more, timeout above 0, and window 20 or more"
            )


@dataclass(frozen=True, slots=True)
class Use:
    """How a model is used; see ``GenerativeDetector``. What is ``None`` is the model's own."""

    constrained: bool | None = None
    ahead: int | None = None
    bias: float | None = None
    context: int | None = None
    bits: int | str = "auto"
    budget_gb: float = 16.0
    threads: int | None = None
    device: str | None = None
    allow_download: bool = False
