"""The operators with PyTorch's signatures. One template makes the functions of one, two and three dimensions."""
import types

from . import _core
from . import _words as words
from ._errors import InvalidError

__all__ = []
_COMPILE_OPTIONS = ("backend", "isa", "schedule", "threads", "verify", "tune_db", "measure", "fallback", "label",
                    "names")
_CHANNELS_LAST = {1: "nwc", 2: "nhwc", 3: "ndhwc"}
_FREE = {1: "L", 2: "HW", 3: "DHW"}

_COMMON = """
    Takes numpy arrays, PyTorch tensors and what has __dlpack__, of any strides, without a copy; gives an array
    of the input's library. The kernel is compiled at the first call and found again by dtype, shape without
    N, strides and arguments.

    Args:
        input: [N,C,SPATIAL...] or [C,SPATIAL...].
{arguments}        out: written instead of a new array.
        operands: of an epilogue, in the order of its steps.
        free_dims: True: one kernel for all heights and widths (set_free_dims).
        **options: any other keyword of the spec (docs/specs.md), or an option of pooljit.compile.

    Raises:
        InvalidError: "spec.*" for the arguments, "python.*" for the arrays.
        UnsupportedError: what this build does not do.
"""
_ARGUMENTS = {
    "kernel_size": "the window, one number or one per dimension.",
    "stride": "the distance of windows; None: kernel_size.",
    "padding": "absent taps on either side; or all begins, then all ends.",
    "dilation": "the distance of taps.",
    "ceil_mode": "a last window that is only partly inside counts.",
    "return_indices": "also give where each maximum is, int64, in its plane.",
    "count_include_pad": "taps in the padding count in the divisor.",
    "divisor_override": "the divisor of every window.",
    "norm_type": "p; float(\"inf\") is the maximum of |x|.",
    "output_size": "windows per dimension; None: as many as the input has positions.",
    "grad_output": "the gradient of the forward pass's output.",
    "input": "what the forward pass read.",
    "output": "what it gave.",
    "indices": "places of the maxima; where the operator makes them, written instead of a new array.",
    "input_size": "the shape of the forward pass's input.",
}


class Operator:
    """How the arguments of a function become a spec: what pool() asks when it knows no kernel yet."""

    def __init__(self, name, rank, names):
        self.name, self.rank, self.names = name, rank, names
        self.batched_rank = rank + 2
        self.needs_its_size = name.startswith("max_unpool") or name.endswith("_backward")
        self.tells_output_size = name.startswith(("adaptive_", "max_unpool")) and name.endswith("_backward")

    def _check(self, shape):
        if len(shape) not in (self.rank + 1, self.rank + 2):
            raise InvalidError("python.shape", f"{self.name} got an input of shape {list(shape)}",
                               f"[N,C,SPATIAL...] or [C,SPATIAL...], with {self.rank} spatial dimensions")

    def _layout(self, shape, strides):
        """How the spec says where the input lies: (":nhwc" or "", keywords)."""
        if strides is None:
            return "", {}
        last_first = [len(shape) - self.rank - 1, *reversed(range(len(shape) - self.rank, len(shape)))]
        if len(shape) == self.rank + 2:
            last_first.append(0)
        expected = 1
        for dim in last_first:
            if shape[dim] > 1 and strides[dim] != expected:
                return "", {"strides": list(strides)}
            expected *= shape[dim]
        return ":" + _CHANNELS_LAST[self.rank], {}

    def _can_be_free(self, given, keywords):
        """Other sizes are the same layer: the arguments say nothing that follows from this one's."""
        sizes = given.get("output_size", 0)
        sizes = sizes if isinstance(sizes, (tuple, list)) else [sizes]
        return not self.needs_its_size and "strides" not in keywords and None not in sizes

    def spec(self, dtype, shape, strides, arguments, options, are_dims_free):
        """The spec's text, and the options to compile it with."""
        self._check(shape)
        given = {name: words.plain(value) for name, value in zip(self.names, arguments)}
        layout, keywords = self._layout(shape, strides)
        options = dict(options)
        are_dims_free = words.truth("free_dims", options.pop("free_dims", are_dims_free))
        dims = shape
        if are_dims_free and self._can_be_free(given, keywords):
            dims = (*shape[:-self.rank], *_FREE[self.rank])
        if "input_size" in given:
            dims = words.integers("input_size", given.pop("input_size"))
            if len(dims) == self.rank:
                dims = (*shape[:-self.rank], *dims)
        if self.tells_output_size:  # what is read has the forward pass's output's shape
            given["output_size"] = shape
        if given.get("output_size", 0) is None or isinstance(given.get("output_size"), (tuple, list)):
            given["output_size"] = self._sizes(given["output_size"], shape)
        compile_with = words.options({name: value for name, value in options.items() if name in _COMPILE_OPTIONS})
        given.update({name: value for name, value in options.items() if name not in _COMPILE_OPTIONS})
        given = {name: value for name, value in {**keywords, **given}.items() if value is not None}
        if self.name.startswith("quantized_") and "int" in dtype:
            dtype = "q" + dtype  # stored integers
        listed = "".join(f", {words.checked_text('a keyword', name)}={words.text(value)}" for name, value in given.items())
        return f"{self.name}({dtype}[{','.join(map(str, dims))}]{layout}{listed})", compile_with

    def _sizes(self, sizes, shape):
        if self.needs_its_size:
            return None if sizes is None else tuple(sizes)[-self.rank:]
        sizes = (None,) * self.rank if sizes is None else sizes
        if len(sizes) == 1:
            sizes = tuple(sizes) * self.rank
        if len(sizes) != self.rank:
            return sizes
        return tuple(n if size is None else size for size, n in zip(sizes, shape[-self.rank:]))


def _documented(template, name, rank, names):
    head, example = template.__doc__.strip().split("\n\n", 1)
    arguments = "".join(f"        {a}: {_ARGUMENTS[a]}\n" for a in names if a in _ARGUMENTS)
    if "grad_output" in template.__code__.co_varnames[:1]:
        read = [a for a in ("grad_output", "input", "output") if a in template.__code__.co_varnames[:3]]
        arguments = "".join(f"        {a}: {_ARGUMENTS[a]}\n" for a in read) + arguments
    common = _COMMON.format(arguments=arguments)
    if "indices" in template.__code__.co_varnames[:2]:
        common = common.replace("        out:", f"        indices: {_ARGUMENTS['indices']}\n        out:")
    shown = f"\n    {example.strip()}\n" if rank == 2 else ""
    return f"{head.replace('NAME', name)}\n{common}{shown}"


def _operator(*names):
    """Makes the functions of a template for one to three dimensions: max_pool -> max_pool1d, max_pool2d, max_pool3d.

    names: the arguments that the spec takes, in the order in which the template passes them on.
    """
    def make(template):
        base = template.__name__
        for rank in (1, 2, 3):
            name = f"{base.removesuffix('_backward')}{rank}d" + ("_backward" if base.endswith("_backward") else "")
            function = types.FunctionType(template.__code__, {**globals(), "_op": Operator(name, rank, names)}, name,
                                          template.__defaults__)
            function.__kwdefaults__ = template.__kwdefaults__
            function.__qualname__, function.__module__ = name, "pooljit"
            function.__doc__ = _documented(template, name, rank, names)
            globals()[name] = function
            __all__.append(name)
        return template
    return make


# `_op` is the Operator of each function, in its own globals.
# pylint: disable=undefined-variable


@_operator("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False, *,
             out=None, indices=None, operands=(), **options):
    """NAME(input, kernel_size, ...): the maximum of each window; with return_indices (output, indices).

    >>> import numpy, pooljit
    >>> x = numpy.array([[[[1, 2, 5, 3], [4, 0, 1, 2]]]], numpy.float32)
    >>> pooljit.max_pool2d(x, 2)
    array([[[[4., 5.]]]], dtype=float32)
    >>> pooljit.max_pool2d(x, 2, return_indices=True)[1]
    array([[[[4, 2]]]])
    """
    return _core.pool(_op, input, indices, out, operands, options, kernel_size, stride, padding, dilation, ceil_mode,
                      return_indices)


@_operator("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
def avg_pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
             divisor_override=None, *, out=None, operands=(), **options):
    """NAME(input, kernel_size, ...): the average of each window; rounding="half_away" rounds ties of integers as TFLite.

    >>> import numpy, pooljit
    >>> pooljit.avg_pool2d(numpy.array([[[1, 2], [4, 5]]], numpy.float32), 2)
    array([[[3.]]], dtype=float32)
    """
    return _core.pool(_op, input, None, out, operands, options, kernel_size, stride, padding, ceil_mode,
                      count_include_pad, divisor_override)


@_operator("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
def min_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False, *,
             out=None, indices=None, operands=(), **options):
    """NAME(input, kernel_size, ...): the minimum of each window; with return_indices (output, indices).

    >>> import numpy, pooljit
    >>> pooljit.min_pool2d(numpy.array([[[1, 2], [4, 5]]], numpy.int8), 2)
    array([[[1]]], dtype=int8)
    """
    return _core.pool(_op, input, indices, out, operands, options, kernel_size, stride, padding, dilation, ceil_mode,
                      return_indices)


@_operator("kernel_size", "stride", "padding", "dilation", "ceil_mode")
def sum_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, *, out=None, operands=(),
             **options):
    """NAME(input, kernel_size, ...): the sum of each window; integers saturate, unless output_dtype= is wider.

    >>> import numpy, pooljit
    >>> pooljit.sum_pool2d(numpy.array([[[100, 100]]], numpy.uint8), (1, 2), output_dtype="int32")
    array([[[200]]], dtype=int32)
    """
    return _core.pool(_op, input, None, out, operands, options, kernel_size, stride, padding, dilation, ceil_mode)


@_operator("kernel_size", "stride", "padding", "dilation", "ceil_mode")
def prod_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, *, out=None, operands=(),
              **options):
    """NAME(input, kernel_size, ...): the product of each window; integers wrap, unless output_dtype= is wider.

    >>> import numpy, pooljit
    >>> pooljit.prod_pool2d(numpy.array([[[16, 17]]], numpy.uint8), (1, 2), output_dtype="int32")
    array([[[272]]], dtype=int32)
    """
    return _core.pool(_op, input, None, out, operands, options, kernel_size, stride, padding, dilation, ceil_mode)


@_operator("norm_type", "kernel_size", "stride", "ceil_mode")
def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode=False, *, out=None, operands=(), **options):
    """NAME(input, norm_type, kernel_size, ...): (sum of |x|^p)^(1/p) of each window, of floats.

    >>> import numpy, pooljit
    >>> pooljit.lp_pool2d(numpy.array([[[3, -4]]], numpy.float32), 2, (1, 2))
    array([[[5.]]], dtype=float32)
    """
    return _core.pool(_op, input, None, out, operands, options, norm_type, kernel_size, stride, ceil_mode)


@_operator("output_size", "return_indices")
def adaptive_max_pool(input, output_size, return_indices=False, *, out=None, indices=None, operands=(), **options):
    """NAME(input, output_size, ...): the maximum of each of output_size windows, which share the input.

    >>> import numpy, pooljit
    >>> pooljit.adaptive_max_pool2d(numpy.arange(9, dtype=numpy.float32).reshape(1, 3, 3), 2)
    array([[[4., 5.],
            [7., 8.]]], dtype=float32)
    """
    return _core.pool(_op, input, indices, out, operands, options, output_size, return_indices)


@_operator("output_size")
def adaptive_avg_pool(input, output_size, *, out=None, operands=(), **options):
    """NAME(input, output_size, ...): the average of each of output_size windows, which share the input.

    >>> import numpy, pooljit
    >>> pooljit.adaptive_avg_pool2d(numpy.arange(9, dtype=numpy.float32).reshape(1, 3, 3), (1, None))
    array([[[3., 4., 5.]]], dtype=float32)
    """
    return _core.pool(_op, input, None, out, operands, options, output_size)


@_operator("return_indices")
def global_max_pool(input, return_indices=False, *, out=None, indices=None, operands=(), **options):
    """NAME(input, ...): the maximum of each plane, with spatial dimensions of extent 1.

    >>> import numpy, pooljit
    >>> pooljit.global_max_pool2d(numpy.arange(9, dtype=numpy.uint8).reshape(1, 3, 3))
    array([[[8]]], dtype=uint8)
    """
    return _core.pool(_op, input, indices, out, operands, options, return_indices)


@_operator()
def global_avg_pool(input, *, out=None, operands=(), **options):
    """NAME(input, ...): the average of each plane, with spatial dimensions of extent 1.

    >>> import numpy, pooljit
    >>> pooljit.global_avg_pool2d(numpy.arange(9, dtype=numpy.float32).reshape(1, 3, 3))
    array([[[4.]]], dtype=float32)
    """
    return _core.pool(_op, input, None, out, operands, options)


@_operator()
def global_min_pool(input, *, out=None, operands=(), **options):
    """NAME(input, ...): the minimum of each plane, with spatial dimensions of extent 1.

    >>> import numpy, pooljit
    >>> pooljit.global_min_pool2d(numpy.arange(9, dtype=numpy.float64).reshape(1, 3, 3))
    array([[[0.]]])
    """
    return _core.pool(_op, input, None, out, operands, options)


@_operator()
def global_sum_pool(input, *, out=None, operands=(), **options):
    """NAME(input, ...): the sum of each plane, with spatial dimensions of extent 1.

    >>> import numpy, pooljit
    >>> pooljit.global_sum_pool2d(numpy.arange(9, dtype=numpy.int32).reshape(1, 3, 3))
    array([[[36]]], dtype=int32)
    """
    return _core.pool(_op, input, None, out, operands, options)


@_operator()
def global_prod_pool(input, *, out=None, operands=(), **options):
    """NAME(input, ...): the product of each plane, with spatial dimensions of extent 1.

    >>> import numpy, pooljit
    >>> pooljit.global_prod_pool2d(numpy.full((1, 2, 2), 3, numpy.int32))
    array([[[81]]], dtype=int32)
    """
    return _core.pool(_op, input, None, out, operands, options)


@_operator("norm_type")
def global_lp_pool(input, norm_type=2, *, out=None, operands=(), **options):
    """NAME(input, norm_type=2, ...): (sum of |x|^p)^(1/p) of each plane.

    >>> import numpy, pooljit
    >>> pooljit.global_lp_pool2d(numpy.array([[[3, -4]]], numpy.float32))
    array([[[5.]]], dtype=float32)
    """
    return _core.pool(_op, input, None, out, operands, options, norm_type)


@_operator("kernel_size", "stride", "padding", "dilation", "ceil_mode")
def quantized_max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, *, out=None,
                       operands=(), **options):
    """NAME(input, kernel_size, ...): the maximum of stored integers (uint8, int8, int32), scale= and zero_point= kept.

    >>> import numpy, pooljit
    >>> pooljit.quantized_max_pool2d(numpy.array([[[1, 2], [4, 5]]], numpy.uint8), 2, scale=0.5, zero_point=3)
    array([[[5]]], dtype=uint8)
    """
    return _core.pool(_op, input, None, out, operands, options, kernel_size, stride, padding, dilation, ceil_mode)


@_operator("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
def quantized_avg_pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                       divisor_override=None, *, out=None, operands=(), **options):
    """NAME(input, kernel_size, ...): the average of stored integers, with scale=, zero_point=, output_scale=, output_zero_point=.

    >>> import numpy, pooljit
    >>> x = numpy.array([[[10, 20], [30, 40]]], numpy.uint8)
    >>> pooljit.quantized_avg_pool2d(x, 2, scale=1.0, output_scale=0.5)
    array([[[50]]], dtype=uint8)
    """
    return _core.pool(_op, input, None, out, operands, options, kernel_size, stride, padding, ceil_mode,
                      count_include_pad, divisor_override)


@_operator("input_size", "kernel_size", "stride", "padding", "dilation", "ceil_mode")
def max_pool_backward(grad_output, indices, input_size, kernel_size, stride=None, padding=0, dilation=1,
                      ceil_mode=False, *, out=None, **options):
    """NAME(grad_output, indices, input_size, kernel_size, ...): the gradient of a maximum's input, from its indices.

    >>> import numpy, pooljit
    >>> x = numpy.array([[[1, 2], [4, 5]]], numpy.float32)
    >>> y, i = pooljit.max_pool2d(x, 2, return_indices=True)
    >>> pooljit.max_pool2d_backward(numpy.ones_like(y), i, x.shape, 2)
    array([[[0., 0.],
            [0., 1.]]], dtype=float32)
    """
    return _core.pool(_op, grad_output, indices, out, (), options, input_size, kernel_size, stride, padding, dilation,
                      ceil_mode)


@_operator("input_size", "kernel_size", "stride", "padding", "dilation", "ceil_mode")
def min_pool_backward(grad_output, indices, input_size, kernel_size, stride=None, padding=0, dilation=1,
                      ceil_mode=False, *, out=None, **options):
    """NAME(grad_output, indices, input_size, kernel_size, ...): the gradient of a minimum's input, from its indices.

    >>> import numpy, pooljit
    >>> pooljit.min_pool2d_backward(numpy.ones((1, 1, 1), numpy.float32), numpy.array([[[2]]]), (2, 2), 2)
    array([[[0., 0.],
            [1., 0.]]], dtype=float32)
    """
    return _core.pool(_op, grad_output, indices, out, (), options, input_size, kernel_size, stride, padding, dilation,
                      ceil_mode)


@_operator("input_size", "kernel_size", "stride", "padding", "dilation", "ceil_mode")
def sum_pool_backward(grad_output, input_size, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, *,
                      out=None, **options):
    """NAME(grad_output, input_size, kernel_size, ...): the gradient of a sum's input.

    >>> import numpy, pooljit
    >>> pooljit.sum_pool2d_backward(numpy.ones((1, 1, 2), numpy.float32), (1, 3), (1, 2), 1)
    array([[[1., 2., 1.]]], dtype=float32)
    """
    return _core.pool(_op, grad_output, None, out, (), options, input_size, kernel_size, stride, padding, dilation,
                      ceil_mode)


@_operator("input_size", "norm_type", "kernel_size", "stride", "ceil_mode")
def lp_pool_backward(grad_output, input, output, norm_type, kernel_size, stride=None, ceil_mode=False, *, out=None,
                     **options):
    """NAME(grad_output, input, output, norm_type, kernel_size, ...): the gradient of a norm's input.

    >>> import numpy, pooljit
    >>> x = numpy.array([[[3, -4, 0, 0]]], numpy.float32)
    >>> y = pooljit.lp_pool2d(x, 2, (1, 2))
    >>> pooljit.lp_pool2d_backward(numpy.full_like(y, 10), x, y, 2, (1, 2))
    array([[[ 6., -8.,  0.,  0.]]], dtype=float32)
    """
    return _core.pool(_op, grad_output, None, out, (input, output), options, words.shape("input", input), norm_type,
                      kernel_size, stride, ceil_mode)


@_operator("input_size")
def adaptive_max_pool_backward(grad_output, indices, input_size, *, out=None, **options):
    """NAME(grad_output, indices, input_size, ...): the gradient of an adaptive maximum's input, from its indices.

    >>> import numpy, pooljit
    >>> x = numpy.array([[[1, 5, 3]]], numpy.float32)
    >>> y, i = pooljit.adaptive_max_pool2d(x, (1, 2), return_indices=True)
    >>> pooljit.adaptive_max_pool2d_backward(numpy.ones_like(y), i, x.shape)
    array([[[0., 2., 0.]]], dtype=float32)
    """
    return _core.pool(_op, grad_output, indices, out, (), options, input_size)


@_operator("input_size")
def adaptive_avg_pool_backward(grad_output, input_size, *, out=None, **options):
    """NAME(grad_output, input_size, ...): the gradient of an adaptive average's input.

    >>> import numpy, pooljit
    >>> pooljit.adaptive_avg_pool2d_backward(numpy.ones((1, 1, 2), numpy.float32), (1, 3))
    array([[[0.5, 1. , 0.5]]], dtype=float32)
    """
    return _core.pool(_op, grad_output, None, out, (), options, input_size)


@_operator("input_size", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
def avg_pool_backward(grad_output, input_size, kernel_size, stride=None, padding=0, ceil_mode=False,
                      count_include_pad=True, divisor_override=None, *, out=None, **options):
    """NAME(grad_output, input_size, kernel_size, ...): the gradient of an average's input.

    >>> import numpy, pooljit
    >>> pooljit.avg_pool2d_backward(numpy.ones((1, 1, 1), numpy.float32), (2, 2), 2)
    array([[[0.25, 0.25],
            [0.25, 0.25]]], dtype=float32)
    """
    return _core.pool(_op, grad_output, None, out, (), options, input_size, kernel_size, stride, padding, ceil_mode,
                      count_include_pad, divisor_override)


@_operator("kernel_size", "stride", "padding", "output_size")
def max_unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None, *, out=None, **options):
    """NAME(input, indices, kernel_size, ...): each value goes back to where its index says; the rest is 0.

    >>> import numpy, pooljit
    >>> y, i = numpy.array([[[5]]], numpy.float32), numpy.array([[[2]]])
    >>> pooljit.max_unpool2d(y, i, 2)
    array([[[0., 0.],
            [5., 0.]]], dtype=float32)
    """
    return _core.pool(_op, input, indices, out, (), options, kernel_size, stride, padding, output_size)


@_operator("input_size", "kernel_size", "stride", "padding")
def max_unpool_backward(grad_output, indices, kernel_size, stride=None, padding=0, *, out=None, **options):
    """NAME(grad_output, indices, kernel_size, ...): the gradient of an unpool's input: what lies at each index.

    >>> import numpy, pooljit
    >>> pooljit.max_unpool2d_backward(numpy.arange(4.).reshape(1, 2, 2), numpy.array([[[2]]]), 2)
    array([[[2.]]])
    """
    return _core.pool(_op, grad_output, indices, out, (), options, words.shape("indices", indices), kernel_size, stride,
                      padding)
