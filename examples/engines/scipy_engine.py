"""Filters of scipy.ndimage as an engine: POOLJIT_ENGINE_PYTHON=examples/engines/scipy_engine.py (docs/fuzzing.md).

A filter makes an output for every element; strides take some of them."""
import numpy as np
import scipy.ndimage

VERSION = f"scipy {scipy.__version__}"


def pool(layer, x):
    if (layer.operation not in ("max", "min", "avg") or layer.backward or layer.adaptive or layer.quantized or layer.indices
            or layer.other or layer.epilogue or layer.divisor_override or layer.ceil_mode or min(layer.pad_end) < 0
            or layer.output.dtype != layer.input.dtype or layer.input.dtype in ("float16", "bfloat16")):
        return NotImplemented
    spans = [dilation * (kernel - 1) + 1 for dilation, kernel in zip(layer.dilation, layer.kernel)]
    centers = [np.arange(count) * stride - pad + span // 2
               for count, stride, pad, span in zip(layer.output.dims[2:], layer.stride, layer.pad_begin, spans)]
    if any(c.size and (c[0] < 0 or c[-1] >= n) for c, n in zip(centers, x.shape[2:])):
        return NotImplemented  # a window whose center lies in the padding
    if layer.operation == "avg":
        if any(d > 1 for d in layer.dilation) or not layer.count_include_pad:
            return NotImplemented
        made = scipy.ndimage.uniform_filter(x, (1, 1, *layer.kernel), mode="constant", cval=0)
    else:
        limits = np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
        absent = (-np.inf, np.inf) if x.dtype.kind == "f" else (limits.min, limits.max)
        if layer.operation == "min" and x.dtype == np.int64 and any(layer.pad_begin + layer.pad_end):
            return NotImplemented  # the border is given as a float64, which does not hold the highest number
        taps = np.zeros((1, 1, *spans), bool)
        taps[(slice(None), slice(None), *(slice(None, None, d) for d in layer.dilation))] = True
        shape = {"footprint": taps} if any(d > 1 for d in layer.dilation) else {"size": taps.shape}
        if layer.operation == "max":
            made = scipy.ndimage.maximum_filter(x, mode="constant", cval=absent[0], **shape)
        else:
            made = scipy.ndimage.minimum_filter(x, mode="constant", cval=absent[1], **shape)
    return made[np.ix_(*(np.arange(n) for n in x.shape[:2]), *centers)]
