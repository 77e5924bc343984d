"""The rules of TensorFlow Lite's pooling, in numpy: POOLJIT_ENGINE_PYTHON=examples/engines/tflite_rules.py (docs/fuzzing.md).

As its reference kernels have them (reference_ops/pooling.h, integer_ops/pooling.h): channels last, SAME or VALID padding
that no average counts, averages of integers rounded half away from zero, maxima that begin with the lowest number."""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from numpy_engine import windows  # noqa: E402

VERSION = "TensorFlow Lite's rules"


def paddings(layer, d):
    """What SAME and VALID make of a dimension: what is before the image, and how many outputs there are."""
    size, kernel, stride = layer.input.dims[2 + d], layer.kernel[d], layer.stride[d]
    same = -(-size // stride)
    return [(max((same - 1) * stride + kernel - size, 0) // 2, same), (0, max(size - kernel + stride, 0) // stride)]


def pool(layer, x):
    dims = range(layer.spatial_rank)
    asked = tuple((layer.pad_begin[d], layer.output.dims[2 + d]) for d in dims)
    if (layer.operation not in ("max", "avg") or layer.backward or layer.adaptive or layer.quantized or layer.indices or layer.other
            or layer.epilogue or layer.divisor_override or layer.spatial_rank != 2 or max(layer.dilation) > 1
            or min(layer.pad_end) < 0
            or layer.input.dtype not in ("float32", "uint8", "int8") or layer.output.dtype != layer.input.dtype
            or layer.input.layout != "nhwc" or layer.output.layout != "nhwc"
            or asked not in zip(*(paddings(layer, d) for d in dims))):
        return NotImplemented
    taps = (4, 5)
    count = windows(layer, np.ones_like(x), 0).astype(np.int64).sum(taps)
    if layer.operation == "avg" and layer.count_include_pad and (count < np.prod(layer.kernel)).any():
        return NotImplemented
    is_float = x.dtype.kind == "f"
    lowest = np.finfo(x.dtype).min if is_float else np.iinfo(x.dtype).min
    if layer.operation == "max":
        seen = windows(layer, x, lowest)
        return np.where(seen > lowest, seen, lowest).max(taps)  # std::max(max, tap): a NaN never wins, nor a signalling one
    with np.errstate(all="ignore"):
        if is_float:
            return (windows(layer, x, 0).sum(taps, dtype=np.float32) / count).astype(x.dtype)
        total = windows(layer, x, 0).sum(taps, dtype=np.int64)
        rounded = (np.abs(total) + count // 2) // count * np.sign(total)
        return np.clip(rounded, lowest, np.iinfo(x.dtype).max).astype(x.dtype)
