"""Where PyTorch's own pooling operators run on our kernels: in a thread's context, or everywhere.

The operators are replaced at PyTorch's dispatcher, below autograd, tracing and transforms, which stay PyTorch's. Where
pooljit._torch_access fits the PyTorch of the process, that is done in C++ (src/torch_operators.cpp), else by
torch.library (_operators.py).
"""
import functools
import importlib
import inspect

import torch  # noqa: F401: pooljit._torch_access looks for it
from torch.nn import functional as F

import pooljit
from pooljit import _core

__all__ = ["disable", "enable", "functions", "is_enabled"]

_switch = importlib.import_module("pooljit._torch_access" if _core.has_torch_access() else "pooljit.torch._operators")
_enabled = False


class functions:  # noqa: N801: used like a function
    """A context in which PyTorch's pooling runs on our kernels: torch.nn.functional's, and what calls it.

    It holds for this thread, may be nested, and is a decorator too. The gradients of what was pooled there are our
    kernels' wherever backward() runs.

    >>> import torch, pooljit.torch
    >>> x = torch.tensor([[[[1., 2.], [4., 3.]]]], requires_grad=True)
    >>> with pooljit.torch.functions():
    ...     y = torch.nn.functional.max_pool2d(x, 2)
    >>> y.sum().backward()
    >>> x.grad
    tensor([[[[0., 0.],
              [1., 0.]]]])
    """

    def __enter__(self):
        _switch.enter_functions()
        return self

    def __exit__(self, *_):
        _switch.leave_functions()

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*arguments, **keywords):
            with self:
                return function(*arguments, **keywords)
        return inside


def enable(measure=None):
    """Puts PyTorch's own pooling operators of the CPU on our kernels, in all threads, until disable().

    Unchanged models use them, with PyTorch's autograd, tracing and transforms. What we do not do is PyTorch's as before.

    Args:
        measure: what pooljit.set_measure is called with first, 6 say, for the whole process; None: it is left alone.

    >>> import torch, pooljit.torch
    >>> pooljit.torch.enable()
    >>> torch.nn.functional.max_pool2d(torch.tensor([[[[1., 2.], [4., 3.]]]]), 2)
    tensor([[[[4.]]]])
    >>> pooljit.torch.disable()
    """
    global _enabled
    if measure is not None:
        pooljit.set_measure(measure)
    _switch.set_enabled(True)
    _enabled = True


def disable():
    """Takes enable() back: PyTorch's operators are PyTorch's again."""
    global _enabled
    _switch.set_enabled(False)
    _enabled = False


def is_enabled():
    """Whether PyTorch's operators are ours now, in all threads."""
    return _enabled


NAMES = tuple(f"{kind}{rank}d" for kind in ("max_pool", "avg_pool", "lp_pool", "adaptive_max_pool", "adaptive_avg_pool",
                                            "max_unpool") for rank in (1, 2, 3) if hasattr(F, f"{kind}{rank}d"))


# PyTorch's, whose functions in C++ do not say theirs.
_SIGNATURES = {
    "max_pool": lambda input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False: 0,
    "avg_pool1d": lambda input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True: 0,
    "avg_pool": lambda input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                       divisor_override=None: 0,
    "lp_pool": lambda input, norm_type, kernel_size, stride=None, ceil_mode=False: 0,
    "adaptive_max_pool": lambda input, output_size, return_indices=False: 0,
    "adaptive_avg_pool": lambda input, output_size: 0,
    "max_unpool": lambda input, indices, kernel_size, stride=None, padding=0, output_size=None: 0,
}


def _on_ours(name):
    """torch.nn.functional's function of that name, in functions()."""
    theirs = getattr(F, name)

    def pooled(*arguments, **keywords):
        _switch.enter_functions()
        try:
            return theirs(*arguments, **keywords)
        finally:
            _switch.leave_functions()

    pooled.__name__ = pooled.__qualname__ = name
    pooled.__module__, pooled.__wrapped__ = "pooljit.torch", theirs
    pooled.__signature__ = inspect.signature(_SIGNATURES.get(name) or _SIGNATURES[name[:-2]])
    pooled.__doc__ = f"torch.nn.functional.{name} in functions(): PyTorch's arguments, results and gradients, on our kernels."
    return pooled


for _name in NAMES:
    globals()[_name] = _on_ours(_name)
    __all__.append(_name)
