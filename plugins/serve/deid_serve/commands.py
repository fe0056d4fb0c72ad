"""``deid serve``."""

from __future__ import annotations

import gc
import ipaddress
import os
import secrets
import socket
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError
from deid_assets.extending.commands import (
    DetectorSettingOption,
    group_options,
    parse_option,
    say,
)

if TYPE_CHECKING:
    from deid_serve.limits import ServiceLimits
    from deid_serve.pipeline_door import PipelineDoor

_SHORTEST = 24
"""Characters of a token."""
_BACKLOG = 128
_CONNECTIONS = 128


@dataclass(frozen=True, slots=True)
class AddressOptions:
    """Options on where the service listens, and by what names it is called."""

    port: Arg[int, typer.Option(metavar="N", min=0, max=65_535, help="0 takes a free one.")] = 8642
    listen: Arg[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="To listen on; another than loopback needs --proxy-secret and --host-name.",
        ),
    ] = "127.0.0.1"
    host_name: Arg[
        list[str] | None,
        typer.Option(metavar="NAME", help="By which the proxy calls this server; several times."),
    ] = None
    proxy_secret: Arg[
        Path | None,
        typer.Option(metavar="FILE", help="What a login proxy sends as X-Deid-Proxy; mode 600."),
    ] = None
    token_file: Arg[
        Path | None,
        typer.Option(metavar="FILE", help="Token of callers, mode 600; made where there is none."),
    ] = None


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """Options on what a request may cost."""

    max_bytes: Arg[int, typer.Option(metavar="N", min=4096, help="Of a body.")] = 4 << 20
    max_notes: Arg[int, typer.Option(metavar="N", min=1, help="In a batch.")] = 200
    max_chars: Arg[int, typer.Option(metavar="N", min=1, help="Of a note.")] = 500_000
    seconds: Arg[float, typer.Option(metavar="S", min=0.1, help="Until an answer.")] = 60.0
    waiting: Arg[int, typer.Option(metavar="N", min=1, help="Requests at a time.")] = 32
    session_minutes: Arg[
        float, typer.Option(metavar="M", min=0.1, help="After which a session is gone.")
    ] = 60.0

    def limits(self) -> ServiceLimits:
        """Return the limits."""
        from deid_serve.limits import ServiceLimits  # noqa: PLC0415

        return ServiceLimits(
            bytes_=self.max_bytes,
            notes=self.max_notes,
            chars=self.max_chars,
            seconds=self.seconds,
            waiting=self.waiting,
            session_seconds=60 * self.session_minutes,
        )


@group_options
def serve(
    *,
    detector: Arg[
        list[str] | None,
        typer.Option(metavar="NAME", help="Of the ensemble, the most trusted first."),
    ] = None,
    option: DetectorSettingOption = None,
    policy: Arg[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Policy of your own beside those of deid."),
    ] = None,
    quiet: Arg[bool, typer.Option("--quiet", help="Write no line for each request.")] = False,
    address: AddressOptions,
    bounds: LimitOptions,
) -> int:
    """Serve a page and a REST service that show, explain and redact notes, to this machine.

    Runs until interrupted. No text is stored or logged.
    """
    check_address(address)
    from deid_assets.extending.serving import protect_memory  # noqa: PLC0415

    protect_memory()
    door = _door(detector, option or [], policy or [], bounds.limits())
    token, is_printed = _token(address.token_file)
    proxy = _secret_line(address.proxy_secret) if address.proxy_secret else ""
    listening = listening_socket(address)
    try:
        _run(door, listening, address, token=token, proxy=proxy, says=(is_printed, quiet))
    finally:
        listening.close()
    return 0


def check_address(address: AddressOptions) -> None:
    """Refuse to listen where others may call, unless a login proxy stands before it.

    Raises:
        InputError: The address is none, or is open to others without a proxy.
    """
    try:
        is_loopback = ipaddress.ip_address(address.listen).is_loopback
    except ValueError:
        raise InputError(
            "--listen takes an address in numbers, such as 127.0.0.1; name one"
        ) from None
    if is_loopback:
        return
    if not (address.proxy_secret and address.host_name):
        raise InputError(
            f"--listen {address.listen} is open to others, and this server asks nobody for a"
            " login; put a login proxy before it and give --proxy-secret and --host-name"
        )


def _door(
    detectors: Sequence[str] | None,
    options: Sequence[str],
    policies: Sequence[Path],
    limits: ServiceLimits,
) -> PipelineDoor:
    from deid_assets.extending.serving import (  # noqa: PLC0415 - loads detectors
        DEFAULT_ENSEMBLE,
        load_policy,
        secret_of_environment,
    )
    from deid_serve.pipeline_door import open_door  # noqa: PLC0415

    given: dict[str, dict[str, Any]] = {}
    for one in options:
        owner, key, value = parse_option(one)
        given.setdefault(owner, {})[key] = value
    return open_door(
        own_policies=[load_policy(path) for path in policies],
        detectors=detectors or DEFAULT_ENSEMBLE,
        options=given,
        secret=secret_of_environment(),
        limits=limits,
    )


def _token(path: Path | None) -> tuple[str, bool]:
    """Return the token, and whether it is printed: it is where no file holds it."""
    if path is None:
        return secrets.token_urlsafe(32), True
    if not path.exists():
        with suppress(FileExistsError):  # another process was first
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(opened, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
    return _secret_line(path), False


def _secret_line(path: Path) -> str:
    """Return the one line of a file that its owner alone reads.

    Raises:
        InputError: Others may read it, or it holds no secret of enough characters.
    """
    with path.open(encoding="ascii", errors="replace") as file:
        mode = os.fstat(file.fileno()).st_mode
        line = file.read(4096).strip()
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(f"{path}: others may read or change it; run chmod 600 on it")
    if len(line) < _SHORTEST or not line.isascii() or not line.isprintable() or " " in line:
        raise InputError(
            f"{path}: holds no secret of at least {_SHORTEST} letters and digits in one line; write"
            " the output of `openssl rand -hex 32` to it"
        )
    return line


def listening_socket(address: AddressOptions) -> socket.socket:
    """Return a socket that listens.

    Raises:
        InputError: The port is taken.
    """
    family = socket.AF_INET6 if ":" in address.listen else socket.AF_INET
    # asyncio sends an answer at once (TCP_NODELAY) on sockets that name their protocol alone; else
    # a caller that keeps its connection waits 40 ms for the body.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.listen, address.port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise InputError(
            f"port {address.port} of {address.listen}: {error.strerror}; choose another by --port"
        ) from None
    return listening


def _run(
    door: PipelineDoor,
    listening: socket.socket,
    address: AddressOptions,
    *,
    token: str,
    proxy: str,
    says: tuple[bool, bool],
) -> None:
    import uvicorn  # noqa: PLC0415 - loads a server

    from deid_assets.extending.serving import silence_for_good  # noqa: PLC0415
    from deid_serve.app import NoteService  # noqa: PLC0415
    from deid_serve.guarding import Doorkeeper  # noqa: PLC0415

    port = listening.getsockname()[1]
    keeper = Doorkeeper(token, host_names(address, port), proxy, f"deid_serve_{port}")
    service = NoteService.of(door, keeper)
    is_printed, is_quiet = says
    _greet(address, port, keeper, token if is_printed else "", has_key=door.secret is not None)
    told = None if is_quiet else request_writer()
    settle_memory()
    # From here on nothing that a library prints or logs, which may quote a note, is shown.
    silence_for_good()
    try:
        uvicorn.Server(server_config(service.app(told))).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        service.lane.close()


def settle_memory() -> None:
    """Leave what is loaded out of the search for garbage, which would hold up a request by a tenth
    of a second now and then.
    """
    gc.collect()
    gc.freeze()


def server_config(app: Any) -> Any:
    """Return how the server runs an application: it logs nothing and trusts no header."""
    import uvicorn  # noqa: PLC0415 - loads a server

    from deid_serve.connections import BoundedConnection  # noqa: PLC0415 - the same

    return uvicorn.Config(
        app,
        http=BoundedConnection,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=16_384,
    )


def host_names(address: AddressOptions, port: int) -> frozenset[str]:
    """Return the names by which a request may call the server, in lower case."""
    own = {"localhost", "127.0.0.1", "[::1]"}
    literal = f"[{address.listen}]" if ":" in address.listen else address.listen
    if ipaddress.ip_address(address.listen).is_loopback:
        own.add(literal)
    named = {name.lower() for name in address.host_name or ()}
    return frozenset(
        {f"{name}:{port}" for name in own | named} | named | (own if port == 80 else set())
    )


def _greet(address: AddressOptions, port: int, keeper: Any, token: str, *, has_key: bool) -> None:
    host = f"[{address.listen}]" if ":" in address.listen else address.listen
    base = f"http://{host}:{port}"
    say(f"open {base}/login?code={keeper.link()} in a browser; it works once, for ten minutes")
    say(f"the REST service is described at {base}/docs")
    say(f"token: {token}" if token else f"the token is in {address.token_file}")
    if not has_key:
        say("DEID_KEY is not set: policies that need a key are refused, but on the page")


def request_writer() -> Callable[[str, str, int, float], None]:
    """Return what writes a line on each request to what standard error is now."""
    stream = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", buffering=1)

    def write(method: str, path: str, status: int, spent: float) -> None:
        stream.write(f"{method} {path} {status} {spent:.0f} ms\n")

    return write
