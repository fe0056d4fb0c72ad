"""What is written while a detector runs reaches nobody; what is written before and after does."""

import logging
import os
import subprocess
import sys
import warnings

import pytest

from deid_assets.runtime.processes import run_parts
from deid_assets.system.silence import silence_output


def through_logging():
    logging.getLogger("third.party").error("text of a note")


def through_a_handler_on_the_old_stream():
    handler = logging.StreamHandler(sys.__stderr__)
    logger = logging.getLogger("third.party.early")
    logger.addHandler(handler)
    logger.error("text of a note")
    logger.removeHandler(handler)


def through_a_warning():
    warnings.warn("text of a note", stacklevel=1)


def through_the_descriptor():
    os.write(1, b"text of a note")
    os.write(2, b"text of a note")


def through_a_buffer():
    sys.__stdout__.write("text of a note")


def through_print():
    print("text of a note")  # noqa: T201 - what this is about
    print("text of a note", file=sys.stderr)  # noqa: T201 - as above


@pytest.mark.parametrize(
    "speak",
    [
        through_print,
        through_logging,
        through_a_handler_on_the_old_stream,
        through_a_warning,
        through_the_descriptor,
        through_a_buffer,
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nothing_is_heard_meanwhile(capfd, speak):
    sys.stdout.write("before ")
    with silence_output():
        speak()
    sys.stdout.write("after")
    out, err = capfd.readouterr()

    assert (out, err) == ("before after", "")


def test_the_streams_come_back_when_the_detector_raises(capfd):
    with pytest.raises(LookupError), silence_output():
        raise LookupError
    os.write(1, b"heard")

    assert capfd.readouterr().out == "heard"


def test_a_stream_of_ones_own_is_heard(capfd):
    own = os.dup(1)
    with silence_output():
        os.write(own, b"progress")
    os.close(own)

    assert capfd.readouterr().out == "progress"


DUMPABLE = "import ctypes; {prepare}; raise SystemExit(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone can refuse it")
@pytest.mark.parametrize(
    ("prepare", "is_readable"),
    [
        ("0", 1),
        ("from deid_assets.system.silence import protect_memory; protect_memory()", 0),
        ("from deid_assets.defs.instance import harden_process; harden_process()", 0),
        (
            (
                "import deid_assets.cli as c; from typer.testing import CliRunner as R;"
                " R().invoke(c.app, ['detectors'])"
            ),
            0,
        ),
    ],
)
def test_no_other_process_of_the_user_may_read_the_memory_of_one_that_holds_text(
    prepare, is_readable
):
    command = [sys.executable, "-c", DUMPABLE.format(prepare=prepare)]
    assert subprocess.run(command, check=False).returncode == is_readable


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone can refuse it")
def test_nor_that_of_a_worker():
    asked = "__import__('ctypes').CDLL(None).prctl(3, 0, 0, 0, 0)"
    assert run_parts(eval, [asked, asked], workers=2) == [0, 0]
