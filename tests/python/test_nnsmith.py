"""The back end for NNSmith (examples/engines/nnsmith_pooljit.py), with what it takes of NNSmith in a few lines: NNSmith is no
package of Debian's. Its dispatch by a model's class is multipledispatch's there, and none here."""
import pathlib
import runpy
import sys
import types

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

FILE = pathlib.Path(__file__).parents[2] / "examples/engines/nnsmith_pooljit.py"


class BackendFactory:
    def __init__(self, target, optmax, **kwargs):
        self.target, self.optmax, self.kwargs = target, optmax, kwargs


class ONNXModel:
    """As NNSmith's: the model, and its outputs by name."""
    def __init__(self, native_model):
        self.native_model = native_model
        self.output_like = {output.name: None for output in native_model.graph.output}


MODULES = {
    "nnsmith": {},
    "nnsmith.backends": {"BackendFactory": BackendFactory},
    "nnsmith.materialize": {},
    "nnsmith.materialize.onnx": {"ONNXModel": ONNXModel},
    "multipledispatch": {"dispatch": lambda *classes: lambda function: function},
}


@pytest.fixture
def factory_class(monkeypatch):
    for name, members in MODULES.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    return runpy.run_path(str(FILE))["PooljitFactory"]


def model_of(*nodes):
    tensors = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("x", "y", "z")]
    graph = onnx.helper.make_graph(nodes, "pools", tensors[:1], tensors[1:])
    return ONNXModel(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]))


def test_a_model_of_two_pools(factory_class):
    factory = factory_class()
    assert (factory.system_name, factory.target) == ("pooljit", "cpu") and factory.version
    run = factory.make_backend(model_of(
        onnx.helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
        onnx.helper.make_node("GlobalAveragePool", ["y"], ["z"])))
    x = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
    made = run({"x": x})
    most = x.reshape(1, 2, 2, 2, 2, 2).max((3, 5))
    assert list(made) == ["y", "z"]
    np.testing.assert_array_equal(made["y"], most)
    np.testing.assert_array_equal(made["z"], most.mean((2, 3), keepdims=True))


def test_no_other_target(factory_class):
    with pytest.raises(ValueError, match="cuda"):
        factory_class(target="cuda")
