#!/usr/bin/env python3
"""What `pooljit onnx` says of the models in tests/onnx/cases and of models made here, and what `pooljit run --onnx` makes of
some of them.

  cases_test.py --command build/pooljit

Exit codes: 0 as expected, 1 not, 77 python3-onnx is not installed (ctest reports the test as skipped).
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

try:
    from onnx import AttributeProto, TensorProto, helper
except ImportError:
    print("skipped: python3-onnx not installed")
    sys.exit(77)

CASES = pathlib.Path(__file__).parent / "cases"
OK, INVALID, UNSUPPORTED = 0, 3, 4
FLOAT, INT64, UINT8, INT8, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8, TensorProto.INT8, TensorProto.BOOL


def average(shape, *more):
    return f"avg_pool2d({', '.join([f'float32[{shape}]', *more, 'count_include_pad=False'])})"


UNPOOLED = "max_unpool2d(float32[1,1,2,2], kernel_size=2, output_size=5, index_scope=tensor)"
# file, arguments, exit code, {node: its spec, or with "\t" what follows it}, a part of stderr
CASE_TABLE = [
    ("unpool_output_shape_initializer", [], OK, {"u": UNPOOLED}, ""),
    ("unpool_output_shape_constant", [], OK, {"u": UNPOOLED}, ""),
    ("unpool_output_shape_input", [], OK, {"u": UNPOOLED}, ""),  # as declared
    ("chain22", [], OK, {"first": average("1,1,5,5", "kernel_size=2", "padding=1", "ceil_mode=True"),
                         "second": "global_avg_pool2d(float32[1,1,3,3])"}, ""),
    ("chain19dil", [], OK, {"first": average("1,1,9,9", "kernel_size=3", "stride=1", "dilation=2"),
                            "second": "global_max_pool2d(float32[1,1,5,5])"}, ""),
    ("lp22", [], OK, {"lp": "lp_pool2d(float32[1,1,5,5], kernel_size=2, padding=1, ceil_mode=True)"}, ""),
    ("avg10_torch", [], OK, {"p": average("1,3,4,4", "kernel_size=3", "ceil_mode=True")},
     "warning: y: the model declares float32[1,3,1,1], by its opset it is float32[1,3,2,2]"),
    ("fun", [], OK, {"call/inner": "max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)"}, ""),
    ("ifpool", [], OK, {"if/else_branch/in_else": average("1,1,4,4", "kernel_size=2"),
                        "if/then_branch/in_then": "max_pool2d(float32[1,1,4,4], kernel_size=2)"}, ""),
    ("loop", [], OK, {"l/body/in_loop": "max_pool2d(float32[1,1,4,4], kernel_size=3, stride=1, padding=1)"}, ""),
    ("reducemean", [], OK, {"gap": ["global_avg_pool2d(float32[1,64,80,128])", "ReduceMean"],
                            "gmp": ["global_max_pool2d(float32[1,64,80,128])", "ReduceMax"]}, ""),
    ("q_const", [], OK, {"q": "quantized_avg_pool2d(quint8[1,1,2,2], kernel_size=2, count_include_pad=False, scale=0.5, zero_point=128, "
                              "output_scale=0.25, output_zero_point=3)"}, ""),
    ("dyn", [], OK, {"p": "max_pool2d(float32[N,3,H,W], kernel_size=3, stride=2, padding=1)"}, ""),
    ("dyn", ["--dim", "H=8", "--dim", "W=9"], OK,
     {"p": "max_pool2d(float32[N,3,8,9], kernel_size=3, stride=2, padding=[1,1,0,1])"}, ""),
    ("empty", [], INVALID, {}, "pooljit: onnx.model: "),
]


# --- models made here

def node(op, inputs, outputs, name="", **more):
    return helper.make_node(op, inputs.split(), outputs.split(), name=name, **more)


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def scalar(name, number, kind=FLOAT):
    return helper.make_tensor(name, kind, [], [number])


def model(nodes, inputs, opset=13, constants=(), outputs=None, functions=(), domains=()):
    last = [name for name in nodes[-1].output if name]
    outputs = outputs or [helper.make_empty_tensor_value_info(last[0])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in ("com.microsoft", "my.ops", *domains))]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=8)


def function(name, inputs, outputs, nodes, attributes=(), opset=13, defaults=()):
    made = helper.make_function("my.ops", name, inputs.split(), outputs.split(), nodes,
                                [helper.make_opsetid("", opset), helper.make_opsetid("my.ops", 1)], attributes=list(attributes))
    if not defaults:
        return made
    # attribute_proto, field 11, which onnx 1.12 does not know
    more = b"".join(b"\x5a" + bytes([len(text)]) + text for text in (each.SerializeToString() for each in defaults))
    return type(made).FromString(made.SerializeToString() + more)


def qdq(op, scale, zero, output_scale, output_zero, kind=UINT8, more=(), **attributes):
    nodes = [node("DequantizeLinear", "q s z", "x", "dq"), node(op, "x", "y", "pool", **attributes), *more,
             node("QuantizeLinear", "y s2 z2", "r", "q8")]
    constants = [scalar("s", scale), scalar("z", zero, kind), scalar("s2", output_scale), scalar("z2", output_zero, kind)]
    return model(nodes, [value("q", [1, 2, 4, 4], kind)], 13, constants)


IMAGE = value("x", [1, 3, 9, 9])
K2 = {"kernel_shape": [2, 2], "strides": [2, 2]}
MAX = "max_pool2d(float32[1,3,9,9], kernel_size=2)"
MAX4 = "max_pool2d(float32[1,3,4,4], kernel_size=2)"
OPEN_SHAPE = model([node("MaxUnpool", "x i s", "y", "u", **K2)],
                   [value("x", [1, 1, 2, 2]), value("i", [1, 1, 2, 2], INT64), value("s", [4], INT64)])


def late_ceil(opset):
    return model([node("MaxPool", "x", "y", "p", kernel_shape=[2], strides=[2], pads=[1, 1], ceil_mode=1)], [value("x", [1, 1, 17])], opset)


def shrinking_loop():
    """The state is halved at each step, so its shape is not known; what does not depend on it is."""
    body = helper.make_graph([node("MaxPool", "st", "o", "halves", **K2), node("MaxPool", "x", "side", "steady", **K2), node("Identity", "c", "co")],
                             "b", [value("it", [], INT64), value("c", [], BOOL), helper.make_empty_tensor_value_info("st")],
                             [value("co", [], BOOL), helper.make_empty_tensor_value_info("o")])
    return model([helper.make_node("Loop", ["m", "", "x"], ["y"], name="l", body=body)], [value("m", [], INT64), IMAGE])


def loop_in_if():
    body = helper.make_graph([node("MaxPool", "st", "o", "p", kernel_shape=[3, 3], pads=[1] * 4), node("Identity", "c", "co")],
                             "b", [value("it", [], INT64), value("c", [], BOOL), helper.make_empty_tensor_value_info("st")],
                             [value("co", [], BOOL), helper.make_empty_tensor_value_info("o")])
    branch = lambda: helper.make_graph([helper.make_node("Loop", ["m", "", "x"], ["z"], name="l", body=body)], "t", [],
                                       [helper.make_empty_tensor_value_info("z")])
    nodes = [node("If", "cond", "y", "if", then_branch=branch(), else_branch=branch()), node("MaxPool", "y", "w", "after", **K2)]
    return model(nodes, [value("m", [], INT64), value("cond", [], BOOL), IMAGE])


def scan():
    """Rows of a batch of images one by one."""
    body = helper.make_graph([node("MaxPool", "slice", "o", "p", **K2)], "b", [helper.make_empty_tensor_value_info("slice")],
                             [helper.make_empty_tensor_value_info("o")])
    nodes = [node("Scan", "x", "y", "s", body=body, num_scan_inputs=1, scan_input_axes=[1]), node("GlobalMaxPool", "y", "z", "g")]
    return model(nodes, [value("x", [2, 5, 3, 8, 8])])


def with_references():
    """Strides of the call, dilations by default, pads that the call leaves out."""
    inner = helper.make_node("MaxPool", ["a"], ["b"], name="inner", kernel_shape=[2, 2])
    for name in ("strides", "dilations", "pads"):
        attribute = inner.attribute.add()
        attribute.name, attribute.ref_attr_name, attribute.type = name, name, AttributeProto.INTS
    pool = function("pool", "a", "b", [inner], ["strides", "pads"], defaults=[helper.make_attribute("dilations", [2, 2])])
    twice = function("twice", "a", "c", [helper.make_node("pool", ["a"], ["b"], name="first", domain="my.ops", strides=[2, 2]),
                                         helper.make_node("pool", ["b"], ["c"], name="second", domain="my.ops")])
    return model([helper.make_node("twice", ["x"], ["y"], name="call", domain="my.ops")], [IMAGE], functions=[pool, twice])


def endless():
    calls = [helper.make_node("f", ["a"], ["b"], domain="my.ops"), helper.make_node("f", ["b"], ["c"], domain="my.ops")]
    return model([helper.make_node("f", ["x"], ["y"], domain="my.ops")], [IMAGE], functions=[function("f", "a", "c", calls)])


QUANTIZED = "quantized_avg_pool2d(quint8[1,2,4,4], kernel_size=2, count_include_pad=False, scale=0.5, zero_point=3, " \
            "output_scale=0.25, output_zero_point=7)"
MODEL_TABLE = {
    "two nodes of one name": (model([node("MaxPool", "x", "a", "p", **K2), node("MaxPool", "a", "b", "p", **K2)], [IMAGE]), [], OK,
                              {"p#1": MAX, "p#2": MAX4}, ""),
    "ceil_mode came with 10": (late_ceil(7), [], INVALID, {"p": "spec.opset: ... MaxPool has ceil_mode since opset 10; got 7"}, ""),
    "dilations of an average came with 19": (
        model([node("AveragePool", "x", "y", "p", kernel_shape=[2, 2], dilations=[2, 2])], [IMAGE], 11), [], INVALID,
        {"p": "spec.opset: ... AveragePool has dilations since opset 19; got 11"}, ""),
    "opset 99": (model([node("MaxPool", "x", "y", "p", **K2)], [IMAGE], 99), [], INVALID, {"p": "spec.opset: ... got opset 99; 1 to 27 are known"}, ""),
    "a last window in the padding": (late_ceil(13), [], OK, {"p": "max_pool1d(float32[1,1,17], kernel_size=2, padding=1, ceil_mode=True)"}, ""),
    "by the letter": (late_ceil(13), ["--ceil", "letter"], OK,
                      {"p": "max_pool1d(float32[1,1,17], kernel_size=2, padding=1, ceil_mode=plain)"}, ""),
    "by the letter of 22": (late_ceil(22), ["--ceil", "letter"], OK,
                            {"p": "max_pool1d(float32[1,1,17], kernel_size=2, padding=1, ceil_mode=True)"}, ""),
    "an attribute that is none": (model([node("MaxPool", "x", "y", "p", return_indices=1, **K2)], [IMAGE]), [], INVALID,
                                  {"p": "onnx.attribute: MaxPool has no attribute return_indices"}, ""),
    "a word that is a text": (model([node("MaxPool", "x", "y", "p", auto_pad="VALID, strides=[5,5]", kernel_shape=[2, 2])], [IMAGE]), [], INVALID,
                              {"p": "onnx.attribute: auto_pad of MaxPool is no number, list or word"}, ""),
    "behind what is not known": (
        model([node("MaxPool", "x", "a", "before", **K2), helper.make_node("Mystery", ["a"], ["b"], domain="my.ops"),
               node("Relu", "b", "c"), node("MaxPool", "c", "d", "behind", **K2)], [IMAGE]), [], UNSUPPORTED,
        {"before": MAX, "behind": "onnx.shape: the type of c is not known: Mystery of domain my.ops is no operator whose shapes are known"}, ""),
    "behind a crash": (
        model([node("Conv", "x w", "a", kernel_shape=[3, 3], strides=[0, 0]), node("MaxPool", "a", "b", "behind", **K2),
               node("Relu", "x", "c"), node("MaxPool", "c", "d", "beside", **K2)], [IMAGE, value("w", [4, 3, 3, 3])]), [], UNSUPPORTED,
        {"behind": "onnx.shape: the type of a is not known: ONNX's inference crashes on it", "beside": MAX}, ""),
    "a declared shape is better than none": (
        model([helper.make_node("Mystery", ["x"], ["y"], domain="my.ops"), node("MaxPool", "y", "z", "p", **K2)], [IMAGE],
              outputs=[value("z", [1, 3, 4, 4]), value("y", [1, 3, 9, 9])]), [], OK, {"p": MAX}, ""),
    "nodes that are not sorted": (model([node("MaxPool", "a", "b", "p", **K2), node("Relu", "x", "a")], [IMAGE]), [], INVALID,
                                  {"p": "onnx.graph: nothing before the node makes a (nodes are sorted: each after those that make what it reads)"}, ""),
    "a cycle": (model([node("MaxPool", "b", "a", "p", **K2), node("MaxPool", "a", "b", "q", **K2)], [IMAGE]), [], INVALID,
                {"p": "onnx.graph: nothing before the node makes b (nodes are sorted: each after those that make what it reads)",
                 "q": "onnx.shape: ..."}, ""),
    "a tensor that is made twice": (model([node("MaxPool", "x", "y", "p", **K2), node("Relu", "x", "y")], [IMAGE]), [], INVALID, {},
                                    "onnx.model: two nodes make y"),
    "NhwcMaxPool": (model([helper.make_node("NhwcMaxPool", ["x"], ["y"], name="p", domain="com.microsoft", **K2),
                           helper.make_node("NhwcMaxPool", ["y"], ["z"], name="q", domain="com.microsoft", **K2)],
                          [value("x", [1, 9, 8, 3], UINT8)]), [], OK,
                    {"p": "max_pool2d(uint8[1,3,9,8]:nhwc, kernel_size=2)", "q": "max_pool2d(uint8[1,3,4,4]:nhwc, kernel_size=2)"}, ""),
    "axes as an input": (model([node("ReduceMean", "x axes", "y", "r")], [IMAGE], 18, [helper.make_tensor("axes", INT64, [2], [3, 2])]), [], OK,
                         {"r": ["global_avg_pool2d(float32[1,3,9,9])", "ReduceMean"]}, ""),
    "channels last": (model([node("ReduceMax", "x", "y", "r", axes=[1, 2], keepdims=0)], [value("x", [1, 9, 8, 3])]), [], OK,
                      {"r": ["global_max_pool2d(float32[1,3,9,8]:nhwc)", "ReduceMax"]}, ""),
    "a product": (model([node("ReduceProd", "x", "y", "r", axes=[1, 2])], [value("x", [1, 9, 8, 3], INT64)]), [], OK,
                  {"r": ["global_prod_pool2d(int64[1,3,9,8]:nhwc)", "ReduceProd"]}, ""),
    "a mean that is no pool": (model([node("ReduceMean", "x", "y", "r", axes=[-1]), node("MaxPool", "y", "z", "p", kernel_shape=[2, 1])], [IMAGE]), [], OK,
                               {"p": "max_pool2d(float32[1,3,9,1], kernel_size=[2,1], stride=1)"}, ""),
    "an output_shape that a run tells": (OPEN_SHAPE, [], UNSUPPORTED,
                                         {"u": "onnx.output_shape: s, the output_shape, is no constant (`pooljit run --onnx` takes --output-shape 1,64,112,112)"}, ""),
    "a loop that shrinks": (shrinking_loop(), [], OK,
                            {"l/body/halves": "max_pool2d(float32[1,3,H,W], kernel_size=2)", "l/body/steady": MAX}, ""),
    "a loop in a branch": (loop_in_if(), [], OK,
                           {**{f"if/{b}_branch/l/body/p": "max_pool2d(float32[1,3,9,9], kernel_size=3, stride=1, padding=1)" for b in ("else", "then")},
                            "after": MAX}, ""),
    "a scan": (scan(), [], OK, {"s/body/p": "max_pool2d(float32[2,3,8,8], kernel_size=2)",
                                "g": "global_max_pool3d(float32[N,2,3,4,4])"}, ""),
    "references to attributes": (with_references(), [], OK,
                                 {"call/first/inner": "max_pool2d(float32[1,3,9,9], kernel_size=2, dilation=2)",
                                  "call/second/inner": "max_pool2d(float32[1,3,4,4], kernel_size=2, stride=1, dilation=2)"}, ""),
    "functions without end": (endless(), [], UNSUPPORTED, {}, "onnx.size: "),
    "an average between integers": (qdq("AveragePool", 0.5, 3, 0.25, 7, **K2), [], OK, {"pool": [QUANTIZED, "dq + pool + q8"]}, ""),
    "a maximum between integers": (qdq("MaxPool", 0.5, -3, 0.5, -3, INT8, **K2), [], OK,
                                   {"pool": ["max_pool2d(int8[1,2,4,4], kernel_size=2)", "dq + pool + q8"]}, ""),
    "a maximum that is rescaled": (qdq("MaxPool", 0.5, 3, 0.25, 3, **K2), [], OK, {"pool": "max_pool2d(float32[1,2,4,4], kernel_size=2)"}, ""),
    "a float in between that is read": (qdq("MaxPool", 0.5, 3, 0.5, 3, more=[node("Relu", "y", "other")], **K2), [], OK,
                                        {"pool": "max_pool2d(float32[1,2,4,4], kernel_size=2)"}, ""),
    "bool": (model([node("MaxPool", "x", "y", "p", **K2)], [value("x", [1, 3, 9, 9], BOOL)]), [], UNSUPPORTED,
             {"p": "onnx.dtype: x is a tensor of BOOL"}, ""),
    "MaxRoiPool": (model([node("MaxRoiPool", "x r", "y", "p", pooled_shape=[2, 2])], [IMAGE, value("r", [2, 5])]), [], UNSUPPORTED,
                   {"p": "onnx.operator: MaxRoiPool is not done"}, ""),
    "another's MaxPool": (model([helper.make_node("MaxPool", ["x"], ["y"], name="p", domain="my.ops", **K2)], [IMAGE]), [], UNSUPPORTED,
                          {"p": "onnx.operator: MaxPool of domain my.ops is not done"}, ""),
    "sizes beyond 63 bits": (model([node("MaxPool", "x", "y", "p", **K2)], [value("x", [1, 3, 2**62, 2**62])]), [], INVALID, {"p": "spec.overflow: ..."}, ""),
    "no pooling": (model([node("Relu", "x", "y")], [IMAGE]), [], OK, {}, "has no pooling node"),
}


class Test:
    def __init__(self, command, folder):
        self.command, self.folder, self.failures = command, folder, 0

    def run(self, *arguments):
        return subprocess.run([self.command, *map(str, arguments)], capture_output=True, text=True, check=False)

    def expect(self, what, got, wanted):
        if got != wanted:
            self.failures += 1
            print(f"FAILED {what}\n  got    {got!r}\n  wanted {wanted!r}")

    def listing(self, what, path, arguments, code, nodes, said):
        ran = self.run("onnx", path, *arguments)
        self.expect(f"{what}: exit code", ran.returncode, code)
        lines = dict(line.split("\t", 1) for line in ran.stdout.splitlines() if "\tpools(" not in line)
        self.expect(f"{what}: nodes", sorted(lines), sorted(nodes))
        for name, wanted in nodes.items():
            got, wanted = lines.get(name, ""), wanted if isinstance(wanted, str) else "\t".join(wanted)
            begin, cut, part = wanted.partition("...")
            self.expect(f"{what}: {name}", got if not cut or not (got.startswith(begin.strip()) and part.strip() in got) else wanted, wanted)
        self.expect(f"{what}: {said!r} in {ran.stderr!r}", said in ran.stderr and (said != "" or ran.stderr == ""), True)

    def made(self, made):
        path = self.folder / "model.onnx"
        path.write_bytes(made.SerializeToString())
        return path

    def pool(self, path, *arguments, **arrays):
        """The output of `run --onnx`, and what it said."""
        files = []
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)
            files += [f"--{name}", self.folder / f"{name}.npy"]
        output = self.folder / "y.npy"
        output.unlink(missing_ok=True)
        ran = self.run("run", "--onnx", path, *arguments, *files, "--output", output)
        return (np.load(output) if output.exists() else None), ran.stderr


def test_values(test):
    x, places = np.array([[[[1, 2], [3, 4]]]], np.float32), np.array([[[[0, 6], [12, 24]]]], np.int64)
    wanted = np.zeros((1, 1, 5, 5), np.float32)
    wanted.ravel()[places.ravel()] = x.ravel()
    for kind in ("initializer", "constant", "input"):
        y, said = test.pool(CASES / f"unpool_output_shape_{kind}.onnx", input=x, indices=places)
        test.expect(f"unpool, output_shape by {kind}: {said}", np.array_equal(y, wanted), True)
    path = test.made(OPEN_SHAPE)
    y, said = test.pool(path, "--output-shape", "1,1,5,5", input=x, indices=places)
    test.expect(f"--output-shape: {said}", np.array_equal(y, wanted), True)
    test.expect("without it", "pooljit: onnx.output_shape: u: " in test.pool(path, input=x, indices=places)[1], True)
    test.expect("of another N", "onnx.output_shape" in test.pool(path, "--output-shape", "2,1,5,5", input=x, indices=places)[1], True)

    said = test.pool(CASES / "lp22.onnx", "--output-shape", "1,1,5,5", input=np.zeros((1, 1, 5, 5), np.float32))[1]
    test.expect("--output-shape that nothing takes", "onnx.output_shape: no MaxUnpool takes" in said, True)

    rng = np.random.default_rng(1)
    q = rng.integers(0, 256, (1, 2, 4, 4)).astype(np.uint8)
    windows = q.reshape(1, 2, 2, 2, 2, 2).astype(np.float64)
    y, said = test.pool(test.made(qdq("AveragePool", 0.5, 3, 0.25, 7, **K2)), input=q)
    test.expect(f"an average between integers: {said}",
                np.array_equal(y, np.clip(np.rint((windows.mean((3, 5)) - 3) * 2 + 7), 0, 255).astype(np.uint8)), True)
    y, said = test.pool(test.made(qdq("MaxPool", 0.5, 3, 0.5, 3, **K2)), input=q)
    test.expect(f"a maximum between integers: {said}", np.array_equal(y, windows.max((3, 5)).astype(np.uint8)), True)

    x = np.arange(17, dtype=np.float32).reshape(1, 1, 17)
    for opset, ceil, extent in [(13, "runtime", 9), (13, "letter", 10), (22, "letter", 9)]:
        y, said = test.pool(test.made(late_ceil(opset)), "--ceil", ceil, input=x)
        test.expect(f"opset {opset}, {ceil}: {said}", y is not None and y.shape, (1, 1, extent))


def test_cut_off(test):
    """No part of a file is read as a model."""
    whole = (CASES / "chain22.onnx").read_bytes()
    path = test.folder / "part.onnx"
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        ran = test.run("onnx", path)
        test.expect(f"{size} of {len(whole)} bytes", (ran.returncode, ran.stdout, "pooljit: onnx.model: " in ran.stderr), (INVALID, "", True))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", required=True)
    with tempfile.TemporaryDirectory() as folder:
        test = Test(parser.parse_args().command, pathlib.Path(folder))
        for name, *more in CASE_TABLE:
            test.listing(f"{name} {more[0]}", CASES / f"{name}.onnx", *more)
        for name, (made, *more) in MODEL_TABLE.items():
            test.listing(name, test.made(made), *more)
        test_values(test)
        test_cut_off(test)
    print("ok" if test.failures == 0 else f"{test.failures} failures")
    return 1 if test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
