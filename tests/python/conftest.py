"""The package under test is the one that PYTHONPATH names (ctest sets it to build/python)."""
import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(37)


def random_array(rng, dtype, shape):
    """Random elements of a spec's dtype; bfloat16 as numpy has it without ml_dtypes."""
    if dtype == "bfloat16":
        return (rng.standard_normal(shape, np.float32).view(np.uint32) >> 16).astype(np.uint16).view("V2")
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype.lstrip("q"))
    return rng.integers(limits.min, limits.max, shape, limits.dtype, endpoint=True)


@pytest.fixture
def make_array(rng):
    return lambda dtype, shape: random_array(rng, dtype, shape)
