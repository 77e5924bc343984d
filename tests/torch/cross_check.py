#!/usr/bin/env python3
"""Compares pooljit with PyTorch: values, indices, output shapes and rejections, on data with NaN, infinities, signed
zeros and ties.

  cross_check.py --library build/libpooljit.so [--matrix build/tests/print_matrix] [--specs FILE] [--random N] [--seed S]
                 [--options "backend=xbyak"]

Takes the generated matrix, the canonical specs of a file (one a line), and N random ones. A difference that a rule of docs/semantics.md explains is
counted under that rule; any other fails the run. What PyTorch cannot express is counted by reason.

How PyTorch is asked: it pools few integers, so those are pooled in float64, which is exact (int64 gets data of 33
bits), and averages are then rounded as the spec's rounding says; float16, and bfloat16 in 3-D, in float32, rounded to the half; a
minimum is the maximum of the negated data, a sum the average with divisor_override=1, and an Lp norm is asked of |x|
(PyTorch keeps the signs of odd powers); avg_pool1d knows no divisor_override, so 1-D averages go through avg_pool2d;
padding that its pooling does
not take (asymmetric, wide, cropping) is put on first by torch.nn.functional.pad; specs with nan=ignore get data without
NaN, where PyTorch's rule and this one are the same.
Exit codes: 0 all agree, 1 a difference, 77 PyTorch is not installed (ctest reports the test as skipped).
"""
import argparse
import collections
import pathlib
import random
import subprocess
import sys

try:
    import torch
except ImportError:
    print("skipped: python3-torch not installed")
    sys.exit(77)
import numpy as np
from torch.nn import functional

import pooljit_c
import spec as spec_text

EPSILON = {"float32": 2.0**-24, "float64": 2.0**-53}
# Rules of docs/semantics.md that explain a difference; each is checked before it is counted.
EMPTY_WINDOW = "a window with no tap in the image: lowest value, index -1 (PyTorch's index may lie outside the plane)"
PADDED_TIE = "all -inf: the first tap in the image (here PyTorch saw padding as -inf, and took a tap of it)"
ZERO_SIGN = "zeros=any: the sign of a zero maximum is unspecified (PyTorch gives the first one)"
TRUE_FLOOR = "a window longer than the padded input has no output (PyTorch's max_pool1d divides towards zero and makes one)"
SUM_ORDER = "the order of additions is the Program's: sums differ within the stated bound"


# Halves are float32 arrays of values that the half has, but for the buffers that pooljit sees.
HALF_EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


def to_half(spec, data):
    """Rounded to the nearest half, ties to even, as what the library calls its elements (bits, for bfloat16)."""
    if spec.dtype == "float16":
        with np.errstate(over="ignore"):
            return data.astype(np.float16)
    bits = np.ascontiguousarray(data).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(data), bits >> 16 | 0x40, rounded).astype(np.uint16)


def from_half(spec, data):
    if spec.dtype == "float16":
        return data.astype(np.float32)
    return (data.astype(np.uint32) << 16).view(np.float32)


class Difference(Exception):
    pass


def make_data(spec, kind, rng):
    """The logical input. kinds: normal, ties, special."""
    if spec.is_integer:
        limits = np.iinfo(spec.dtype)
        low, high = (0, 3) if kind == "ties" else (max(limits.min, -2**32), min(limits.max, 2**32))
        return rng.integers(low, high, spec.shape, dtype=spec.dtype, endpoint=True)
    dtype = "float32" if spec.is_half else spec.dtype
    if kind == "ties":
        return rng.choice(np.array([-1, -0.0, 0.0, 1], dtype), spec.shape)
    data = rng.standard_normal(spec.shape, dtype=dtype)
    if spec.is_half:
        data = from_half(spec, to_half(spec, data))
    if kind == "special":
        share = rng.random(spec.shape)
        for limit, value in ((0.02, np.nan), (0.04, np.inf), (0.3, -np.inf), (0.35, -0.0), (0.4, 0.0)):
            data[(share < limit) & (share >= limit / 2)] = value
    return data


def strided(buffer, shape, strides):
    return np.lib.stride_tricks.as_strided(buffer, shape, [s * buffer.itemsize for s in strides])


def elements(shape, strides):
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides))


def stored(spec, data):
    """The buffer that holds the data in the spec's strides, and the view of it; broadcast elements are one."""
    input_strides = spec.strides("strides", spec.shape)
    buffer = np.zeros(elements(spec.shape, input_strides), data.dtype)
    view = strided(buffer, spec.shape, input_strides)
    view[...] = data
    return buffer, view


def as_stored(spec, data):
    return np.ascontiguousarray(stored(spec, data)[1])


def run_pooljit(library, spec, data, options):
    with library.compile(spec.text, options) as kernel:
        shape = kernel.output_shape()
        output_strides = spec.strides("output_strides", shape)
        source = stored(spec, data)[0]
        if spec.is_half:
            source = to_half(spec, source)
        output = np.full(elements(shape, output_strides), 0x5A, source.dtype)
        indices = np.full(output.size, -7, np.int64) if spec.indices else None
        kernel.run(source, output, indices)
    view = lambda buffer: None if buffer is None else strided(buffer, shape, output_strides).copy()
    return from_half(spec, view(output)) if spec.is_half else view(output), view(indices)


def as_float(values):
    return values.float() if values.dtype == torch.bfloat16 else values


def run_torch(spec, data):
    exact = spec.is_integer
    x = torch.from_numpy(data.astype(np.float64) if exact else data)
    x = -x if spec.op == "min" else x.abs() if spec.op == "lp" else x
    # PyTorch rounds the indices of its own adaptive bfloat16 pooling to bfloat16.
    if spec.dtype == "bfloat16" and spec.rank < 3 and spec.op != "lp" and not spec.adaptive:
        x = x.bfloat16()
    common = {"stride": spec.stride, "padding": spec.padding[0], "ceil_mode": spec.fields.get("ceil_mode", False)}
    if spec.adaptive:
        return run_adaptive(spec, x)
    if not spec_text.pads_itself(spec):
        pairs = [n for pair in zip(spec.padding[0], spec.padding[1]) for n in pair]
        innermost_first = [n for d in reversed(range(spec.rank)) for n in pairs[2 * d:2 * d + 2]]
        x = functional.pad(x, innermost_first, value=-np.inf if spec.takes_extreme else 0)
        common["padding"] = [0] * spec.rank
    if spec.takes_extreme:
        pool = getattr(functional, f"max_pool{spec.rank}d")
        result = pool(x, spec.kernel, dilation=spec.dilation, return_indices=spec.indices, **common)
        values, indices = result if spec.indices else (result, None)
        indices = None if indices is None else in_image(spec, indices.numpy(), x.shape)
        return as_float(values).numpy(), indices
    values = as_float((torch_norm if spec.op == "lp" else torch_average)(spec, x, common)).numpy()
    return rounded(spec, values), None


def round_half_away(values):
    """Ties away from zero; exact, as values + 0.5 is not."""
    whole = np.trunc(values)
    return whole + np.copysign(np.abs(values - whole) >= 0.5, values)


ROUNDINGS = {"half_even": np.rint, "half_away": round_half_away}


def rounded(spec, values):
    """Averages of integers and halves, which were made in wider types."""
    if spec.is_half:
        values = from_half(spec, to_half(spec, values))
    if not spec.is_integer:
        return values
    limits = np.iinfo(spec.dtype)
    return np.clip(ROUNDINGS[spec.fields.get("rounding", "half_even")](values), limits.min, limits.max)


def run_adaptive(spec, x):
    pool = getattr(functional, f"adaptive_{spec.op}_pool{spec.rank}d")
    size = spec.per_dim("output_size", None)
    if spec.op == "avg":
        return rounded(spec, as_float(pool(x, size)).numpy()), None
    values, indices = pool(x, size, return_indices=True)
    return as_float(values).numpy(), indices.numpy() if spec.indices else None


def has_empty_window(spec, outputs):
    """Whether some window has no tap in the image."""
    def is_empty(dim, output):
        begin = output * spec.stride[dim] - spec.padding[0][dim]
        taps = range(begin, begin + spec.kernel[dim] * spec.dilation[dim], spec.dilation[dim])
        return not any(0 <= tap < spec.shape[dim - spec.rank] for tap in taps)

    return any(is_empty(dim, output) for dim in range(spec.rank) for output in range(outputs[dim]))


def check_backward(library, spec, seed, options):
    """Gradients, by PyTorch's own differentiation; an extremum goes back from PyTorch's indices."""
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.standard_normal(spec.shape, dtype=spec.dtype)).requires_grad_()
    common = {"stride": spec.stride, "padding": spec.padding[0], "ceil_mode": spec.fields.get("ceil_mode", False)}
    indices = None
    try:
        if spec.adaptive:
            pool = getattr(functional, f"adaptive_{spec.op}_pool{spec.rank}d")
            sizes = spec.per_dim("output_size", None)
            y = pool(x, sizes, return_indices=True) if spec.op == "max" else pool(x, sizes)
            y, indices = (y[0], y[1].numpy()) if spec.op == "max" else (y, None)
        elif spec.takes_extreme:
            pool = getattr(functional, f"max_pool{spec.rank}d")
            sign = 1 if spec.op == "max" else -1
            y, taken = pool(sign * x, spec.kernel, dilation=spec.dilation, return_indices=True, **common)
            y, indices = sign * y, taken.numpy()
            # PyTorch would write its gradient to where the index of such a window points.
            if has_empty_window(spec, tuple(y.shape)[-spec.rank:]):
                return collections.Counter({EMPTY_WINDOW: 1})
        else:
            y = torch_average(spec, x, common)
    except RuntimeError:
        return collections.Counter({"PyTorch rejects the forward pass": 1})
    strides = spec.strides("strides", tuple(y.shape))

    def laid_out(values):
        buffer = np.zeros(elements(values.shape, strides), values.dtype)
        strided(buffer, values.shape, strides)[...] = values
        return buffer

    # Strides of 0 give windows one index, where PyTorch found several.
    if indices is not None and not np.array_equal(strided(laid_out(indices), indices.shape, strides), indices):
        return collections.Counter({"indices of several windows in one place": 1})
    gradient = rng.standard_normal(tuple(y.shape), dtype=spec.dtype)
    gradient = np.array(strided(laid_out(gradient), gradient.shape, strides))  # with what a stride of 0 makes one
    y.backward(torch.from_numpy(gradient))
    theirs = x.grad.numpy()

    with library.compile(spec.text, options) as kernel:
        output_strides = spec.strides("output_strides", spec.shape)
        output = np.full(elements(spec.shape, output_strides), 0x5A, spec.dtype)
        kernel.run(laid_out(gradient), output, None if indices is None else laid_out(indices))
    ours = strided(output, spec.shape, output_strides)
    windows = int(np.prod(spec.kernel))
    if spec.adaptive:  # that cover a position
        windows = max(windows, int(np.prod([o // n + 2 for n, o in zip(spec.shape[-spec.rank:], sizes)])))
    divisor = min(abs(spec.fields.get("divisor_override", 1)), 1)
    bound = 4 * windows * windows * EPSILON[spec.dtype] * np.abs(gradient).max() / divisor
    fail_unless(np.abs(ours - theirs) <= bound, "gradient", ours, theirs)
    return collections.Counter({SUM_ORDER: np.count_nonzero(ours != theirs)})


def in_image(spec, indices, padded_shape):
    """Indices into the plane that PyTorch saw as indices into the image's; -1 where they lie in the padding."""
    if spec_text.pads_itself(spec):
        return indices
    image = spec.shape[-spec.rank:]
    places = np.unravel_index(indices, padded_shape[-spec.rank:])
    places = [place - begin for place, begin in zip(places, spec.padding[0])]
    inside = np.logical_and.reduce([(0 <= place) & (place < n) for place, n in zip(places, image)])
    clipped = [np.clip(place, 0, n - 1) for place, n in zip(places, image)]
    return np.where(inside, np.ravel_multi_index(clipped, image), -1)


def torch_average(spec, x, common):
    common = dict(common, count_include_pad=spec.fields.get("count_include_pad", True),
                  divisor_override=1 if spec.op == "sum" else spec.fields.get("divisor_override"))
    if spec.rank != 1:
        return getattr(functional, f"avg_pool{spec.rank}d")(x, spec.kernel, **common)
    common.update(stride=[1] + spec.stride, padding=[0] + common["padding"])
    return functional.avg_pool2d(x.unsqueeze(-2), [1] + spec.kernel, **common).squeeze(-2)


def torch_norm(spec, x, common):
    p = float(spec.fields.get("norm_type", 2))
    padding = [n for n in reversed(common["padding"]) for _ in range(2)]
    x = functional.pad(x, padding)
    if np.isinf(p):
        return getattr(functional, f"max_pool{spec.rank}d")(x, spec.kernel, stride=common["stride"])
    return getattr(functional, f"lp_pool{spec.rank}d")(
        x, p, spec.kernel[0] if spec.rank == 1 else spec.kernel, stride=common["stride"])


def same_bits(a, b):
    bits = lambda array: np.ascontiguousarray(array).view(f"u{array.itemsize}")
    return bits(a) == bits(b)


def both_nan(a, b):
    return np.isnan(a) & np.isnan(b)


def fail_unless(ok, what, ours, theirs):
    if not np.all(ok):
        where = tuple(int(i) for i in np.argwhere(~ok)[0])
        raise Difference(f"{what} at {where}: pooljit {ours[where]}, PyTorch {theirs[where]}")


def compare_max(spec, data, ours, our_indices, theirs, their_indices):
    """Yields (rule, count) for what a rule explains; raises Difference for the rest. Of minima, theirs are negated maxima."""
    stored_values = ours  # what the input is compared with, before any sign is changed
    if spec.op == "min":
        ours = -ours.astype(theirs.dtype)
    lowest = -np.inf
    if spec.is_integer:
        lowest = np.iinfo(spec.dtype).min if spec.op == "max" else -float(np.iinfo(spec.dtype).max)
    empty = np.zeros(ours.shape, bool)
    if spec.indices:
        empty = our_indices == -1
        fail_unless(~empty | (ours == lowest), "value of an empty window", ours, theirs)
        # Padding put on as -inf ties with -inf in the image: PyTorch's first tap may then be one of the padding.
        tied = np.isneginf(theirs) & (not spec_text.pads_itself(spec))
        fail_unless(empty | tied | (our_indices == their_indices), "index", our_indices, their_indices)
        planes = data.reshape(data.shape[:-spec.rank] + (-1,))
        flat = our_indices.reshape(our_indices.shape[:-spec.rank] + (-1,))
        taken = np.take_along_axis(planes, np.maximum(flat, 0), -1).reshape(ours.shape)
        fail_unless(empty | same_bits(stored_values, taken), "value is not the element at its index", stored_values, taken)
        yield EMPTY_WINDOW, np.count_nonzero(empty & (our_indices != their_indices))
        yield PADDED_TIE, np.count_nonzero(tied & ~empty & (our_indices != their_indices))
    # Without indices an empty window shows as PyTorch's -inf in integers pooled in float64.
    empty |= np.isneginf(theirs) & (ours == lowest)
    theirs = np.where(empty, lowest, theirs).astype(ours.dtype)
    exact = same_bits(ours, theirs) | both_nan(ours, theirs)
    zeros = (ours == 0) & (theirs == 0) & (spec.fields.get("zeros", "any") == "any") & (not spec.indices)
    fail_unless(exact | zeros, "value", ours, theirs)
    yield ZERO_SIGN, np.count_nonzero(zeros & ~exact)


def compare_average(spec, data, ours, theirs):
    if spec.is_integer:
        fail_unless(ours == theirs, "value", ours, theirs)
        return
    equal = (ours == theirs) | both_nan(ours, theirs)
    with np.errstate(invalid="ignore"):
        sizes = run_torch(spec, np.abs(np.where(np.isfinite(data), data, 0)))[0].astype(np.float64)
        # Each sum is off by at most (taps - 1) roundings of the sum of sizes, each quotient by one more.
        epsilon = EPSILON["float32" if spec.is_half else spec.dtype]
        bound = 2 * (int(np.prod(spec.kernel)) * epsilon * np.abs(sizes))  # an override may be negative
        if spec.is_half:  # two neighbours, where the exact quotient lies between them
            bound += HALF_EPSILON[spec.dtype] * np.abs(theirs)
        fail_unless(equal | (np.abs(ours - theirs) <= bound), "value", ours, theirs)
    yield SUM_ORDER, np.count_nonzero(~equal)


def compare_norm(spec, ours, theirs):
    """PyTorch takes powers, sum and root in the input's dtype."""
    p = float(spec.fields.get("norm_type", 2))
    equal = (ours == theirs) | both_nan(ours, theirs)
    bound = (int(np.prod(spec.kernel)) + 20) * 2 * EPSILON[spec.dtype] * np.abs(theirs)
    fail_unless(equal | (np.abs(ours - theirs) <= (0 if np.isinf(p) else bound)), "value", ours, theirs)
    yield SUM_ORDER, np.count_nonzero(~equal)


def check(library, spec, kind, seed, options):
    """Counter of explained differences."""
    if spec.backward:
        return check_backward(library, spec, seed, options)
    data = as_stored(spec, make_data(spec, kind, np.random.default_rng(seed)))
    try:
        theirs, their_indices = run_torch(spec, data)
    except RuntimeError as error:
        theirs = None
        refusal = str(error).splitlines()[0]
    try:
        ours, our_indices = run_pooljit(library, spec, data, options)
    except pooljit_c.Rejected as error:
        if theirs is not None and spec.rank == 1 and spec.op != "avg" and str(error).startswith("spec.output_size"):
            return collections.Counter({TRUE_FLOOR: theirs.size})
        if theirs is not None:
            raise Difference(f"pooljit rejects it: {error}") from None
        return collections.Counter({"both reject it": 1})
    if theirs is None:
        raise Difference(f"PyTorch rejects it: {refusal}")
    if ours.shape != theirs.shape:
        raise Difference(f"output shape: pooljit {ours.shape}, PyTorch {theirs.shape}")
    if spec.op == "lp":
        explained = compare_norm(spec, ours, theirs)
    elif spec.takes_extreme:
        explained = compare_max(spec, data, ours, our_indices, theirs, their_indices)
    else:
        explained = compare_average(spec, data, ours, theirs)
    return collections.Counter(dict(explained))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--matrix", help="the command print_matrix of the build")
    parser.add_argument("--specs", help="file of canonical specs, one a line")
    parser.add_argument("--random", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", help="options of pooljit_compile")
    return parser.parse_args()


def listed_specs(args):
    lines = []
    if args.matrix:
        lines += subprocess.run([args.matrix], capture_output=True, text=True, check=True).stdout.splitlines()
    if args.specs:
        lines += pathlib.Path(args.specs).read_text(encoding="utf-8").splitlines()
    return [line.strip().split("\t")[-1] for line in lines if line.strip() and not line.startswith("#")]


def main():
    args = arguments()
    torch.set_num_threads(1)
    library = pooljit_c.Library(args.library)
    texts = listed_specs(args)
    listed = len(texts)
    rng = random.Random(args.seed)
    texts += [spec_text.random_spec(rng) for _ in range(args.random)]
    print(f"pooljit {library.version()}, PyTorch {torch.__version__}: {listed} listed specs, {args.random} random ones")

    skipped, explained, failures, compared = collections.Counter(), collections.Counter(), [], 0
    for number, text in enumerate(texts):
        spec = spec_text.parse(text)
        reason = spec_text.not_in_torch(spec)
        if reason:
            skipped[reason] += 1
            continue
        compared += 1
        kinds = ("normal", "ties") if spec.fields.get("nan") == "ignore" else ("normal", "ties", "special")
        kind = kinds[number % len(kinds)]
        try:
            explained += check(library, spec, kind, args.seed + number, args.options)
        except Difference as difference:
            failures.append(f"{text}\n    {kind} data, seed {args.seed + number}: {difference}")

    print(f"compared: {compared} specs")
    for reason, count in skipped.most_common():
        print(f"not in PyTorch: {count} specs, {reason}")
    for rule, count in explained.most_common():
        print(f"explained: {count} elements, {rule}")
    for failure in failures[:20]:
        print(f"DIFFERENT: {failure}")
    print(f"{len(failures)} specs differ without a rule that explains it")
    if compared == 0:
        print("nothing was compared")
    return 1 if failures or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
