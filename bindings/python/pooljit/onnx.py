"""pooljit as a backend of ONNX: models whose nodes are pooling.

    import onnx, pooljit.onnx
    rep = pooljit.onnx.prepare(onnx.load("model.onnx"))
    outputs = rep.run([x])

The interface is onnx.backend.base.Backend's: prepare, run_model, run_node, supports_device, is_compatible. Dims that
the model leaves open are taken from the input of each run, as is MaxUnpool's output_shape. Operators: MaxPool,
AveragePool, LpPool, GlobalMaxPool, GlobalAveragePool, GlobalLpPool, MaxUnpool, ReduceMax, ReduceMean and ReduceProd over
all spatial dims, Constant, Identity, and ONNX Runtime's QLinearAveragePool and QLinearGlobalAveragePool.

ceil="letter", an argument of prepare, run_model and run_node, keeps a last window that begins in the padding below
opset 22, as ONNX's text says. The default, "runtime", drops it in every opset, as ONNX Runtime does.
"""
import collections

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.backend.base import Backend, BackendRep

import pooljit
from pooljit import _words as words
from pooljit._errors import InvalidError, UnsupportedError

__all__ = ["Pool", "PooljitBackend", "PooljitRep", "is_compatible", "pools", "prepare", "run_model", "run_node", "supports", "supports_device"]

_FORWARD = {"MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"}
_QLINEAR = {"QLinearAveragePool", "QLinearGlobalAveragePool"}
_REDUCTIONS = {"ReduceMax": "onnx.GlobalMaxPool", "ReduceMean": "onnx.GlobalAveragePool", "ReduceProd": "global_prod_pool{rank}d"}
_KNOWN = _FORWARD | _QLINEAR | set(_REDUCTIONS) | {"MaxUnpool", "Constant", "Identity"}
_CEIL = ("runtime", "letter")
_POOLS = _FORWARD | _QLINEAR | set(_REDUCTIONS) | {"MaxUnpool"}


_MOST_KERNELS = 64  # that a node keeps; all are in the library's cache


def _text(value):
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    return repr(value) if isinstance(value, float) else str(value)


def _attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def _call(op, shape, dtype, arguments):
    """An operator for an input of this shape."""
    listed = "".join(f", {name}={_text(value)}" for name, value in arguments.items())
    return f"{op}({dtype}[{','.join(map(str, shape))}]{listed})"


def _spec(node, opset, ceil, shape, dtype, more):
    arguments = {name: value for name, value in _attributes(node).items() if value not in (b"NOTSET", "NOTSET")}
    arguments.update(more)
    arguments["opset"] = opset if node.domain in ("", "ai.onnx") else 1  # ONNX Runtime's own set has one version
    if arguments.get("ceil_mode"):
        arguments["ceil"] = ceil
    return _call("onnx." + node.op_type, shape, dtype, arguments)


class _Pool:
    """A node with one input and maybe Indices."""

    def __init__(self, node, opset, ceil):
        self.node, self.opset, self.ceil = node, opset, ceil
        self.more = {"return_indices": 1} if len(node.output) > 1 and node.output[1] else {}
        self.kernels = {}  # by the input's shape and dtype

    def __call__(self, x):
        kernel = self.kernels.get((x.shape, x.dtype))
        if kernel is None:
            kernel = pooljit.compile(_spec(self.node, self.opset, self.ceil, x.shape, x.dtype, self.more))
            if len(self.kernels) >= _MOST_KERNELS:
                self.kernels.clear()
            self.kernels[x.shape, x.dtype] = kernel
        result = kernel(x if x.flags.c_contiguous else np.ascontiguousarray(x))
        return result if isinstance(result, tuple) else (result,)


class _Unpool(_Pool):
    """X, I and maybe output_shape."""

    def __call__(self, x, indices, output_shape=None):
        more = {} if output_shape is None else {"output_shape": [int(n) for n in output_shape]}
        kernel = pooljit.compile(_spec(self.node, self.opset, self.ceil, x.shape, x.dtype, more))
        return (kernel(np.ascontiguousarray(x), np.ascontiguousarray(indices)),)


class _Quantized(_Pool):
    """X, x_scale, x_zero_point, y_scale, y_zero_point; channels_last means N, spatial, C."""

    def __call__(self, x, x_scale, x_zero_point, y_scale, y_zero_point=None):
        more = {"x_scale": float(np.float32(x_scale)), "y_scale": float(np.float32(y_scale)),
                "x_zero_point": int(x_zero_point if x_zero_point is not None else 0),
                "y_zero_point": int(y_zero_point if y_zero_point is not None else 0)}
        kernel = pooljit.compile(_spec(self.node, self.opset, self.ceil, x.shape, x.dtype, more))
        x = np.ascontiguousarray(x)
        if any(a.name == "channels_last" and a.i for a in self.node.attribute):
            return (np.moveaxis(kernel(np.moveaxis(x, -1, 1)), 1, -1),)
        return (kernel(x),)


class _Reduction(_Pool):
    """data and, since opset 18, axes: those of all spatial dims, of (N, C, spatial...) or (N, spatial..., C)."""

    def __call__(self, x, axes=None):
        attributes = _attributes(self.node)
        axes = attributes.get("axes", []) if axes is None else np.asarray(axes).tolist()
        reduced, rank = {axis % x.ndim for axis in axes if -x.ndim <= axis < x.ndim}, x.ndim
        channels = {tuple(range(2, rank)): 1, tuple(range(1, rank - 1)): rank - 1}.get(tuple(sorted(reduced)))
        if rank < 3 or channels is None or len(reduced) != len(axes):
            raise UnsupportedError("python.onnx", f"{self.node.op_type} over the axes {axes} of {rank} dims", "all spatial dims")
        x = np.ascontiguousarray(np.moveaxis(x, channels, 1))
        op = _REDUCTIONS[self.node.op_type].format(rank=rank - 2)
        y = pooljit.compile(_call(op, x.shape, x.dtype, {}))(x)
        return (np.moveaxis(y, 1, channels) if attributes.get("keepdims", 1) else y.reshape(y.shape[:2]),)


def _constant(node):
    """The value of a Constant node."""
    for name, value in _attributes(node).items():
        if name == "value":
            return numpy_helper.to_array(value)
        if name in ("value_int", "value_ints", "value_float", "value_floats"):
            return np.array(value, np.int64 if "int" in name else np.float32)
    raise UnsupportedError("python.onnx", f"the Constant {node.output[0]} is no number or tensor", "value=...")


def _step(node, opset, ceil):
    if node.op_type == "Identity":
        return lambda x: (x,)
    if node.op_type == "Constant":
        value = _constant(node)
        return lambda: (value,)
    kind = {"MaxUnpool": _Unpool}.get(node.op_type, _Quantized if node.op_type in _QLINEAR else
                                      _Reduction if node.op_type in _REDUCTIONS else _Pool)
    return kind(node, opset, ceil)


def _checked(ceil):
    if not isinstance(ceil, str) or ceil not in _CEIL:
        raise InvalidError("python.onnx_ceil", f"ceil={words.shown(ceil)}", " or ".join(_CEIL))
    return ceil


def _array(name, value):
    try:
        return np.asarray(value)
    except Exception:  # lists of lists of different lengths; an object's own method may do anything
        words.refuse(f"no array for {name}", value, "a numpy array")


def _arrays(inputs):
    if not isinstance(inputs, (list, tuple)):
        words.refuse("the inputs", inputs, "a list of arrays")
    return inputs


def _opset(model):
    if not isinstance(model, onnx.ModelProto):
        words.refuse("a model", model, "an onnx.ModelProto: onnx.load(...)")
    return max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=1)


class Pool:
    """A pooling node of a model, ready to run: pool(x, ...) gives a tuple of its outputs.

    Attributes:
        name: the node's, or that of its first output.
        operator: "MaxPool".
        inputs, outputs: the names of its tensors in the model.
    """

    def __init__(self, node, opset, constants, ceil=_CEIL[0]):
        self.name, self.operator = node.name or node.output[0], node.op_type
        self.inputs, self.outputs = tuple(node.input), tuple(node.output)
        self._step, self._constants = _step(node, opset, ceil), constants

    def __call__(self, *arrays):
        open_ones = [name for name in self.inputs if name and name not in self._constants]
        if len(arrays) != len(open_ones):
            raise InvalidError("python.onnx_input", f"{self.name} got {len(arrays)} arrays", f"one for each of {', '.join(open_ones)}")
        values = {**self._constants, **dict(zip(open_ones, map(_array, open_ones, arrays)))}
        return self._step(*(values[name] if name else None for name in self.inputs))

    def __repr__(self):
        return f"<{self.operator} {self.name}>"


def pools(model, ceil=_CEIL[0]):
    """The pooling nodes of a whole model, whatever else is in it: {name: Pool}.

    >>> import numpy, pooljit.onnx
    >>> from onnx import helper, TensorProto
    >>> value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 1, "H", "W"])
    >>> nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("MaxPool", ["r"], ["y"], name="p", kernel_shape=[2, 2])]
    >>> found = pooljit.onnx.pools(helper.make_model(helper.make_graph(nodes, "g", [value("x")], [value("y")])))
    >>> found
    {'p': <MaxPool p>}
    >>> found["p"](numpy.arange(4, dtype=numpy.float32).reshape(1, 1, 2, 2))[0].tolist()
    [[[[3.0]]]]
    """
    opset = _opset(model)
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    constants.update({node.output[0]: _constant(node) for node in model.graph.node if node.op_type == "Constant"})
    others = supports(model)
    made = [Pool(node, opset, {name: constants[name] for name in node.input if name in constants}, _checked(ceil))
            for node in model.graph.node if node.op_type in _POOLS and (node.name or node.output[0]) not in others]
    return {pool.name: pool for pool in made}


def supports(model):
    """The reasons why a model cannot be run: {node: why}; empty if it can.

    >>> import pooljit.onnx
    >>> from onnx import helper, TensorProto
    >>> value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3, 8, 8])
    >>> node = helper.make_node("Relu", ["x"], ["y"], name="act")
    >>> pooljit.onnx.supports(helper.make_model(helper.make_graph([node], "g", [value("x")], [value("y")])))
    {'act': 'Relu is no pooling'}
    """
    reasons = {}
    _opset(model)  # whether it is one
    for node in model.graph.node:
        domains = ("com.microsoft",) if node.op_type in _QLINEAR else ("", "ai.onnx")
        if node.op_type not in _KNOWN or node.domain not in domains:
            reasons[node.name or node.output[0]] = f"{node.op_type} is no pooling"
    return reasons


def _declared(tensor):
    """(dtype, dims) of an input, None for what the model leaves open."""
    dtype = helper.mapping.TENSOR_TYPE_TO_NP_TYPE.get(tensor.elem_type) if hasattr(helper, "mapping") else None
    if tensor.elem_type == onnx.TensorProto.BFLOAT16:
        dtype = None  # numpy has several
    dims = tuple(d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim) if tensor.HasField("shape") else None
    return dtype, dims


class PooljitRep(BackendRep):
    """A model that is ready: run(inputs) gives its outputs. May be run by many threads at once."""

    def __init__(self, model, ceil=_CEIL[0]):
        opset, graph = _opset(model), model.graph
        self._constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self._inputs = [i.name for i in graph.input if i.name not in self._constants]
        self._outputs = [o.name for o in graph.output]
        self._make_outputs = collections.namedtuple("Outputs", self._outputs, rename=True)
        self._right = set()  # inputs that were checked: (name, shape, dtype)
        self._declared = {i.name: _declared(i.type.tensor_type) for i in graph.input if i.name in self._inputs}
        self._steps = [(_step(node, opset, _checked(ceil)), list(node.input), list(node.output)) for node in graph.node]

    def run(self, inputs, **kwargs):
        """Runs the model.

        Args:
            inputs: an array for each input without an initializer, in order; or {name: array}.

        Returns:
            a tuple of the outputs, which also has their names.

        Raises:
            InvalidError: "python.onnx_input" (also of another dtype or shape than the model declares), or what
                pooljit.compile and the kernels raise.
        """
        if isinstance(inputs, dict):
            if inputs.keys() != self._declared.keys():
                raise InvalidError("python.onnx_input", f"the inputs {', '.join(map(str, inputs))} were given",
                                   f"one for each of {', '.join(self._inputs)}")
            inputs = [inputs[name] for name in self._inputs]
        elif isinstance(inputs, np.ndarray):
            inputs = [inputs]
        if len(_arrays(inputs)) != len(self._inputs):
            raise InvalidError("python.onnx_input", f"{len(inputs)} inputs were given", f"one for each of {', '.join(self._inputs)}")
        values = dict(self._constants)
        for name, value in zip(self._inputs, inputs):
            values[name] = value = _array(name, value)
            form = name, value.shape, value.dtype
            if form not in self._right:
                self._check(*form)
                if len(self._right) < _MOST_KERNELS:
                    self._right.add(form)
        for step, names, outputs in self._steps:
            results = step(*[values[name] if name else None for name in names])
            values.update(zip(outputs, results))
        return self._make_outputs(*[values[name] for name in self._outputs])

    def _check(self, name, shape, dtype):
        """Refuses what the model does not declare."""
        declared, dims = self._declared[name]
        if declared is not None and dtype != declared:
            raise InvalidError("python.onnx_input", f"{name} is {dtype}, the model declares {declared}", f"{name}.astype(...)")
        if dims is not None and (len(shape) != len(dims) or any(n not in (None, have) for n, have in zip(dims, shape))):
            wanted = ",".join("?" if n is None else str(n) for n in dims)
            raise InvalidError("python.onnx_input", f"{name} has the shape {list(shape)}, the model declares [{wanted}]",
                               "? stands for any extent")


class PooljitBackend(Backend):
    """ONNX's backend interface; the functions of this module are its methods."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        """Whether prepare(model) would do."""
        return cls.supports_device(device) and not supports(model)

    @classmethod
    def prepare(cls, model, device="CPU", ceil=_CEIL[0], **kwargs):
        """Makes a model ready to run. Kernels are compiled when the first input shows its shape.

        Args:
            model: an onnx.ModelProto.
            device: "CPU".
            ceil: "runtime" or "letter".

        Raises:
            UnsupportedError: "python.onnx" for a node that is no pooling, or another device.
            InvalidError: "python.onnx_ceil".
            onnx.checker.ValidationError: the model is none.

        >>> import numpy, pooljit.onnx
        >>> from onnx import helper, TensorProto
        >>> value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 1, "H", "W"])
        >>> node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])
        >>> rep = pooljit.onnx.prepare(helper.make_model(helper.make_graph([node], "g", [value("x")], [value("y")])))
        >>> rep.run([numpy.arange(9, dtype=numpy.float32).reshape(1, 1, 3, 3)])[0].tolist()
        [[[[4.0, 5.0], [7.0, 8.0]]]]
        """
        if not cls.supports_device(device):
            raise UnsupportedError("python.onnx", f"the device {words.shown(device)}", "CPU")
        if _opset(model) <= onnx.defs.onnx_opset_version():  # else onnx refuses attributes that came later
            onnx.checker.check_model(model)
        for node, why in supports(model).items():
            raise UnsupportedError("python.onnx", f"node {node}: {why}", ", ".join(sorted(_KNOWN)))
        return PooljitRep(model, ceil)

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        """prepare(model, device).run(inputs), for a single run."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, opset_version=None, ceil=_CEIL[0], **kwargs):
        """Runs one node: a tuple of its outputs. opset_version: by default the newest that onnx has.

        Raises:
            onnx.checker.ValidationError: the opset has no such node. Others as prepare() and run().
        """
        if not isinstance(node, onnx.NodeProto):
            words.refuse("a node", node, "an onnx.NodeProto")
        newest = onnx.defs.onnx_opset_version()
        opset = newest if opset_version is None else words.integer("opset_version", opset_version, 1, 2**31 - 1)
        if node.op_type not in _KNOWN or not cls.supports_device(device):
            raise UnsupportedError("python.onnx", f"{node.op_type} on {words.shown(device)}", ", ".join(sorted(_KNOWN)))
        if opset <= newest:
            super().run_node(node, inputs, device, outputs_info, opset_version=opset)
        if len(_arrays(inputs)) != len(node.input):
            raise InvalidError("python.onnx_input", f"{len(inputs)} inputs were given", f"one for each of {', '.join(node.input)}")
        given = dict(zip(node.input, map(_array, node.input, inputs)))
        return tuple(_step(node, opset, _checked(ceil))(*(given.get(name) for name in node.input)))

    @classmethod
    def supports_device(cls, device):
        """Whether it is the CPU: "CPU", "CPU:0"."""
        return isinstance(device, str) and device.split(":")[0] == "CPU"


is_compatible = PooljitBackend.is_compatible
prepare = PooljitBackend.prepare
run_model = PooljitBackend.run_model
run_node = PooljitBackend.run_node
supports_device = PooljitBackend.supports_device
