"""ONNX's own backend tests, unmodified, on pooljit.onnx; open dims, chains of nodes, and what is refused.

Debian's python3-onnx has no node data; that of libonnx-testdata takes its place.
"""
import pathlib

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="python3-onnx is not installed")

import onnx.backend.test  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402
from onnx.backend.test import loader  # noqa: E402

import pooljit  # noqa: E402
import pooljit.onnx as backend  # noqa: E402

CASES = pathlib.Path(__file__).parent.parent / "onnx/cases"
DATA = pathlib.Path("/usr/share/libonnx-testdata/data")
if not (pathlib.Path(loader.DATA_DIR) / "node/test_maxpool_2d_default").exists() and DATA.exists():
    loader.load_model_tests.__defaults__ = (str(DATA), None)
if "object" not in vars(np):
    np.object = object  # onnx 1.12's runner asks for it; numpy 1.24 has it no more

# The runner's names that the pattern takes and this backend is not for, each with its reason.
EXPLAINED = {
    "test_maxunpool_export_with_output_shape_cpu":
        "ONNX counts the indices in the shape that it would infer, not in output_shape",
}


TESTS = onnx.backend.test.BackendTest(backend.PooljitBackend, __name__).include(r".*pool.*")
for explained in EXPLAINED:
    TESTS.xfail(explained)
CHOSEN = {category: {name: item for name, item in items.items() if "pool" in name}
          for category, items in TESTS._test_items.items()}
for name, case in TESTS.test_cases.items():
    for test in [test for test, function in vars(case).items()
                 if getattr(function, "__unittest_skip_why__", "") == "no matched include pattern"]:
        delattr(case, test)  # 1800 lines that say nothing
    globals()[name] = case


def test_the_runner_has_them_all():
    """No test of the pattern is missing, or skipped but for the device that we are not for."""
    names = {name for items in CHOSEN.values() for name in items}
    on_cpu = {name for name in names if name.endswith("_cpu")}
    assert len(on_cpu) >= 35, on_cpu
    for items in CHOSEN.values():
        for name, item in items.items():
            why = getattr(item.func, "__unittest_skip_why__", None)
            assert why is None or (name.endswith("_cuda") and "device CUDA" in why), (name, why)
            if why is None:
                assert name in on_cpu
    for category, items in CHOSEN.items():
        for name in items:
            if not name.endswith("_cpu"):
                continue
            model = loader_model(category, name)
            assert model is None or not backend.supports(model), (name, backend.supports(model))


def loader_model(category, name):
    folder = {"NodeModel": "node", "SimpleModel": "simple", "PyTorchConvertedModel": "pytorch-converted",
              "PyTorchOperatorModel": "pytorch-operator"}.get(category)
    path = DATA / str(folder) / name.removesuffix("_cpu") / "model.onnx"
    return onnx.load(path) if path.exists() else None


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(nodes, inputs, outputs, constants=(), domains=(("", 13),)):
    graph = helper.make_graph(nodes, "pools", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*d) for d in domains])


def test_open_dims_come_from_the_input(rng):
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    rep = backend.prepare(model_of([node], [value("x", ["N", 3, "h", "w"])], [value("y", [None] * 4)]))
    for shape in ((1, 3, 8, 8), (4, 3, 9, 5), (2, 3, 30, 31)):
        x = rng.standard_normal(shape).astype(np.float32)
        (y,) = rep.run([x])
        assert y.shape == (*shape[:2], -(-shape[2] // 2), -(-shape[3] // 2)) and y.max() == x.max()


def test_a_chain_with_constants_and_names(rng):
    nodes = [
        helper.make_node("MaxPool", ["x"], ["m", "i"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("MaxUnpool", ["m", "i"], ["u"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["u"], ["g"]),
        helper.make_node("QLinearGlobalAveragePool", ["q", "s", "z", "s", "z"], ["a"], domain="com.microsoft", channels_last=1),
    ]
    constants = [helper.make_tensor("s", TensorProto.FLOAT, [], [0.5]), helper.make_tensor("z", TensorProto.UINT8, [], [3])]
    shape = [2, 3, 4, 4]
    model = model_of(nodes, [value("x", shape), value("q", [2, 4, 4, 3], TensorProto.UINT8)],
                     [value("g", [None] * 4), value("i", [None] * 4, TensorProto.INT64), value("a", [None] * 4, TensorProto.UINT8)], constants,
                     (("", 13), ("com.microsoft", 1)))
    x = rng.standard_normal(shape).astype(np.float32)
    q = rng.integers(0, 255, (2, 4, 4, 3), np.uint8)
    out = backend.prepare(model).run({"x": x, "q": q})
    y, i = pooljit.max_pool2d(x, 2, return_indices=True, index_scope="tensor")
    assert np.array_equal(out.i, i)
    assert np.allclose(out.g, y.sum((2, 3), keepdims=True) / 16, atol=1e-6)
    assert out.a.shape == (2, 1, 1, 3) and np.abs(out.a[:, 0, 0].astype(float) - q.mean((1, 2))).max() <= 0.5


def test_run_model_and_run_node(rng):
    x = rng.standard_normal((1, 2, 6, 6)).astype(np.float32)
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    (y,) = backend.run_node(node, [x])
    assert np.allclose(y, pooljit.avg_pool2d(x, 2))
    model = model_of([node], [value("x", [1, 2, 6, 6])], [value("y", [None] * 4)])
    assert np.array_equal(backend.run_model(model, [x])[0], y)


def test_output_shape_is_a_constant_or_an_input():
    x, i = np.array([[[[1, 2], [3, 4]]]], np.float32), np.array([[[[0, 6], [12, 24]]]], np.int64)
    wanted = np.zeros((1, 1, 5, 5), np.float32)
    wanted.ravel()[i.ravel()] = x.ravel()
    for kind in ("initializer", "constant", "input"):
        model = onnx.load(CASES / f"unpool_output_shape_{kind}.onnx")
        model.graph.output[0].CopyFrom(value("y", [None] * 4))  # onnx's checker asks for a rank
        rep = backend.prepare(model)
        inputs = [x, i, np.array([1, 1, 5, 5])][:3 if kind == "input" else 2]
        assert np.array_equal(rep.run(inputs)[0], wanted), kind


def test_later_opsets_than_onnx_knows(rng):
    x = rng.standard_normal((1, 1, 9, 9)).astype(np.float32)
    (y,) = backend.prepare(onnx.load(CASES / "chain19dil.onnx")).run([x])
    dilated = pooljit.avg_pool2d(x, 3, 1, dilation=2)
    assert dilated.shape == (1, 1, 5, 5) and np.array_equal(y, dilated.max((2, 3), keepdims=True))
    x = rng.standard_normal((1, 1, 5, 5)).astype(np.float32)
    (y,) = backend.prepare(onnx.load(CASES / "chain22.onnx")).run([x])
    parts = pooljit.avg_pool2d(x, 2, 2, 1, ceil_mode=True, count_include_pad=False)
    assert parts.shape == (1, 1, 3, 3) and np.allclose(y, parts.mean((2, 3), keepdims=True))


@pytest.mark.parametrize("opset, more", [(7, {"ceil_mode": 0}), (7, {"dilations": [1, 1]}), (99, {})])
def test_attributes_came_with_an_opset(rng, opset, more):
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], **more)
    x = rng.standard_normal((1, 1, 4, 4)).astype(np.float32)
    model = model_of([node], [value("x", [1, 1, 4, 4])], [value("y", [None] * 4)], domains=(("", opset),))
    with pytest.raises(pooljit.Error if opset > 20 else onnx.checker.ValidationError) as caught:
        backend.prepare(model).run([x])
    assert opset < 20 or caught.value.id == "spec.opset"


def test_reductions_are_global_pools(rng):
    x = rng.standard_normal((2, 3, 5, 6)).astype(np.float32)
    for op, axes, keepdims, wanted in [
        ("ReduceMax", [2, 3], 1, x.max((2, 3), keepdims=True)),
        ("ReduceMean", [-1, -2], 0, x.mean((2, 3))),
        ("ReduceMax", [1, 2], 1, x.max((1, 2), keepdims=True)),
        ("ReduceProd", [2, 3], 1, x.prod((2, 3), keepdims=True)),
    ]:
        node = helper.make_node(op, ["x"], ["y"], axes=axes, keepdims=keepdims)
        (y,) = backend.prepare(model_of([node], [value("x", x.shape)], [value("y", [None] * wanted.ndim)])).run([x])
        assert y.shape == wanted.shape and np.allclose(y, wanted, atol=1e-6), (op, axes)
    wrapping = rng.integers(-1000, 1000, (2, 3, 5, 6))
    node = helper.make_node("ReduceProd", ["x"], ["y"], axes=[2, 3], keepdims=0)
    model = model_of([node], [value("x", wrapping.shape, TensorProto.INT64)], [value("y", [None] * 2, TensorProto.INT64)])
    assert np.array_equal(backend.prepare(model).run([wrapping])[0], wrapping.prod((2, 3)))
    node = helper.make_node("ReduceMax", ["x"], ["y"], axes=[3])
    with pytest.raises(pooljit.UnsupportedError, match="over the axes"):
        backend.prepare(model_of([node], [value("x", x.shape)], [value("y", [None] * 4)])).run([x])


def test_a_last_window_in_the_padding():
    x = np.arange(17, dtype=np.float32).reshape(1, 1, 17)
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2], strides=[2], pads=[1, 1], ceil_mode=1)
    for opset, ceil, extent in [(13, {}, 9), (13, {"ceil": "runtime"}, 9), (13, {"ceil": "letter"}, 10), (22, {"ceil": "letter"}, 9)]:
        model = model_of([node], [value("x", x.shape)], [value("y", [None] * 3)], domains=(("", opset),))
        assert backend.run_model(model, [x], **ceil)[0].shape == (1, 1, extent), (opset, ceil)
    with pytest.raises(pooljit.InvalidError, match="python.onnx_ceil"):
        backend.prepare(model, ceil="floor")


def test_refused(rng):
    relu = model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", [1, 1, 4, 4])], [value("y", [None] * 4)])
    assert not backend.is_compatible(relu) and not backend.supports_device("CUDA")
    pool = model_of([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])], [value("x", ["N", 1, 4, 4])],
                    [value("y", [None] * 4)])
    rep, x = backend.prepare(pool), rng.standard_normal((1, 1, 4, 4)).astype(np.float32)
    for call, id_ in [
        (lambda: backend.prepare(relu), "python.onnx"),
        (lambda: backend.prepare(pool, "CUDA"), "python.onnx"),
        (lambda: backend.run_node(helper.make_node("Relu", ["x"], ["y"]), [x]), "python.onnx"),
        (lambda: rep.run([x, x]), "python.onnx_input"),
        (lambda: rep.run([]), "python.onnx_input"),
        (lambda: rep.run({"z": x}), "python.onnx_input"),
        (lambda: rep.run([x[0, 0]]), "python.onnx_input"),
        (lambda: rep.run([x.astype(complex)]), "python.onnx_input"),
        (lambda: rep.run([x[:, :, :1]]), "python.onnx_input"),
    ]:
        with pytest.raises(pooljit.Error) as caught:
            call()
        assert caught.value.id.startswith(id_), caught.value
    with pytest.raises(onnx.checker.ValidationError):
        backend.prepare(onnx.ModelProto())


def test_declared_inputs(rng):
    """Another dtype or shape than the model declares is refused; what it leaves open is free."""
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])
    rep = backend.prepare(model_of([node], [value("x", ["N", 3, 8, None])], [value("y", [None] * 4)]))
    x = rng.standard_normal((2, 3, 8, 9)).astype(np.float32)
    assert rep.run([x])[0].shape == (2, 3, 7, 8) and rep.run([x[:1, :, :, :5]])[0].shape == (1, 3, 7, 4)
    for wrong in (x.astype(np.float64), x[:, :2], x[0], x[:, :, :7]):
        with pytest.raises(pooljit.InvalidError) as caught:
            rep.run([wrong])
        assert caught.value.id == "python.onnx_input"


def test_pools_of_a_whole_model(rng):
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("MaxPool", ["c"], ["p", "i"], name="first", kernel_shape=[2, 2]),
             helper.make_node("Relu", ["p"], ["r"]), helper.make_node("GlobalAveragePool", ["r"], ["y"])]
    model = model_of(nodes, [value("x", ["N", 3, 8, 8]), value("w", [4, 3, 1, 1])], [value("y", [None] * 4)])
    found = pooljit.onnx.pools(model)
    assert {name: (pool.operator, pool.inputs, pool.outputs) for name, pool in found.items()} == {
        "first": ("MaxPool", ("c",), ("p", "i")), "y": ("GlobalAveragePool", ("r",), ("y",))}
    x = rng.standard_normal((1, 4, 8, 8)).astype(np.float32)
    y, i = found["first"](x)
    assert np.array_equal(y, pooljit.max_pool2d(x, 2, 1)) and i.dtype == np.int64
    assert np.allclose(found["y"](y)[0], y.mean((2, 3), keepdims=True), atol=1e-6)
    with pytest.raises(pooljit.InvalidError):
        found["y"](y, y)
