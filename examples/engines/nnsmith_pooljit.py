"""pooljit as a back end of NNSmith (https://github.com/ise-uiuc/nnsmith): a factory, beside NNSmith's own.

    from nnsmith_pooljit import PooljitFactory
    factory = PooljitFactory(target="cpu", optmax=True)
    result = factory.make_backend(model)({"i0": array})    # an ONNXModel of NNSmith's

Pooling nodes run on pooljit, all others on ONNX's reference implementation (onnx 1.13 or newer), so that a difference
to another back end in a model with pooling is looked for at the pooling first. docs/fuzzing.md.
"""
import onnx
from multipledispatch import dispatch
from nnsmith.backends import BackendFactory
from nnsmith.materialize.onnx import ONNXModel

import pooljit.onnx


POOLS = {"MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"}


class PooljitFactory(BackendFactory):
    def __init__(self, target="cpu", optmax=True, **kwargs):
        super().__init__(target, optmax, **kwargs)
        if target != "cpu":
            raise ValueError(f"Unknown target `{target}`. Only `cpu` is supported.")

    @property
    def system_name(self):
        return "pooljit"

    @property
    def version(self):
        return pooljit.__version__

    @property
    def import_libs(self):
        return ["import pooljit.onnx"]

    @dispatch(ONNXModel)
    def make_backend(self, model):
        graph = model.native_model.graph
        steps = [_step(node, model.native_model) for node in graph.node]
        constants = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
        names = list(model.output_like)

        def run(inputs):
            values = {"": None, **constants, **inputs}
            for node, step in zip(graph.node, steps):
                values.update(zip(node.output, step([values[name] for name in node.input])))
            return {name: values[name] for name in names}

        return run


def _step(node, model):
    """What makes a node's outputs of its inputs."""
    if node.op_type in POOLS and node.domain in ("", "ai.onnx"):
        opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=1)
        pool = pooljit.onnx.Pool(node, opset, {})
        return lambda inputs: pool(*(x for x in inputs if x is not None))
    from onnx.reference import ReferenceEvaluator

    session = ReferenceEvaluator(node)
    return lambda inputs: session.run(None, {name: x for name, x in zip(node.input, inputs) if name})
