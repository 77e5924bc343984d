#!/usr/bin/env python3
"""`pooljit onnx` and `pooljit run --onnx` on a model of several nodes, with a symbolic batch and quantised tensors.

  model_test.py --command build/pooljit

Exit codes: 0 as expected, 1 not, 77 python3-onnx is not installed (ctest reports the test as skipped).
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

try:
    from onnx import TensorProto, helper
except ImportError:
    print("skipped: python3-onnx not installed")
    sys.exit(77)


def make_model(path):
    """x -> Relu -> MaxPool with indices -> GlobalAveragePool; x -> QuantizeLinear -> QLinearAveragePool."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["m", "places"], name="pool1", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["m"], ["g"]),
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("QLinearAveragePool", ["q", "scale", "zero", "scale_out", "zero_out"], ["a"], name="quantised",
                         domain="com.microsoft", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    shape = ["batch", 3, 8, 8]
    constants = [
        helper.make_tensor("scale", TensorProto.FLOAT, [], [0.5]),
        helper.make_tensor("zero", TensorProto.UINT8, [], [128]),
        helper.make_tensor("scale_out", TensorProto.FLOAT, [], np.float32(0.25).tobytes(), raw=True),
        helper.make_tensor("zero_out", TensorProto.UINT8, [], bytes([7]), raw=True),
    ]
    graph = helper.make_graph(nodes, "pools", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_empty_tensor_value_info("g")], constants)
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
    path.write_bytes(helper.make_model(graph, opset_imports=opsets).SerializeToString())


class Run:
    def __init__(self, command, folder):
        self.command, self.folder, self.failures = command, folder, 0

    def __call__(self, *arguments):
        return subprocess.run([self.command, *map(str, arguments)], capture_output=True, text=True, check=False)

    def expect(self, what, got, wanted):
        if got != wanted:
            self.failures += 1
            print(f"FAILED {what}\n  got    {got!r}\n  wanted {wanted!r}")

    def expect_refused(self, what, id_, hint, *arguments):
        done = self(*arguments)
        self.expect(f"{what}: exit code", done.returncode != 0, True)
        self.expect(f"{what}: id in {done.stderr!r}", f"pooljit: {id_}:" in done.stderr and hint in done.stderr, True)
        self.expect(f"{what}: nothing written", (self.folder / "y.npy").exists(), False)


def test_list(run, model):
    run.expect("list", run("onnx", model, "--dim", "batch=2").stdout.splitlines(), [
        "pool1\tmax_pool2d(float32[2,3,8,8], kernel_size=2, return_indices=True, index_scope=tensor)",
        "g\tglobal_avg_pool2d(float32[2,3,4,4])",
        "quantised\tquantized_avg_pool2d(quint8[2,3,8,8], kernel_size=2, count_include_pad=False, scale=0.5, zero_point=128, "
        "output_scale=0.25, output_zero_point=7)",
    ])
    free = run("onnx", model).stdout.splitlines()
    run.expect("a batch is free", free[:2], [
        "pool1\tmax_pool2d(float32[N,3,8,8], kernel_size=2, return_indices=True, index_scope=tensor)",
        "g\tglobal_avg_pool2d(float32[N,3,4,4])",
    ])
    run.expect_refused("a dim that the model has not", "onnx.dim", "its symbolic dims are batch", "onnx", model, "--dim", "bacth=2")


def test_open_dims(run):
    """Behind a convolution a dim has a name of ONNX's own, which --dim does not take."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3]),
             helper.make_node("MaxPool", ["c"], ["m"], name="pool", kernel_shape=[2, 2])]
    weights = helper.make_tensor("w", TensorProto.FLOAT, [4, 3, 3, 3], np.zeros(108, np.float32).tobytes(), raw=True)
    graph = helper.make_graph(nodes, "open", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"])],
                              [helper.make_empty_tensor_value_info("m")], [weights])
    model = run.folder / "open.onnx"
    model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString())
    run.expect("dims that are open are free", run("onnx", model).stdout,
               "pool\tmax_pool2d(float32[N,4,H,W], kernel_size=2, stride=1)\n")
    x = np.arange(3 * 4 * 6 * 7, dtype=np.float32).reshape(3, 4, 6, 7)
    np.save(run.folder / "x.npy", x)
    run("run", "--onnx", model, "--input", run.folder / "x.npy", "--output", run.folder / "y.npy")
    run.expect("a run has the size of its file", np.load(run.folder / "y.npy").tolist(), x[:, :, 1:, 1:].tolist())
    (run.folder / "x.npy").unlink()
    (run.folder / "y.npy").unlink()
    run.expect("with them", run("onnx", model, "--dim", "h=10", "--dim", "w=12").stdout,
               "pool\tmax_pool2d(float32[N,4,8,10], kernel_size=2, stride=1)\n")


def test_groups(run):
    """Nodes that pool one tensor: side by side (SPP), a chain (SPPF), with and without a Concat, and what is no group."""
    pool = lambda x, y, k, **more: helper.make_node("MaxPool", [x], [y], kernel_shape=[k, k], pads=[k // 2] * 4, **more)
    concat = lambda name, axis, *inputs: helper.make_node("Concat", inputs, [name], axis=axis)
    average = helper.make_node("AveragePool", ["x"], ["a"], kernel_shape=[3, 3], pads=[1] * 4)
    relu = helper.make_node("Relu", ["p"], ["r"])
    members = "max_pool2d(kernel_size=5, stride=1, padding=2), max_pool2d(kernel_size=9, stride=1, padding=4)"
    plain = lambda k: f"max_pool2d(float32[1,8,19,19], kernel_size={k}, stride=1, padding={k // 2})"
    tensor = "float32[1,8,19,19]"
    table = [
        ("SPP", [pool("x", "p", 5), pool("x", "q", 9), concat("y", 1, "x", "p", "q")],
         [f"p + q + y\tpools({tensor}, {members}, concat=True, include_input=True)"]),
        ("SPPF", [pool("x", "p", 5), pool("p", "q", 5), concat("y", -3, "x", "p", "q")],
         [f"p + q + y\tpools({tensor}, {members}, concat=True, include_input=True)"]),
        ("another order", [pool("x", "p", 9), pool("x", "q", 5), concat("y", 1, "q", "p")],
         [f"q + p + y\tpools({tensor}, {members}, concat=True)"]),
        ("the input is last", [pool("x", "p", 5), pool("x", "q", 9), concat("y", 1, "p", "q", "x")],
         [f"p + q\tpools({tensor}, {members})"]),
        ("no Concat", [pool("x", "p", 5), pool("x", "q", 9)], [f"p + q\tpools({tensor}, {members})"]),
        ("a Concat along rows", [pool("x", "p", 5), pool("x", "q", 9), concat("y", 2, "p", "q")],
         [f"p + q\tpools({tensor}, {members})"]),
        ("average and maximum", [pool("x", "p", 5), average],
         [f"p + a\tpools({tensor}, max_pool2d(kernel_size=5, stride=1, padding=2), "
          "avg_pool2d(kernel_size=3, stride=1, padding=1, count_include_pad=False))"]),
        ("one alone", [pool("x", "p", 5)], []),
        ("no chain: a Relu between", [pool("x", "p", 5), relu, pool("r", "q", 5)], []),
        ("no chain: a stride", [pool("x", "p", 5, strides=[2, 2]), pool("p", "q", 5)], []),
    ]
    for what, nodes, wanted in table:
        outputs = [helper.make_empty_tensor_value_info(nodes[-1].output[0])]
        graph = helper.make_graph(nodes, "groups", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 19, 19])], outputs)
        model = run.folder / "groups.onnx"
        model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString())
        lines = run("onnx", model).stdout.splitlines()
        run.expect(what, [line for line in lines if "pools(" in line], wanted)
        if what == "SPPF":
            run.expect("the nodes by themselves", lines[:2], [f"p\t{plain(5)}", f"q\t{plain(5)}"])


def test_run(run, model):
    x = np.random.default_rng(1).integers(-9, 9, (2, 3, 8, 8)).astype(np.float32)
    r = np.maximum(x, 0)
    np.save(run.folder / "r.npy", r)
    y, places = run.folder / "y.npy", run.folder / "i.npy"
    done = run("run", "--onnx", model, "--node", "pool1", "--dim", "batch=2", "--input", run.folder / "r.npy", "--output", y,
               "--indices", places)
    run.expect("run: stderr", done.stderr, "")
    got = np.load(y)
    run.expect("run: values", np.array_equal(got, r.reshape(2, 3, 4, 2, 4, 2).max((3, 5))), True)
    run.expect("run: indices count in the tensor", np.array_equal(r.ravel()[np.load(places)], got), True)
    y.unlink()
    run.expect("run a free batch: stderr",
               run("run", "--onnx", model, "--node", "pool1", "--input", run.folder / "r.npy", "--output", y).stderr, "")
    run.expect("run a free batch: values", np.array_equal(np.load(y), got), True)
    y.unlink()


def test_refused(run, model):
    files = ["--input", run.folder / "r.npy", "--output", run.folder / "y.npy"]
    run.expect_refused("no such node", "onnx.node", "pool1, g, quantised", "run", "--onnx", model, "--node", "x", "--dim", "batch=2", *files)
    run.expect_refused("no node named", "onnx.node", "pool1, g, quantised", "run", "--onnx", model, "--dim", "batch=2", *files)
    for dim in ("batch", "batch=", "batch=0", "batch=x", "batch=99999999999999999999"):
        run.expect_refused(dim, "onnx.dim", "NAME=EXTENT", "run", "--onnx", model, "--node", "pool1", "--dim", dim, *files)
    garbage = run.folder / "garbage.onnx"
    garbage.write_bytes(b"\xff" * 64)
    run.expect_refused("garbage", "onnx.model", "", "run", "--onnx", garbage, "--node", "pool1", *files)
    zero = run.folder / "zero.onnx"
    node = helper.make_node("MaxPool", ["x"], ["y"], name="pool", kernel_shape=[2, 2], strides=[0, 0])
    graph = helper.make_graph([node], "zero", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_empty_tensor_value_info("y")])
    zero.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString())
    listed = run("onnx", zero)
    run.expect("strides of 0", (listed.returncode, "pool\tspec.stride: " in listed.stdout), (3, True))
    run.expect_refused("to run strides of 0", "spec.stride", "", "run", "--onnx", zero, *files)
    fifo = run.folder / "fifo"
    os.mkfifo(fifo)
    run.expect_refused("a FIFO as a model", "file.special", "", "onnx", fifo)
    run.expect_refused("a FIFO as input", "file.special", "", "run", "--onnx", model, "--node", "pool1", "--input", fifo, "--output",
                       run.folder / "y.npy")
    run.expect_refused("no file", "onnx.file", "", "run", "--onnx", run.folder / "none", "--node", "pool1", *files)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", required=True)
    with tempfile.TemporaryDirectory() as folder:
        run = Run(parser.parse_args().command, pathlib.Path(folder))
        model = run.folder / "model.onnx"
        make_model(model)
        for test in (test_list, test_run, test_refused):
            test(run, model)
        test_open_dims(run)
        test_groups(run)
    print("ok" if run.failures == 0 else f"{run.failures} failures")
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
