"""Where networks run, decided from lists of providers; no card is needed."""

from __future__ import annotations

import pytest

from deid_assets.extending import PluginError
from deid_onnx.session import _say_cpu, check_started, choose

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
def test_the_card_is_taken_where_it_can_be_and_the_cpu_is_always_the_last(wanted, present, has_card, chosen):
    assert choose(wanted, present=present, has_card=has_card) == chosen


def test_a_card_that_this_build_cannot_use_is_said_once(capsys):
    _say_cpu.cache_clear()

    assert [choose([], present=[CPU], has_card=True) for _ in range(3)] == [[CPU]] * 3
    said = capsys.readouterr().err
    assert said.count("warning: there is a card") == 1
    assert "onnxruntime-gpu" in said


def test_the_cpu_asked_for_is_nothing_to_warn_of(capsys):
    _say_cpu.cache_clear()
    choose(["cpu"], present=[CPU], has_card=True)

    assert capsys.readouterr().err == ""


def test_a_provider_that_the_build_lacks_is_refused():
    with pytest.raises(PluginError, match="install onnxruntime-gpu"):
        choose(["cuda"], present=[CPU], has_card=True)


@pytest.mark.parametrize(
    ("named", "begins"), [(True, "provider 'cuda'"), (False, "there is a card, and provider 'cuda'")]
)
def test_a_card_without_its_libraries_is_an_error_with_the_remedy(named, begins):
    with pytest.raises(PluginError, match=f"^{begins} does not start.*install CUDA 12 and cuDNN 9"):
        check_started([CUDA, CPU], [CPU], named=named)


def test_a_session_that_started_as_chosen_passes():
    check_started([CUDA, CPU], [CUDA, CPU], named=False)
    check_started([CPU], [CPU], named=False)
