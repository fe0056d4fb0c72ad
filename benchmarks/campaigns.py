"""Attacks on what docs/security.md promises, as far as they can be repeated.

What was tried and what held.

    python benchmarks/campaigns.py                 # the share that every test run makes, seconds
    python benchmarks/campaigns.py --all           # all of them, hours
    python benchmarks/campaigns.py --all --only tamper
    python benchmarks/campaigns.py --left-alone 60 # make ui for an hour, memory minute by minute

A campaign is a test in ``tests/security`` that counts its tries; one that fails names the try.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from conditions import conditions
from left_alone import kill, watch

ROOT = Path(__file__).parents[1]


def main() -> int:
    options = _options()
    print(conditions(), flush=True)
    if options.left_alone:
        return watch(options.left_alone)
    if options.kill_daemon:
        return kill(options.kill_daemon, seed=options.after or 1)
    return _attack(options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true", help="the full counts, not a share")
    parser.add_argument(
        "--tries", type=int, metavar="N", help="as --all, with at most so many tries of each"
    )
    parser.add_argument(
        "--after",
        type=int,
        default=0,
        metavar="N",
        help="leave out the first N numbered tries of each",
    )
    parser.add_argument(
        "--only", default="", metavar="WORDS", help="campaigns by name, as pytest -k has it"
    )
    parser.add_argument(
        "--left-alone",
        type=int,
        metavar="MINUTES",
        help="leave make ui alone instead, on the installation at DEID_HOME",
    )
    parser.add_argument(
        "--kill-daemon",
        type=int,
        metavar="KILLS",
        help="kill processes of make ui at random instead, on the installation at DEID_HOME",
    )
    return parser.parse_args()


def _attack(options: argparse.Namespace) -> int:
    environment = {**os.environ, "DEID_CAMPAIGNS_AFTER": str(options.after)}
    environment["DEID_CAMPAIGNS_REPORTED_TO"] = str(os.dup(1))
    if options.all or options.tries:
        environment["DEID_CAMPAIGNS"] = str(options.tries or "all")
    chosen = f"campaign and ({options.only})" if options.only else "campaign"
    pytest = [sys.executable, "-m", "pytest", "tests/security", "-q", "-p", "no:cacheprovider"]
    started = time.monotonic()
    done = subprocess.run(
        [*pytest, "-k", chosen, "--deselect", "tests/security/test_promises.py"],
        cwd=ROOT,
        env=environment,
        pass_fds=[int(environment["DEID_CAMPAIGNS_REPORTED_TO"])],
        capture_output=True,
        text=True,
        check=False,
    )
    print(
        f"{time.monotonic() - started:,.0f} s;"
        f" {'all held' if done.returncode == 0 else done.stdout[-4000:]}"
    )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
