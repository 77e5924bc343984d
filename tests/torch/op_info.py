#!/usr/bin/env python3
"""PyTorch's own samples of its pooling operators (OpInfo, torch.testing._internal), given to pooljit as the very call in the
spelling of the torch dialect, with their data: values, indices and shapes must be PyTorch's.

  op_info.py --library build/libpooljit.so [--operator NAME] [--options "backend=xbyak"]

A difference that a rule of docs/semantics.md explains is counted under that rule; any other fails the run.
Exit codes: 0 all agree, 1 a difference, 77 PyTorch is not installed (ctest reports the test as skipped).
"""
import argparse
import collections
import re
import sys
import types
import unittest

import cross_check  # ends with 77 where there is no PyTorch
import numpy as np
import pooljit_c
import spec as spec_text
import torch

# PyTorch's samples import its test framework, whose one dependency Debian has no package of; samples make no use of it.
sys.modules.setdefault("expecttest", types.SimpleNamespace(ACCEPT=False, TestCase=unittest.TestCase))
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402  pylint: disable=wrong-import-position

NAME = re.compile(r"nn\.functional\.((?:adaptive_)?(max|avg)_(un)?pool([123])d)$")
NOT_OURS = {"fractional_max_pool2d": "its windows are random", "fractional_max_pool3d": "its windows are random"}
# Rules of docs/semantics.md that explain a difference.
ROUNDED_QUOTIENT = "integers: the exact quotient, rounded to nearest, ties to even (PyTorch divides towards zero)"
ROUNDED_ONCE = "halves: added in float32 and rounded once (here PyTorch adds in float16)"
# The names of what samples pass by position, in PyTorch's order.
POSITIONS = {
    "max_pool": ["kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"],
    "avg_pool": ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"],
    "adaptive_max_pool": ["output_size", "return_indices"],
    "adaptive_avg_pool": ["output_size"],
    "max_unpool": ["indices", "kernel_size", "stride", "padding", "output_size"],
}


def python_text(value):
    return str(list(value)) if isinstance(value, (tuple, list)) else str(value)


def fields_of(function, sample):
    names = POSITIONS[function[:-2]]
    fields = dict(zip(names, sample.args)) | sample.kwargs
    return {name: value for name, value in fields.items() if name != "indices"}


def spec_of(function, op, rank, sample):
    """The call as the torch dialect writes it, and its fields."""
    x, fields = sample.input, fields_of(function, sample)
    dtype = str(x.dtype).removeprefix("torch.")
    listed = "".join(f", {name}={python_text(value)}" for name, value in fields.items())
    text = f"torch.nn.functional.{function}({dtype}[{','.join(map(str, x.shape))}]{listed})"
    fields = {name: value for name, value in fields.items() if value is not None}
    if isinstance(fields.get("output_size"), tuple):  # None: the input's
        fields["output_size"] = [o or n for o, n in zip(fields["output_size"], x.shape[-rank:])]
    return spec_text.Spec(text, op, rank, dtype, tuple(x.shape), None, fields, function.startswith("adaptive"))


def as_numpy(values):
    values = values.detach()
    return (values.float() if values.dtype in (torch.bfloat16, torch.float16) else values).contiguous().numpy()


def unpool(library, spec, sample, result, options):
    indices = next(iter(sample.args), None)
    indices = sample.kwargs["indices"] if indices is None else indices
    theirs = as_numpy(result)
    with library.compile(spec.text, options) as kernel:
        ours = np.full(kernel.output_shape(), 0x5A, theirs.dtype)
        kernel.run(as_numpy(sample.input), ours, indices.contiguous().numpy().copy())
    if ours.shape != theirs.shape:
        raise cross_check.Difference(f"output shape: pooljit {ours.shape}, PyTorch {theirs.shape}")
    cross_check.fail_unless(cross_check.same_bits(ours, theirs), "value", ours, theirs)
    return collections.Counter()


def pool(library, spec, sample, result, options):
    theirs, their_indices = result if isinstance(result, tuple) else (result, None)
    theirs = as_numpy(theirs)
    data = as_numpy(sample.input)
    ours, our_indices = cross_check.run_pooljit(library, spec, data, options)
    if ours.shape != theirs.shape:
        raise cross_check.Difference(f"output shape: pooljit {ours.shape}, PyTorch {theirs.shape}")
    if spec.op == "max":
        their_indices = None if their_indices is None else their_indices.numpy()
        return collections.Counter(dict(
            cross_check.compare_max(spec, data, ours, our_indices, theirs, their_indices)))
    rule = ROUNDED_QUOTIENT if spec.is_integer else ROUNDED_ONCE if spec.dtype == "float16" else None
    if rule:  # what the rule says, by PyTorch in a wider type
        wide = cross_check.run_torch(spec, data)[0]
        cross_check.compare_average(spec, data, ours, wide).close()
        return collections.Counter({rule: np.count_nonzero(ours != theirs)})
    return collections.Counter(dict(cross_check.compare_average(spec, data, ours, theirs)))


def samples_of(op_info):
    for dtype in sorted(op_info.dtypes, key=str):
        for sample in op_info.sample_inputs("cpu", dtype, requires_grad=False):
            yield sample


def check_operator(library, op_info, options, explained, failures):
    """How many samples were compared."""
    function, op, is_unpool, rank = NAME.match(op_info.name).groups()
    compared = 0
    for sample in samples_of(op_info):
        spec = spec_of(function, op, int(rank), sample)
        try:
            result = op_info.op(sample.input, *sample.args, **sample.kwargs)
        except RuntimeError as error:
            explained[f"PyTorch rejects its own sample: {str(error).splitlines()[0]}"] += 1
            continue
        try:
            explained += (unpool if is_unpool else pool)(library, spec, sample, result, options)
        except (cross_check.Difference, pooljit_c.Rejected) as difference:
            failures.append(f"{spec.text}\n    {difference}")
        compared += 1
    return compared


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--operator", default="", help="only those whose name contains this")
    parser.add_argument("--options", help="options of pooljit_compile")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    library = pooljit_c.Library(arguments.library)
    explained, failures, compared = collections.Counter(), [], 0
    for op_info in op_db:
        function = op_info.name.removeprefix("nn.functional.")
        if "pool" not in op_info.name or arguments.operator not in function:
            continue
        if function in NOT_OURS:
            print(f"not compared: {function}, {NOT_OURS[function]}")
            continue
        count = check_operator(library, op_info, arguments.options, explained, failures)
        print(f"{function} {op_info.variant_test_name}: {count} samples")
        compared += count
    for rule, count in explained.most_common():
        if count:
            print(f"explained: {count} elements, {rule}")
    for failure in failures[:20]:
        print(f"DIFFERENT: {failure}")
    print(f"{compared} samples compared, {len(failures)} differ without a rule that explains it")
    return 1 if failures or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
