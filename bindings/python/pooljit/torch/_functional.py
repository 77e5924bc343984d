"""torch.nn.functional's pooling on our kernels, with autograd through our backward kernels."""
import types

import torch
from torch.nn import functional as F

import pooljit
from pooljit._errors import Error

__all__ = []

_PLAIN = (torch.Tensor, torch.nn.Parameter)


def is_ours(x):
    """Whether x is a tensor that kernels can read: dense, on the CPU, no subclass with a meaning of its own."""
    return type(x) in _PLAIN and x.is_cpu and x.layout is torch.strided and not x.is_quantized


def wants_gradient(x):
    return x.requires_grad and torch.is_grad_enabled()


def per_dim(value, rank):
    """As PyTorch reads it: one number, or a list of one, is for all dimensions."""
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * rank if len(values) == 1 else values


def is_lawful(rank, kernel_size, padding):
    """What PyTorch asks of padding; our kernels take any."""
    if padding == 0:
        return True
    pairs = zip(per_dim(padding, rank), per_dim(kernel_size, rank))
    return all(0 <= 2 * pad <= kernel for pad, kernel in pairs)


def ours(name, rank):
    return getattr(pooljit, f"{name}{rank}d")


def _backward(name, rank):
    return getattr(pooljit, f"{name}{rank}d_backward")


def like(gradient, indices):
    """The gradient laid out like the indices that are read beside it."""
    if gradient.stride() == indices.stride():
        return gradient
    return torch.empty_like(indices, dtype=gradient.dtype).copy_(gradient)


def gathered(values, indices, rank):
    """values[indices] within planes; 0 where an index is -1, the mark of an empty window."""
    flat = indices.flatten(-rank).clamp(min=0)
    taken = values.flatten(-rank).gather(-1, flat).view(indices.shape)
    return taken.masked_fill(indices < 0, 0)


class _MaxPool(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rank, *arguments):
        y, indices = ours("max_pool", rank)(x, *arguments, True)
        ctx.save_for_backward(indices)
        ctx.call = x.shape, rank, arguments
        ctx.mark_non_differentiable(indices)
        return y, indices

    @staticmethod
    def backward(ctx, gradient, _):
        (indices,) = ctx.saved_tensors
        return (_MaxPoolBackward.apply(gradient, indices, *ctx.call), *[None] * (1 + len(ctx.call[2])))


class _MaxPoolBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gradient, indices, shape, rank, arguments):
        ctx.save_for_backward(indices)
        ctx.rank = rank
        return _backward("max_pool", rank)(like(gradient, indices), indices, shape, *arguments)

    @staticmethod
    def backward(ctx, gradient):
        (indices,) = ctx.saved_tensors
        return gathered(gradient, indices, ctx.rank), None, None, None, None


class _AvgPool(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rank, *arguments):
        ctx.call = x.shape, rank, arguments
        return ours("avg_pool", rank)(x, *arguments)

    @staticmethod
    def backward(ctx, gradient):
        return (_AvgPoolBackward.apply(gradient, *ctx.call), *[None] * (1 + len(ctx.call[2])))


class _AvgPoolBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gradient, shape, rank, arguments):
        ctx.call = rank, arguments
        return _backward("avg_pool", rank)(gradient, shape, *arguments)

    @staticmethod
    def backward(ctx, gradient):
        rank, arguments = ctx.call
        return _AvgPool.apply(gradient, rank, *arguments), None, None, None


class _MaxUnpool(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, indices, rank, *arguments):
        ctx.save_for_backward(indices)
        ctx.rank = rank
        return ours("max_unpool", rank)(like(x, indices), indices, *arguments)

    @staticmethod
    def backward(ctx, gradient):
        (indices,) = ctx.saved_tensors
        return (gathered(gradient, indices, ctx.rank), *[None] * 6)


def _windows_that_divide(x, output_size, rank):
    """The kernel_size of the plain pooling that an adaptive one is, or None."""
    extents = x.shape[-rank:]
    sizes = [n if size is None else size for size, n in zip(per_dim(output_size, rank), extents)] if not isinstance(
        output_size, type(None)) else list(extents)
    if any(size < 1 or n % size for size, n in zip(sizes, extents)):
        return None
    return tuple(n // size for size, n in zip(sizes, extents))


def _from_torch(name, rank):
    """torch.nn.functional's function; what it lacks (lp_pool3d) is an error of ours."""
    function = getattr(F, f"{name}{rank}d", None)
    if function is None:
        def function(*_, **__):
            raise pooljit.UnsupportedError("python.torch", f"PyTorch has no {name}{rank}d to fall back to", "a CPU tensor")
    return function


def _operator(template):
    """Makes the functions of a template for one to three dimensions, with what PyTorch does instead beside them."""
    for rank in (1, 2, 3):
        name = f"{template.__name__}{rank}d"
        own = {**globals(), "_rank": rank, "_instead": _from_torch(template.__name__, rank)}
        function = types.FunctionType(template.__code__, own, name, template.__defaults__)
        function.__qualname__, function.__module__ = name, "pooljit.torch"
        head, _, example = template.__doc__.partition("\n\n")
        function.__doc__ = head.replace("NAME", name) + ("\n\n" + example if rank == 2 else "")
        globals()[name] = function
        __all__.append(name)
    return template


# `_rank` and `_instead` are in the globals of each function.
# pylint: disable=undefined-variable


@_operator
def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """torch.nn.functional.NAME on our kernels: same arguments, same results, with gradients of gradients.

    >>> import torch, pooljit.torch
    >>> x = torch.tensor([[[[1., 2.], [4., 3.]]]], requires_grad=True)
    >>> pooljit.torch.max_pool2d(x, 2).sum().backward()
    >>> x.grad
    tensor([[[[0., 0.],
              [1., 0.]]]])
    """
    if is_ours(input) and is_lawful(_rank, kernel_size, padding):
        stride = stride or None
        try:
            if wants_gradient(input):
                y, indices = _MaxPool.apply(input, _rank, kernel_size, stride, padding, dilation, ceil_mode)
                return (y, indices) if return_indices else y
            return ours("max_pool", _rank)(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
        except Error:
            pass
    return _instead(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@_operator
def avg_pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """torch.nn.functional.NAME on our kernels: same arguments, results within the bound of an average.

    >>> import torch, pooljit.torch
    >>> pooljit.torch.avg_pool2d(torch.tensor([[[[1., 2.], [4., 5.]]]]), 2)
    tensor([[[[3.]]]])
    """
    if is_ours(input) and is_lawful(_rank, kernel_size, padding):
        arguments = kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override
        try:
            if wants_gradient(input):
                return _AvgPool.apply(input, _rank, *arguments)
            return ours("avg_pool", _rank)(input, *arguments)
        except Error:
            pass
    more = () if _rank == 1 else (divisor_override,)
    return _instead(input, kernel_size, stride, padding, ceil_mode, count_include_pad, *more)


@_operator
def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """torch.nn.functional.NAME on our kernels, of |x|: PyTorch keeps the signs of odd powers.

    >>> import torch, pooljit.torch
    >>> pooljit.torch.lp_pool2d(torch.tensor([[[[3., 4.]]]]), 2, (1, 2))
    tensor([[[[5.]]]])
    """
    if is_ours(input):
        try:
            if wants_gradient(input):
                powers = input.abs() ** norm_type
                sums = _AvgPool.apply(powers, _rank, kernel_size, stride or None, 0, ceil_mode, True, 1)
                return sums ** (1.0 / norm_type)
            return ours("lp_pool", _rank)(input, float(norm_type), kernel_size, stride or None, ceil_mode)
        except Error:
            pass
    return _instead(input, norm_type, kernel_size, stride, ceil_mode)


@_operator
def adaptive_max_pool(input, output_size, return_indices=False):
    """torch.nn.functional.NAME on our kernels: same arguments, same results.

    >>> import torch, pooljit.torch
    >>> pooljit.torch.adaptive_max_pool2d(torch.arange(9.).view(1, 1, 3, 3), 1)
    tensor([[[[8.]]]])
    """
    if is_ours(input):
        try:
            if not wants_gradient(input):
                return ours("adaptive_max_pool", _rank)(input, output_size, return_indices)
            kernel = _windows_that_divide(input, output_size, _rank)
            if kernel:
                y, indices = _MaxPool.apply(input, _rank, kernel, None, 0, 1, False)
                return (y, indices) if return_indices else y
        except Error:
            pass
    return _instead(input, output_size, return_indices)


@_operator
def adaptive_avg_pool(input, output_size):
    """torch.nn.functional.NAME on our kernels: same arguments, results within the bound of an average.

    >>> import torch, pooljit.torch
    >>> pooljit.torch.adaptive_avg_pool2d(torch.arange(9.).view(1, 1, 3, 3), 1)
    tensor([[[[4.]]]])
    """
    if is_ours(input):
        try:
            if not wants_gradient(input):
                return ours("adaptive_avg_pool", _rank)(input, output_size)
            kernel = _windows_that_divide(input, output_size, _rank)
            if kernel:
                return _AvgPool.apply(input, _rank, kernel, None, 0, False, True, None)
        except Error:
            pass
    return _instead(input, output_size)


@_operator
def max_unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """torch.nn.functional.NAME on our kernels: same arguments, same results.

    >>> import torch, pooljit.torch
    >>> y, i = torch.tensor([[[[5.]]]]), torch.tensor([[[[2]]]])
    >>> pooljit.torch.max_unpool2d(y, i, 2)
    tensor([[[[0., 0.],
              [5., 0.]]]])
    """
    if is_ours(input) and is_ours(indices):
        size = None if output_size is None else tuple(output_size)
        try:
            if wants_gradient(input):
                return _MaxUnpool.apply(input, indices, _rank, kernel_size, stride or None, padding, size)
            return ours("max_unpool", _rank)(like(input, indices), indices, kernel_size, stride or None, padding, size)
        except Error:
            pass
    return _instead(input, indices, kernel_size, stride, padding, output_size)
