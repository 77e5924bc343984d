"""Strange arguments of every public function: each is a result or an error of pooljit's, never one from inside. And what
is taken where a number, a word or a list is: numpy's and PyTorch's too."""
import builtins
import importlib.util
import inspect
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest

import pooljit

SPEC = "max_pool2d(float32[1,2,6,6], kernel_size=2)"
X = np.arange(72, dtype=np.float32).reshape(1, 2, 6, 6)
Y, I = pooljit.max_pool2d(X, 2, return_indices=True)


class Raises:
    """Says nothing of itself."""

    def __repr__(self):
        raise ZeroDivisionError("mine")


class Index:
    def __index__(self):
        return 2


def endless():
    made = []
    made.append(made)
    return made


STRANGE = [None, True, 0, -1, 3, 2**70, -2**70, 10**5000, 1.5, float("nan"), float("inf"), "", "x", "None", "a,b=c", "\ud800", "\0", b"x",
           bytearray(b"x"), [], [[]], [None], [1, "x"], ["x"], [2**70], tuple(range(9)), {}, {"a": 1}, {1, 2}, object(), Raises(),
           Index(), endless(), np.array([2, 2]), np.array([[2, 2]]), np.array(2), np.array("x"), np.zeros(0), np.float32(2), np.int8(2),
           np.bool_(True), np.float32, np.dtype("int8"), np.dtype("M8[s]"), int, len, lambda: 0, (n for n in (2, 2)), range(2),
           pathlib.Path("x"), 2j, pooljit.Spec(SPEC), pooljit, Ellipsis, memoryview(b"xx"), X, I, X[:, :, ::-1], X.astype(">f4")]
ARRAYS = {"input": X, "output": Y, "grad_output": Y, "indices": I, "input_size": X.shape, "output_size": (3, 3), "kernel_size": 2, "norm_type": 2}
KEYWORDS = ["nan", "index_dtype", "scale", "epilogue", "output_dtype", "output_layout", "output_strides", "backend", "isa",
            "schedule", "threads", "verify", "tune_db", "measure", "no_such"]


def functions():
    """(name, function, the arguments of a right call)"""
    for name in pooljit.layers():
        if name.replace("_backward", "")[-2:] == "2d":
            required = [p.name for p in inspect.signature(getattr(pooljit, name)).parameters.values() if p.default is p.empty]
            given = {name: ARRAYS[name] for name in required if name in ARRAYS}
            if "unpool" in name:
                given["input"] = Y
            if name.startswith("quantized"):
                given["input"] = X.astype(np.uint8)
            yield name, getattr(pooljit, name), given
    kernel = pooljit.compile(SPEC)
    yield "kernel", kernel, {"input": X}
    yield "kernel.time", kernel.time, {"seconds": 0.0}
    yield "kernel.program", kernel.program, {"legal": False}
    yield "compile", pooljit.compile, {"spec": SPEC}
    yield "Spec", pooljit.Spec, {"text": SPEC}
    yield "dialect", pooljit.Spec(SPEC).dialect, {"name": "onnx"}
    yield "random_specs", pooljit.random_specs, {"seed": 1, "plain": False}
    yield "reference", pooljit.reference, {"spec": SPEC, "input": X, "indices": None, "operands": ()}
    yield "compare", pooljit.compare, {"spec": SPEC, "input": X, "output": Y, "indices": None, "operands": ()}
    yield "schedules", pooljit.schedules, {"spec": SPEC}
    yield "explain", pooljit.explain, {"spec": SPEC}
    yield "evaluate", pooljit.evaluate, {"spec": SPEC, "schedule": "", "seconds": 0.0}
    yield "tune", pooljit.tune, {"spec": SPEC, "seconds": 0.0, "db": None, "progress": None, "isa": "no such"}
    yield "set_num_threads", pooljit.set_num_threads, {"threads": 0}
    yield "set_free_dims", pooljit.set_free_dims, {"free": False}
    yield "set_measure", pooljit.set_measure, {"measure": 0}
    yield from torch_functions()
    yield from onnx_functions()


def torch_functions():
    """Of pooljit.torch those that are no functions of PyTorch's: what these take is PyTorch's to judge."""
    if importlib.util.find_spec("torch") is None:
        return
    import torch
    import pooljit.torch as pt

    def enabled(measure):
        pt.enable(measure=measure)
        pt.disable()
    yield "torch.enable", enabled, {"measure": 0}
    yield "torch.optimize", pt.optimize, {"model": torch.nn.MaxPool2d(2)}
    yield "torch.functions", pt.functions(), {"function": len}


def onnx_functions():
    if importlib.util.find_spec("onnx") is None:
        return
    from onnx import TensorProto, helper
    import pooljit.onnx as po
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 2, "H", "W"]) for name in "xy"]
    node = helper.make_node("MaxPool", ["x"], ["y"], name="p", kernel_shape=[2, 2], ceil_mode=1)
    model = helper.make_model(helper.make_graph([node], "g", value[:1], value[1:]))
    yield "onnx.prepare", po.prepare, {"model": model, "device": "CPU", "ceil": "runtime"}
    yield "onnx.run_model", po.run_model, {"model": model, "inputs": [X], "device": "CPU", "ceil": "letter"}
    yield "onnx.run_node", po.run_node, {"node": node, "inputs": [X], "device": "CPU", "opset_version": 13, "ceil": "letter"}
    yield "onnx.run", po.prepare(model).run, {"inputs": [X]}
    yield "onnx.run_names", lambda x: po.prepare(model).run({"x": x}), {"x": X}
    yield "onnx.run_one", lambda x: po.prepare(model).run([x]), {"x": X}
    yield "onnx.pools", po.pools, {"model": model, "ceil": "runtime"}
    yield "onnx.Pool", lambda x: po.pools(model)["p"](x), {"x": X}
    yield "onnx.supports", po.supports, {"model": model}
    yield "onnx.is_compatible", po.is_compatible, {"model": model, "device": "CPU"}
    yield "onnx.supports_device", po.supports_device, {"device": "CPU"}


FUNCTIONS = list(functions())


def more_keywords(function):
    """What a function takes besides the arguments of a right call."""
    parameters = inspect.signature(function).parameters.values()
    named = [] if "onnx" in (function.__module__ or "") else [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    takes_more = function in (pooljit.avg_pool2d, pooljit.compile) and any(p.kind is p.VAR_KEYWORD for p in parameters)
    return named + (KEYWORDS if takes_more else [])


@pytest.mark.parametrize("function", FUNCTIONS, ids=[name for name, *_ in FUNCTIONS])
def test_strange_arguments(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a database may be made
    name, call, right = function
    raw = []
    pooljit.set_num_threads(1)
    for argument in dict.fromkeys([*right, *([] if name.startswith("kernel.") else more_keywords(call))]):
        for value in STRANGE:
            if argument == "seconds" and not isinstance(value, (str, list, type(None), Raises, np.dtype, bytes)):
                continue  # that long it would take
            if argument in ("threads", "tune_db") and not isinstance(value, (str, list, float, type(None))):
                continue  # many threads, many files
            try:
                call(**{**right, argument: value})
            except pooljit.Error:
                pass
            except Exception as error:
                if type(error).__name__ == "ValidationError" and name == "onnx.run_node":
                    continue  # onnx's own, of what is no node
                raw.append(f"{argument}: a {type(value).__name__}: {type(error).__name__}: {error}"[:200])
    pooljit.set_num_threads(0)
    assert not raw, "\n".join(raw)


def test_numbers_words_and_lists():
    """Whatever stands for the same gives the same."""
    wanted = pooljit.max_pool2d(X, (2, 3), output_dtype="float64", threads=1)
    for size in ([2, 3], np.array([2, 3]), np.array([2, 3], np.uint8), (np.int64(2), np.int8(3)), range(2, 4), (Index(), 3)):
        size = tuple(size) if isinstance(size, range) else size
        assert np.array_equal(pooljit.max_pool2d(X, size, output_dtype=np.float64, threads=np.int32(1)), wanted)
    for dtype in (np.float64, np.dtype("float64"), "float64"):
        made = pooljit.max_pool2d(X, (2, 3), output_dtype=dtype)
        assert made.dtype == np.float64 and np.array_equal(made, wanted)
    assert next(pooljit.random_specs(np.uint32(7))) == next(pooljit.random_specs(7))
    assert np.array_equal(pooljit.max_pool2d_backward(Y, I, np.array(X.shape), 2), pooljit.max_pool2d_backward(Y, I, X.shape, 2))
    assert np.array_equal(pooljit.adaptive_avg_pool2d(X, np.array([3, 2])), pooljit.adaptive_avg_pool2d(X, (3, 2)))


def test_numbers_and_words_of_pytorch():
    torch = pytest.importorskip("torch", reason="python3-torch is not installed")
    made = pooljit.max_pool2d(torch.from_numpy(X), torch.tensor([2, 3]), output_dtype=torch.float64)
    assert np.array_equal(made.numpy(), pooljit.max_pool2d(X, (2, 3), output_dtype="float64"))
    assert np.array_equal(pooljit.max_pool2d(X, torch.Size([2, 3])), pooljit.max_pool2d(X, (2, 3)))


def test_arguments_by_name():
    kernel = pooljit.compile("max_pool2d_backward(float32[1,2,6,6], kernel_size=2)")
    out = np.empty_like(X)
    assert kernel(indices=I, input=Y, out=out) is out and np.array_equal(kernel(Y, indices=I), out)
    assert str(inspect.signature(kernel)) == "(input, indices=None, *, out=None, operands=())"
    for wrong in (lambda: kernel(Y, I, indices=I), lambda: kernel(Y, input=Y), lambda: kernel(indices=I)):
        with pytest.raises(pooljit.InvalidError) as caught:
            wrong()
        assert caught.value.id == "python.call"


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "1 s", None])
def test_times(seconds):
    for call in (lambda: pooljit.evaluate(SPEC, seconds=seconds), lambda: pooljit.tune(SPEC, seconds),
                 lambda: pooljit.compile(SPEC).time(seconds)):
        with pytest.raises(pooljit.InvalidError) as caught:
            call()
        assert caught.value.id == "python.argument"


def test_a_star_shadows_nothing():
    names = {}
    exec("from pooljit import *", names)
    assert "max_pool2d" in names and not [name for name in names if hasattr(builtins, name) and not name.startswith("__")]


def test_samples_fill_the_time():
    few, many = (pooljit.evaluate("avg_pool2d(float32[1,8,64,64], kernel_size=3)", seconds=s).samples for s in (0.0, 1.0))
    assert many > 400 > few or many > 10 * few


INTERRUPTED = """
import sys, numpy, pooljit
spec = "avg_pool2d(float32[1,64,128,128], kernel_size=63, stride=1, padding=31)"
x = numpy.ones((1, 64, 128, 128), numpy.float32)
calls = {"reference": lambda: pooljit.reference(spec, x), "prove": pooljit.compile(spec).prove,
         "verify": lambda: pooljit.compile(spec, verify=True),
         "compare": lambda: pooljit.compare(spec, x, pooljit.compile(spec)(x) + 1)}
try:
    print("begun", flush=True)
    calls[sys.argv[1]]()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    import os
    os._exit(0)
print("done", flush=True)
"""


@pytest.mark.parametrize("what", ["reference", "prove", "verify"])
def test_interrupt(what):
    """Of work that takes minutes."""
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED, what], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "begun\n"
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
    finally:
        child.kill()
        child.wait()
