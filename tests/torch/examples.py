#!/usr/bin/env python3
"""Runs the tables of docs/examples.md: each spec on random data, against what PyTorch's expression beside it gives.

  examples.py --library build/libpooljit.so [--page docs/examples.md]

Exit codes: 0 all agree, 1 a difference, 77 PyTorch is not installed (ctest reports the test as skipped).
"""
import argparse
import pathlib
import re
import sys

try:
    import torch
except ImportError:
    print("skipped: python3-torch not installed")
    sys.exit(77)
import numpy as np

import pooljit_c

TENSOR = re.compile(r"(q?u?int8|float32)\[([0-9,]+)\]")
QUANTISED = re.compile(r"scale=([0-9.]+), zero_point=([0-9]+)")


def rows(page, columns):
    """The cells, all of them code, of the page's rows of so many columns."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) == columns and all(cell.startswith("`") for cell in cells):
            yield [cell.strip("`") for cell in cells]


def random_tensor(spec):
    dtype, dims = TENSOR.search(spec).groups()
    x = torch.randn([int(n) for n in dims.split(",")])
    if dtype == "float32":
        return x
    scale, zero_point = QUANTISED.search(spec).groups()
    return torch.quantize_per_tensor(x, float(scale), int(zero_point), getattr(torch, dtype))


def as_numpy(values):
    return (values.int_repr() if values.is_quantized else values).contiguous().numpy()


def run(library, spec, values, indices=None, returns_indices=False):
    with library.compile(spec) as kernel:
        # The buffer is in the order of the layout, which in these dialects is that of the text.
        shape = kernel.output_shape()
        output = np.zeros(shape, values.dtype)
        if returns_indices:
            indices = np.zeros(shape, np.int64)
        kernel.run(values, output, indices)
    return output, indices


def differs(ours, theirs):
    ours = ours.reshape(theirs.shape) if ours.size == theirs.size else ours
    return not np.array_equal(ours, theirs)


def evaluate(expression, x):
    return eval(expression, {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "x": x})  # pylint: disable=eval-used


def check_pooling(library, spec, expression):
    x = random_tensor(spec)
    theirs = evaluate(expression, x)
    theirs, their_indices = theirs if isinstance(theirs, tuple) else (theirs, None)
    ours, our_indices = run(library, spec, as_numpy(x), returns_indices=their_indices is not None)
    return differs(ours, as_numpy(theirs)) or (their_indices is not None and differs(our_indices, as_numpy(their_indices)))


def check_unpooling(library, pooled, unpooled, expression):
    x = random_tensor(pooled)
    values, indices = run(library, pooled, as_numpy(x), returns_indices=True)
    return differs(run(library, unpooled, values, indices)[0], as_numpy(evaluate(expression, x)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--page", default=pathlib.Path(__file__).parents[2] / "docs/examples.md", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    library = pooljit_c.Library(arguments.library)
    page = arguments.page.read_text(encoding="utf-8")
    wrong = [row[0] for row in rows(page, 2) if check_pooling(library, *row)]
    wrong += [row[1] for row in rows(page, 3) if check_unpooling(library, *row)]
    count = len(list(rows(page, 2))) + len(list(rows(page, 3)))
    for spec in wrong:
        print(f"DIFFERENT: {spec}")
    print(f"{count} examples, {len(wrong)} differ")
    return 1 if wrong or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
