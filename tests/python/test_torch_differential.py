"""A slice of torch_differential.py's random calls, each way of putting them on our kernels; scripts/sweep does thousands."""
import pytest

torch = pytest.importorskip("torch", reason="python3-torch is not installed")

import torch_differential  # noqa: E402


@pytest.mark.parametrize("way", ["enable", "functions", "optimize"])
def test_as_pytorch(way):
    assert torch_differential.differences(150, seed=7, way=way) == []


def test_a_difference_is_found(monkeypatch):
    """A wrong gradient does not pass."""
    real = torch_differential.ours

    def wrong(call, way):
        return {what: value + 1 if what == "gradient" else value for what, value in real(call, way).items()}

    monkeypatch.setattr(torch_differential, "ours", wrong)
    found = torch_differential.differences(20, seed=7, way="enable")
    assert found and all(why.startswith("gradient") for _, why in found)
