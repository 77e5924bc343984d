"""PyTorch's pooling operators on our kernels by torch.library: for a PyTorch that pooljit._torch_access does not fit.

The same as src/torch_operators.cpp, some microseconds a call slower: the operators of the key CPU, below autograd, and
the composite ones (max_pool2d, adaptive_avg_pool2d, ...), so that no indices are made where nobody asks for them. What
we do not do goes to the variants with out=, which stay PyTorch's. Results have PyTorch's memory format.
"""
import threading
import warnings

import torch

import pooljit
from pooljit._errors import Error

_aten = torch.ops.aten
_thread = threading.local()
_library = None
_is_enabled = _is_backward_ours = False


def _is_on():
    return _is_enabled or getattr(_thread, "contexts", 0) > 0


def enter_functions():
    global _is_backward_ours
    _register()
    _thread.contexts = getattr(_thread, "contexts", 0) + 1
    _is_backward_ours = True


def leave_functions():
    _thread.contexts = max(getattr(_thread, "contexts", 0) - 1, 0)


def set_enabled(is_enabled):
    global _is_enabled, _is_backward_ours
    if is_enabled:
        _register()
    _is_enabled = is_enabled
    _is_backward_ours = _is_on()


def _per_dim(values, rank):
    return tuple(values) * rank if len(values) == 1 else tuple(values)


def _is_lawful(rank, kernel_size, padding):
    """What PyTorch asks of padding; our kernels take any."""
    return all(0 <= 2 * pad <= kernel for pad, kernel in zip(_per_dim(padding, rank), _per_dim(kernel_size, rank)))


def _format(x, rank):
    is_last = rank == 2 and x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()
    return torch.channels_last if is_last else torch.contiguous_format


def _wants_gradient(x):
    """Whether somebody may ask for a gradient, backward or (of dual tensors) forward."""
    return (x.requires_grad and torch.is_grad_enabled()) or torch.autograd.forward_ad.unpack_dual(x).tangent is not None


def _pooled(name, rank, x, *arguments):
    """Our function's result in PyTorch's memory format; None where PyTorch has to do it."""
    is_windowed = not name.startswith("adaptive")
    if x.numel() == 0 or not (x.is_floating_point() or "max" in name):
        return None
    if is_windowed and not _is_lawful(rank, arguments[0], arguments[2]):
        return None
    try:
        made = getattr(pooljit, f"{name}{rank}d")(x, *(None if value == [] else value for value in arguments))
    except Error:
        return None
    form = _format(x, rank)
    return tuple(t.contiguous(memory_format=form) for t in made) if isinstance(made, tuple) else made.contiguous(memory_format=form)


def _outputs(x, count):
    return ({"out": torch.empty(0, dtype=x.dtype)} if count == 1 else
            {"out": torch.empty(0, dtype=x.dtype), "indices": torch.empty(0, dtype=torch.int64)})


def _forward(operator, name, rank, defaults, results):
    """An operator below autograd: its arguments beyond x default to `defaults`."""
    theirs = getattr(_aten, operator).out

    def kernel(x, *given):
        arguments = (*given, *defaults[len(given):])
        more = (True,) if results == 2 else ()
        made = _pooled(name, rank, x, *arguments, *more) if _is_on() else None
        return theirs(x, *arguments, **_outputs(x, results)) if made is None else made
    return kernel


def _backward(operator, name, rank):
    theirs = getattr(_aten, operator).grad_input

    def kernel(gradient, x, kernel_size, stride, padding, *more):
        if _is_backward_ours and x.numel() and _is_lawful(rank, kernel_size, padding):
            form, read = _format(x, rank), []
            if name == "max_pool":
                more, indices = more[:-1], more[-1]
                read = [indices.contiguous(memory_format=form)]
            try:
                return getattr(pooljit, f"{name}{rank}d_backward")(
                    gradient.contiguous(memory_format=form), *read, x.shape, kernel_size, stride or None, padding,
                    *more).contiguous(memory_format=form)
            except Error:
                more = (*more, indices) if name == "max_pool" else more
        return theirs(gradient, x, kernel_size, stride, padding, *more, grad_input=torch.empty(0, dtype=x.dtype))
    return kernel


def _unpool(rank):
    """An index counts in the plane, so that windows have no part in it: each dimension has one that makes the output."""
    theirs = getattr(_aten, f"max_unpool{rank}d").out

    def kernel(x, indices, output_size, *more):
        windows = [size - read + 1 for size, read in zip(output_size, x.shape[-rank:])]
        is_lawful = x.dim() in (rank + 1, rank + 2) and len(output_size) == rank and x.numel() and all(
            window > 0 for window in windows) and (not more or (len(more[1]) == rank and len(more[0]) == rank and min(more[0]) > 0))
        is_lawful = is_lawful and (_format(x, rank) is torch.contiguous_format or torch.get_num_threads() == 1)
        if (_is_on() and is_lawful and indices.dtype == torch.int64 and indices.shape == x.shape
                and x.is_floating_point() and not torch.are_deterministic_algorithms_enabled()):
            form = _format(x, rank)
            try:
                return getattr(pooljit, f"max_unpool{rank}d")(
                    x.contiguous(memory_format=form), indices.contiguous(memory_format=form), windows, 1)
            except Error:
                pass
        return theirs(x, indices, output_size, *more, out=torch.empty(0, dtype=x.dtype))
    return kernel


def _plain_max(rank):
    indexed = getattr(_aten, f"max_pool{rank}d_with_indices")
    quantized = getattr(_aten, f"quantized_max_pool{rank}d", None)

    def kernel(x, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
        if x.is_quantized:
            return quantized(x, kernel_size, stride, padding, dilation, ceil_mode)
        if _is_on() and not _wants_gradient(x):
            made = _pooled("max_pool", rank, x, kernel_size, list(stride), padding, dilation, ceil_mode)
            if made is not None:
                return made
        if rank > 1:
            return indexed(x, kernel_size, stride, padding, dilation, ceil_mode)[0]
        made = _aten.max_pool2d_with_indices(x.unsqueeze(-2), (1, kernel_size[0]), (1, stride[0]) if stride else [],
                                             (0, padding[0]), (1, dilation[0]), ceil_mode)[0]
        return made.squeeze(-2)
    return kernel


def _plain_adaptive_avg(rank):
    """adaptive_avg_pool2d and 3d: PyTorch's are a mean where there is one window."""
    inner, average = getattr(_aten, f"_adaptive_avg_pool{rank}d"), getattr(_aten, f"avg_pool{rank}d")

    def kernel(x, output_size):
        if _is_on() and not _wants_gradient(x):
            made = _pooled("adaptive_avg_pool", rank, x, output_size)
            if made is not None:
                return made
        if all(size == 1 for size in _per_dim(output_size, rank)) and x.dim() > rank and x.numel() and not x.is_quantized:
            return average(x, x.shape[-rank:])
        return inner(x, output_size)
    return kernel


def _kernels():
    """(operator, dispatch keys, kernel)"""
    both = ("CPU", "AutogradCPU")
    for rank in (2, 3):
        indexed, average = f"max_pool{rank}d_with_indices", f"avg_pool{rank}d"
        yield indexed, ("CPU",), _forward(indexed, "max_pool", rank, ((), [], [0], [1], False), 2)
        yield f"{indexed}_backward", ("CPU",), _backward(f"{indexed}_backward", "max_pool", rank)
        yield average, ("CPU",), _forward(average, "avg_pool", rank, ((), [], [0], False, True, None), 1)
        yield f"{average}_backward", ("CPU",), _backward(f"{average}_backward", "avg_pool", rank)
        yield f"max_unpool{rank}d", ("CPU",), _unpool(rank)
        yield (f"adaptive_max_pool{rank}d", ("CPU",),
               _forward(f"adaptive_max_pool{rank}d", "adaptive_max_pool", rank, ((),), 2))
        yield (f"_adaptive_avg_pool{rank}d", ("CPU",),
               _forward(f"adaptive_avg_pool{rank}d", "adaptive_avg_pool", rank, ((),), 1))
        yield f"adaptive_avg_pool{rank}d", both, _plain_adaptive_avg(rank)
        yield f"max_pool{rank}d", both, _plain_max(rank)
    yield "max_pool1d", both, _plain_max(1)


def _register():
    """Once, to the end of the process. Not while other threads are inside PyTorch's pooling."""
    global _library
    if _library is not None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a kernel of PyTorch's is replaced is what was asked for
        library = torch.library.Library("aten", "IMPL")
        for name, keys, kernel in _kernels():
            for key in keys:
                library.impl(name, kernel, key)
    _library = library
