"""Maxima and averages in numpy, as an engine: POOLJIT_ENGINE_PYTHON=examples/engines/numpy_engine.py (docs/fuzzing.md)."""
import numpy as np


def windows(layer, x, absent):
    """[N, C, output..., kernel...]: each output's taps; those in the padding are `absent`."""
    rank = layer.spatial_rank
    margins = []
    for d in range(rank):
        last = (layer.output.dims[2 + d] - 1) * layer.stride[d] + layer.dilation[d] * (layer.kernel[d] - 1)
        margins.append((layer.pad_begin[d], max(0, last + 1 - layer.pad_begin[d] - x.shape[2 + d])))
    x = np.pad(x, [(0, 0), (0, 0), *margins], constant_values=absent)
    spans = [dilation * (kernel - 1) + 1 for dilation, kernel in zip(layer.dilation, layer.kernel)]
    views = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(2, 2 + rank)))
    steps = [slice(None, n * stride, stride) for n, stride in zip(layer.output.dims[2:], layer.stride)]
    return views[(slice(None), slice(None), *steps, *(slice(None, None, dilation) for dilation in layer.dilation))]


def pool(layer, x):
    if (layer.operation not in ("max", "avg") or layer.backward or layer.adaptive or layer.quantized or layer.indices
            or layer.other or layer.divisor_override or layer.ceil_mode or min(layer.pad_end) < 0
            or layer.input.dtype not in ("float32", "float64") or layer.output.dtype != layer.input.dtype):
        return NotImplemented
    taps = tuple(range(2 + layer.spatial_rank, 2 + 2 * layer.spatial_rank))
    if layer.operation == "max":
        return windows(layer, x, -np.inf).max(taps)  # numpy's maximum of a NaN is NaN, as ours
    if not layer.count_include_pad:
        return NotImplemented
    with np.errstate(all="ignore"):
        return windows(layer, x.astype(np.float64), 0).mean(taps).astype(x.dtype)
