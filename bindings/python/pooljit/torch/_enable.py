"""Our kernels behind PyTorch's own operators (torch.library), for models that nobody changes.

The operators of the key CPU, below autograd, are replaced: gradients, their gradients and inference mode stay
PyTorch's. What we refuse goes to the operator's variant with out=, which stays PyTorch's. The composite operators
(max_pool2d, adaptive_avg_pool2d, ...) are replaced too, so that no indices are made where nobody asks for them.
"""
import warnings

import torch

import pooljit
from pooljit._errors import Error

from ._functional import is_lawful, like, ours, per_dim, wants_gradient

_aten = torch.ops.aten
_libraries = []


def _empty(x):
    return torch.empty(0, dtype=x.dtype)


def _max_with_indices(rank):
    instead = getattr(_aten, f"max_pool{rank}d_with_indices").out

    def kernel(x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        if is_lawful(rank, kernel_size, padding):
            try:
                return ours("max_pool", rank)(x, kernel_size, stride or None, padding, dilation, ceil_mode, True)
            except Error:
                pass
        return instead(x, kernel_size, stride, padding, dilation, ceil_mode, out=_empty(x),
                       indices=torch.empty(0, dtype=torch.int64))
    return kernel


def _max_backward(rank):
    instead = getattr(_aten, f"max_pool{rank}d_with_indices_backward").grad_input

    def kernel(gradient, x, kernel_size, stride, padding, dilation, ceil_mode, indices):
        try:
            return getattr(pooljit, f"max_pool{rank}d_backward")(
                like(gradient, indices), indices, x.shape, kernel_size, stride or None, padding, dilation, ceil_mode)
        except Error:
            return instead(gradient, x, kernel_size, stride, padding, dilation, ceil_mode, indices, grad_input=_empty(x))
    return kernel


def _avg(rank):
    instead = getattr(_aten, f"avg_pool{rank}d").out

    def kernel(x, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        if is_lawful(rank, kernel_size, padding):
            try:
                return ours("avg_pool", rank)(x, kernel_size, stride or None, padding, ceil_mode, count_include_pad,
                                              divisor_override)
            except Error:
                pass
        return instead(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, out=_empty(x))
    return kernel


def _avg_backward(rank):
    instead = getattr(_aten, f"avg_pool{rank}d_backward").grad_input

    def kernel(gradient, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        try:
            return getattr(pooljit, f"avg_pool{rank}d_backward")(
                gradient, x.shape, kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override)
        except Error:
            return instead(gradient, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
                           grad_input=_empty(x))
    return kernel


def _adaptive_max(rank):
    instead = getattr(_aten, f"adaptive_max_pool{rank}d").out

    def kernel(x, output_size):
        try:
            return ours("adaptive_max_pool", rank)(x, output_size, True)
        except Error:
            return instead(x, output_size, out=_empty(x), indices=torch.empty(0, dtype=torch.int64))
    return kernel


def _adaptive_avg(rank):
    instead = getattr(_aten, f"adaptive_avg_pool{rank}d").out

    def kernel(x, output_size):
        try:
            return ours("adaptive_avg_pool", rank)(x, output_size)
        except Error:
            return instead(x, output_size, out=_empty(x))
    return kernel


def _plain_max(rank):
    """max_pool1d, max_pool2d, max_pool3d: with indices only where a gradient will be asked for."""
    indexed = getattr(_aten, f"max_pool{rank}d_with_indices")
    quantized = getattr(_aten, f"quantized_max_pool{rank}d", None)

    def kernel(x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        if not wants_gradient(x) and is_lawful(rank, kernel_size, padding):
            try:
                return ours("max_pool", rank)(x, kernel_size, stride or None, padding, dilation, ceil_mode)
            except Error:
                pass
        if x.is_quantized:
            return quantized(x, kernel_size, stride, padding, dilation, ceil_mode)
        return indexed(x, kernel_size, stride, padding, dilation, ceil_mode)[0]
    return kernel


def _plain_adaptive_avg(rank):
    """adaptive_avg_pool2d and 3d: PyTorch's are a mean where there is one window."""
    inner, average = getattr(_aten, f"_adaptive_avg_pool{rank}d"), getattr(_aten, f"avg_pool{rank}d")

    def kernel(x, output_size):
        if not wants_gradient(x):
            try:
                return ours("adaptive_avg_pool", rank)(x, output_size)
            except Error:
                pass
        if all(size == 1 for size in per_dim(output_size, rank)) and x.dim() > rank and x.numel() and not x.is_quantized:
            return average(x, x.shape[-rank:])
        return inner(x, output_size)
    return kernel


def _kernels():
    """(operator, dispatch keys, kernel)"""
    both = ("CPU", "AutogradCPU")
    for rank in (2, 3):
        yield f"max_pool{rank}d_with_indices", ("CPU",), _max_with_indices(rank)
        yield f"max_pool{rank}d_with_indices_backward", ("CPU",), _max_backward(rank)
        yield f"avg_pool{rank}d", ("CPU",), _avg(rank)
        yield f"avg_pool{rank}d_backward", ("CPU",), _avg_backward(rank)
        yield f"adaptive_max_pool{rank}d", ("CPU",), _adaptive_max(rank)
        yield f"_adaptive_avg_pool{rank}d", ("CPU",), _adaptive_avg(rank)
        yield f"adaptive_avg_pool{rank}d", both, _plain_adaptive_avg(rank)
        yield f"max_pool{rank}d", both, _plain_max(rank)
    yield "max_pool1d", both, _plain_max(1)


def enable(measure=None):
    """Registers our kernels for PyTorch's own pooling operators on the CPU, for the whole process.

    Unchanged models use them, with PyTorch's autograd. What we do not do is PyTorch's as before. disable() takes it
    back. Not for use while other threads are inside PyTorch's pooling.

    Args:
        measure: what pooljit.set_measure is called with first, 6 say, for the whole process; None: it is left alone.

    >>> import torch, pooljit.torch
    >>> pooljit.torch.enable()
    >>> torch.nn.functional.max_pool2d(torch.tensor([[[[1., 2.], [4., 3.]]]]), 2)
    tensor([[[[4.]]]])
    >>> pooljit.torch.disable()
    """
    if measure is not None:
        pooljit.set_measure(measure)
    if _libraries:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a kernel of PyTorch's is replaced is what was asked for
        library = torch.library.Library("aten", "IMPL")
        _libraries.append(library)
        try:
            for name, keys, kernel in _kernels():
                for key in keys:
                    library.impl(name, kernel, key)
        except BaseException:
            disable()
            raise


def disable():
    """Takes enable() back: PyTorch's operators are PyTorch's again."""
    while _libraries:
        library = _libraries.pop()
        if hasattr(library, "_destroy"):  # PyTorch 2
            library._destroy()
        del library


def is_enabled():
    """Whether PyTorch's operators are ours now."""
    return bool(_libraries)
