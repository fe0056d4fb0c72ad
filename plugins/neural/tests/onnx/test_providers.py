"""Where networks run, decided from lists of providers and devices; no card is needed."""

from __future__ import annotations

import pytest

from deid_assets.extending import ConfigError, PluginError
from deid_onnx.devices import Machine, device, has_card, say_cpu
from deid_onnx.session import check_started, choose

CPU, CUDA, TENSORRT = "CPUExecutionProvider", "CUDAExecutionProvider", "TensorrtExecutionProvider"
ALL = [TENSORRT, CUDA, CPU]


@pytest.mark.parametrize(
    ("wanted", "present", "has_card", "chosen"),
    [
        ([], ALL, True, [CUDA, CPU]),
        ([], ALL, False, [CPU]),
        ([], [CPU], False, [CPU]),
        (["cpu"], ALL, True, [CPU]),
        (["tensorrt", "cuda"], ALL, True, [TENSORRT, CUDA, CPU]),
        (["cuda"], ALL, False, [CUDA, CPU]),
    ],
)
def test_the_card_is_taken_where_it_can_be_and_the_cpu_is_always_the_last(
    wanted, present, has_card, chosen
):
    assert choose(wanted, present=present, has_card=has_card) == chosen


def test_a_card_that_this_build_cannot_use_is_said_once(capsys):
    say_cpu.cache_clear()

    assert [choose([], present=[CPU], has_card=True) for _ in range(3)] == [[CPU]] * 3
    said = capsys.readouterr().err
    assert said.count("warning: there is a GPU") == 1
    assert "onnxruntime-gpu" in said


def test_the_cpu_asked_for_is_nothing_to_warn_of(capsys):
    say_cpu.cache_clear()
    choose(["cpu"], present=[CPU], has_card=True)

    assert capsys.readouterr().err == ""


def test_a_provider_that_the_build_lacks_is_refused():
    with pytest.raises(PluginError, match="install onnxruntime-gpu"):
        choose(["cuda"], present=[CPU], has_card=True)


@pytest.mark.parametrize(
    ("named", "begins"), [(True, "provider 'cuda'"), (False, "there is a GPU, and provider 'cuda'")]
)
def test_a_card_without_its_libraries_is_an_error_with_the_remedy(named, begins):
    with pytest.raises(PluginError, match=f"^{begins} does not start.*install CUDA 12 and cuDNN 9"):
        check_started([CUDA, CPU], [CPU], named=named)


def test_a_session_that_started_as_chosen_passes():
    check_started([CUDA, CPU], [CUDA, CPU], named=False)
    check_started([CPU], [CPU], named=False)


TWO = Machine(has_card=True, is_built=True, devices=["cuda:0", "cuda:1"])
NONE = Machine(has_card=False, is_built=True)
PLAIN = Machine(has_card=True, is_built=False)
BROKEN = Machine(has_card=True, is_built=True)


@pytest.mark.parametrize(
    ("named", "machine", "place"),
    [
        (None, TWO, "cuda"),
        (None, NONE, "cpu"),
        (None, Machine(has_card=False, is_built=False, devices=["mps:0"]), "cpu"),
        ("cpu", BROKEN, "cpu"),
        ("cuda", TWO, "cuda"),
        ("cuda:1", TWO, "cuda:1"),
        ("mps", Machine(has_card=False, is_built=False, devices=["mps:0"]), "mps"),
    ],
)
def test_pytorch_takes_the_card_or_what_is_named(named, machine, place, capsys):
    say_cpu.cache_clear()
    assert device(named, machine=machine) == place
    assert capsys.readouterr().err == ""


def test_a_card_that_this_pytorch_cannot_use_is_said_once(capsys):
    say_cpu.cache_clear()

    assert [device(machine=PLAIN) for _ in range(3)] == ["cpu"] * 3
    said = capsys.readouterr().err
    assert said.count("warning: there is a GPU, and networks run on the CPU") == 1
    assert "this PyTorch was built without CUDA; install one with it" in said


@pytest.mark.parametrize(
    ("named", "machine", "message"),
    [
        (
            None,
            BROKEN,
            (
                "there is a GPU, and PyTorch cannot start it: the driver .*nvidia-smi.*set device ="
                " .cpu"
            ),
        ),
        ("cuda", BROKEN, "device 'cuda' is not there: PyTorch cannot start it: the driver"),
        (
            "cuda",
            PLAIN,
            "device 'cuda' is not there: this PyTorch was built without CUDA; install one",
        ),
        (
            "cuda",
            NONE,
            "no NVIDIA GPU is seen; see that nvidia-smi and CUDA_VISIBLE_DEVICES show it",
        ),
        ("cuda:2", TWO, "'cuda:2' is not there: there are cuda:0, cuda:1; give one of these"),
        ("mps", TWO, "'mps' is not there: this PyTorch and this machine have none"),
    ],
)
def test_a_device_that_cannot_be_used_is_an_error_with_the_remedy(named, machine, message):
    with pytest.raises(PluginError, match=message) as told:
        device(named, machine=machine)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("named", ["gpu", "cuda:", "cuda:x", "cuda:-1", ""])
def test_a_device_that_pytorch_does_not_know_is_told(named):
    with pytest.raises(ConfigError, match="is unknown; give cpu, cuda, mps, xpu"):
        device(named, machine=TWO)


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_a_card_that_is_hidden_is_none(hidden, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert not has_card()
