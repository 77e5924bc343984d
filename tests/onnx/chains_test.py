#!/usr/bin/env python3
"""Random chains of two to five pooling nodes over all opsets, as ONNX models: their shapes and values by `pooljit onnx`
and `pooljit run --onnx`, against a reference written from ONNX's text (docs/Changelog.md of ONNX), which shares
nothing with pooljit.

  chains_test.py --command build/pooljit [--chains 2000] [--seed 1]

Exit codes: 0 as expected, 1 not, 77 python3-onnx is not installed (ctest reports the test as skipped).
"""
import argparse
import itertools
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

try:
    from onnx import TensorProto, helper
except ImportError:
    print("skipped: python3-onnx not installed")
    sys.exit(77)

NEWEST = 27
# The version of the operator's text that brought an attribute.
SINCE = {
    "MaxPool": {"storage_order": 8, "indices": 8, "dilations": 10, "ceil_mode": 10},
    "AveragePool": {"count_include_pad": 7, "ceil_mode": 10, "dilations": 19},
    "LpPool": {"ceil_mode": 18, "dilations": 18},
}
# Operators whose window is the input.
WHOLE = {"GlobalMaxPool": "MaxPool", "GlobalAveragePool": "AveragePool", "GlobalLpPool": "LpPool", "ReduceMax": "MaxPool",
         "ReduceMean": "AveragePool"}


# --- ONNX's text, one dimension

def extent(n, a, i, opset, ceil):
    """(outputs, pad_begin, pad_end) of dimension i of a window operator whose attributes are a."""
    rank = len(a["kernel_shape"])
    k, s, d = a["kernel_shape"][i], a.get("strides", [1] * rank)[i], a.get("dilations", [1] * rank)[i]
    window = (k - 1) * d + 1
    auto = a.get("auto_pad", "NOTSET")
    if auto == "VALID":  # ceil((n - window + 1) / s)
        return -((n - window + 1) // -s), 0, 0
    if auto != "NOTSET":  # ceil(n / s), then what that needs
        out = -(n // -s)
        pad = max((out - 1) * s + window - n, 0)
        small, large = pad // 2, pad - pad // 2
        return out, *((small, large) if auto == "SAME_UPPER" else (large, small))
    begin, end = a.get("pads", [0] * 2 * rank)[i], a.get("pads", [0] * 2 * rank)[i + rank]
    if not a.get("ceil_mode", 0):  # floor((n + pads - window) / s + 1)
        return (n + begin + end - window) // s + 1, begin, end
    out = -((n + begin + end - window) // -s) + 1
    # "Sliding windows that would start in the right padded region are ignored": since 22 by the text, elsewhere always.
    if (opset >= 22 or ceil == "runtime") and (out - 1) * s >= n + begin:
        out -= 1
    return out, begin, end


def window_of(o, n, k, s, d, begin, end):
    """The positions of output o in the image, and how many in the padded image."""
    all_ = [o * s - begin + t * d for t in range(k)]
    return [p for p in all_ if 0 <= p < n], sum(-begin <= p < n + end for p in all_)


def reference(x, op, a, opset, ceil):
    """Values, and for MaxPool the indices; None where the text gives no output."""
    if op in WHOLE:
        op, a = WHOLE[op], {"kernel_shape": list(x.shape[2:]), "p": a.get("p", 2)}
    spatial = x.shape[2:]
    extents = [extent(n, a, i, opset, ceil) for i, n in enumerate(spatial)]
    outputs = [e[0] for e in extents]
    if min(outputs) < 1:
        return None
    rank = len(spatial)
    y = np.zeros((*x.shape[:2], *outputs), x.dtype)
    indices = np.full(y.shape, -1, np.int64)
    for place in itertools.product(*map(range, outputs)):
        taps, counts = zip(*(window_of(o, n, a["kernel_shape"][i], a.get("strides", [1] * rank)[i], a.get("dilations", [1] * rank)[i], *extents[i][1:])
                             for i, (o, n) in enumerate(zip(place, spatial))))
        positions = list(itertools.product(*taps))
        for nc in itertools.product(range(x.shape[0]), range(x.shape[1])):
            values = [x[(*nc, *p)] for p in positions]
            if op == "MaxPool":
                y[(*nc, *place)] = max(values, default=-np.inf)
                if values:
                    best = positions[max(range(len(values)), key=values.__getitem__)]
                    plane = nc[0] * x.shape[1] + nc[1]
                    order = range(rank) if not a.get("storage_order", 0) else reversed(range(rank))
                    inside = 0
                    for i in order:
                        inside = inside * spatial[i] + best[i]
                    indices[(*nc, *place)] = plane * math.prod(spatial) + inside
            elif op == "AveragePool":
                count = math.prod(counts) if a.get("count_include_pad", 0) else len(values)
                y[(*nc, *place)] = np.sum(np.array(values, np.float64)) / count if values else 0
            else:
                p = a.get("p", 2)
                y[(*nc, *place)] = np.sum(np.abs(np.array(values, np.float64)) ** p) ** (1 / p)
    return y, indices


# --- random chains

def random_window(rng, rank, op, opset):
    has = lambda word: opset >= SINCE[op].get(word, 1)
    each = lambda low, high: [rng.randint(low, high) for _ in range(rank)]
    a = {"kernel_shape": each(1, 3)}
    if rng.random() < 0.7:
        a["strides"] = each(1, 3)
    if has("dilations") and rng.random() < 0.4:
        a["dilations"] = each(1, 2)
    if rng.random() < 0.25:
        a["auto_pad"] = rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif rng.random() < 0.7:
        a["pads"] = each(0, 2) + each(0, 2)
    if has("ceil_mode") and rng.random() < 0.6:
        a["ceil_mode"] = 1
    if op == "AveragePool" and has("count_include_pad") and rng.random() < 0.5:
        a["count_include_pad"] = 1
    if op == "MaxPool" and has("storage_order") and rng.random() < 0.3:
        a["storage_order"] = 1
    if op == "LpPool":
        a["p"] = rng.choice([1, 2, 3]) if opset >= 2 else float(rng.choice([1, 2, 3]))
    return a


def random_node(rng, x, opset, ceil, is_last):
    """(op, attributes, values, indices) of a node that reads x."""
    rank = x.ndim - 2
    while True:
        names = ["MaxPool", "AveragePool", "LpPool"] * 3 + (["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"] if is_last else [])
        if is_last and rank > 1:
            names += ["ReduceMax", "ReduceMean"]
        op = rng.choice(names)
        a = random_window(rng, rank, op, opset) if op in SINCE else {}
        if op == "GlobalLpPool":
            a["p"] = 3 if opset >= 2 else 3.0
        result = reference(x, op, a, opset, ceil)
        if result is not None and (is_last or np.isfinite(result[0]).all()):  # a window of padding alone is -inf
            return op, a, *result


class Chain:
    """A model, what its nodes mean and what it declares wrongly."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.opset, self.ceil = rng.randint(1, NEWEST), rng.choice(["runtime", "letter"])
        rank = rng.randint(1, 3)
        shape = [rng.randint(1, 2), rng.randint(1, 3)] + [rng.randint(3, 9) for _ in range(rank)]
        self.x = np.random.default_rng(seed).integers(-9, 10, shape).astype(rng.choice([np.float32, np.float64]))
        kind = helper.np_dtype_to_tensor_dtype(self.x.dtype) if hasattr(helper, "np_dtype_to_tensor_dtype") else \
            TensorProto.FLOAT if self.x.dtype == np.float32 else TensorProto.DOUBLE
        nodes, constants, infos, self.steps, self.wrong = [], [], [], [], []
        value, length = self.x, rng.randint(2, 5)
        for i in range(length):
            op, a, y, indices = random_node(rng, value, self.opset, self.ceil, i == length - 1)
            name, inputs, outputs = f"n{i}", [f"t{i}"], [f"t{i + 1}"]
            attributes = dict(a)
            if op.startswith("Reduce"):
                axes = list(range(2, value.ndim)) if rng.random() < 0.5 else [d - value.ndim for d in range(2, value.ndim)]
                if self.opset >= 18:
                    constants.append(helper.make_tensor("axes", TensorProto.INT64, [len(axes)], axes))
                    inputs.append("axes")
                else:
                    attributes["axes"] = axes
            has_indices = op == "MaxPool" and self.opset >= 8 and rng.random() < 0.4
            if has_indices:
                outputs.append(f"i{i}")
            nodes.append(helper.make_node(op, inputs, outputs, name=name, **attributes))
            declares = rng.random()
            if declares < 0.5:
                declared = list(y.shape)
                if declares < 0.15:
                    declared[rng.randrange(2, y.ndim)] += 1
                    self.wrong.append(f"t{i + 1}")
                infos.append(helper.make_tensor_value_info(f"t{i + 1}", kind, declared))
            self.steps.append((name, value, y, indices if has_indices else None, op))
            value = y
        graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("t0", kind, shape)],
                                  [helper.make_empty_tensor_value_info(f"t{length}")], constants)
        graph.value_info.extend(info for info in infos if info.name != f"t{length}")
        for info in infos:
            if info.name == f"t{length}":
                graph.output[0].CopyFrom(info)
        self.bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8).SerializeToString()


def check(command, folder, chain):
    """What is wrong with a chain; empty if nothing is."""
    def run(*arguments):
        return subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, check=False)

    model, x, y, i = (folder / name for name in ("chain.onnx", "x.npy", "y.npy", "i.npy"))
    model.write_bytes(chain.bytes)
    listed = run("onnx", model, "--ceil", chain.ceil)
    lines = [line.split("\t") for line in listed.stdout.splitlines()]
    specs = {line[0]: line[1] for line in lines if len(line) > 1 and "pools(" not in line[1]}
    if listed.returncode != 0 or set(specs) != {step[0] for step in chain.steps}:
        return f"listed {listed.returncode}: {listed.stdout}{listed.stderr}"
    warned = re.findall(r"^pooljit: warning: (\w+):", listed.stderr, re.M)
    if warned != chain.wrong:
        return f"warnings {warned}, not {chain.wrong}"
    for name, value, wanted, indices, op in chain.steps:
        dims = re.search(r"\[([\d,]+)\]", specs[name]).group(1)
        if dims != ",".join(map(str, value.shape)):
            return f"{name} reads [{dims}], not {value.shape}: {specs[name]}"
        np.save(x, value)
        ran = run("run", "--onnx", model, "--node", name, "--ceil", chain.ceil, "--input", x, "--output", y,
                  *(["--indices", i] if indices is not None else []))
        if ran.returncode != 0:
            return f"{name}: {ran.stderr}"
        got = np.load(y)
        if got.shape != wanted.shape:
            return f"{name} makes {got.shape}, not {wanted.shape}: {specs[name]}"
        same = np.array_equal if "Max" in op else lambda a, b: np.allclose(a, b, rtol=1e-5, atol=1e-6)
        if not same(got, wanted):
            return f"{name} differs: {specs[name]}\n{got}\n{wanted}"
        if indices is not None and not np.array_equal(np.load(i), indices):
            return f"{name}: indices differ: {specs[name]}\n{np.load(i)}\n{indices}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", required=True)
    parser.add_argument("--chains", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    failures = nodes = 0
    opsets = set()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.seed, arguments.seed + arguments.chains):
            chain = Chain(seed)
            nodes += len(chain.steps)
            opsets.add(chain.opset)
            if wrong := check(arguments.command, pathlib.Path(folder), chain):
                failures += 1
                print(f"FAILED chain {seed}, opset {chain.opset}, --ceil {chain.ceil}: {wrong}")
    print(f"{arguments.chains} chains of {nodes} nodes, {len(opsets)} opsets: {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
