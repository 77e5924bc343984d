"""optimize(model): the pooling of one model on our kernels, in place, until it is undone."""
import dis
import inspect
import types

import torch
from torch import fx, nn
from torch.nn import functional as F

from . import _functional as ours

_NAMES = ["max_pool", "avg_pool", "lp_pool", "adaptive_max_pool", "adaptive_avg_pool", "max_unpool"]
_MODULES = {"max_pool": "MaxPool", "avg_pool": "AvgPool", "lp_pool": "LPPool", "adaptive_max_pool": "AdaptiveMaxPool",
            "adaptive_avg_pool": "AdaptiveAvgPool", "max_unpool": "MaxUnpool"}


def _forwards():
    """How each module of PyTorch's calls its function."""
    def max_pool(function):
        return lambda m, x: function(x, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode, m.return_indices)

    def avg_pool(function):
        return lambda m, x: function(x, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad,
                                     getattr(m, "divisor_override", None))

    def lp_pool(function):
        return lambda m, x: function(x, float(m.norm_type), m.kernel_size, m.stride, m.ceil_mode)

    def adaptive_max_pool(function):
        return lambda m, x: function(x, m.output_size, m.return_indices)

    def adaptive_avg_pool(function):
        return lambda m, x: function(x, m.output_size)

    def max_unpool(function):
        return lambda m, x, indices, output_size=None: function(x, indices, m.kernel_size, m.stride, m.padding, output_size)

    return locals()


def _make_classes():
    """PyTorch's class -> ours, which differs in forward alone."""
    classes = {}
    for name, make in _forwards().items():
        for rank in (1, 2, 3):
            base = getattr(nn, f"{_MODULES[name]}{rank}d", None)
            if base is None:
                continue
            own = type(base.__name__, (base,), {"forward": make(getattr(ours, f"{name}{rank}d")), "__module__": __name__})
            classes[base] = globals()[base.__name__] = own  # where pickle finds it
    return classes


_CLASSES = _make_classes()


def _make_calls():
    """What a traced call calls -> ours."""
    calls = {}
    for name in _NAMES:
        for rank in (1, 2, 3):
            own = getattr(ours, f"{name}{rank}d")
            for home in (F, torch, torch._C._nn):
                theirs = getattr(home, f"{name}{rank}d", None)
                if theirs is not None and not (home is torch._C._nn and name == "adaptive_max_pool"):
                    calls[theirs] = own
    # torch.max_pool2d and the like give no indices, and F.max_pool2d is one of two functions.
    for rank in (1, 2, 3):
        for name in ("max_pool", "adaptive_max_pool"):
            for kind in (f"_{name}{rank}d", f"{name}{rank}d_with_indices"):
                theirs = getattr(F, kind, None)
                if theirs is not None and kind.startswith("_"):
                    calls[theirs] = getattr(ours, f"{name}{rank}d")
    # torch.adaptive_max_pool1d gives both.
    calls.pop(getattr(torch, "adaptive_max_pool1d"), None)
    return calls


_CALLS = _make_calls()
_CALLED = {f"{name}{rank}d" for name in _NAMES for rank in (1, 2, 3)}


class _Unpackable(fx.Proxy):
    """`y, i = ...` of a traced value: fx 1.13 looks for it where Python before 3.11 had it."""

    def __iter__(self):
        frame = inspect.currentframe().f_back
        for step in dis.get_instructions(frame.f_code):
            if step.offset == frame.f_lasti and step.opname == "UNPACK_SEQUENCE":
                return (self[i] for i in range(step.argval))
        return self.tracer.iter(self)


class _OwnCodeTracer(fx.Tracer):
    """Traces a module's own code alone: whatever it calls by name is a leaf."""

    def is_leaf_module(self, module, name):
        return True

    def proxy(self, node):
        return _Unpackable(node, self)


def _mentions_pooling(module):
    """Whether the code of its class, as far as it is not PyTorch's, calls a pooling function."""
    for cls in type(module).__mro__:
        if cls.__module__.split(".")[0] in ("torch", "builtins", "pooljit"):
            continue
        for member in vars(cls).values():
            code = getattr(member, "__code__", None)
            if code and _CALLED & set(code.co_names):
                return True
    return False


def _traced(module):
    """The module's own forward with our functions, as a function; None if there is no pooling in it."""
    graph = _OwnCodeTracer().trace(module)
    replaced = False
    for node in graph.nodes:
        if node.op == "call_function" and node.target in _CALLS:
            node.target = _CALLS[node.target]
            replaced = True
    if not replaced:
        return None
    graph.lint()
    code = graph.python_code("self")
    names = dict(code.globals)
    exec(code.src, names)  # what fx's GraphModule does
    return names["forward"]


class _Forwards:
    """A module's own forward, traced in training and in evaluation: fx follows one side of `if self.training`."""

    def __init__(self, module):
        was = module.training
        try:
            self.of = {}
            for training in (True, False):
                module.training = training
                self.of[training] = _traced(module)
        finally:
            module.training = was

    def is_any(self):
        return any(self.of.values())


def _patched(forwards, theirs):
    """The forward to put into a module."""
    def forward(self, *inputs, **keywords):
        chosen = forwards.of[self.training] or theirs
        return chosen(self, *inputs, **keywords)
    return forward


class Optimized:
    """What optimize() did to a model.

    Attributes:
        replaced: names of the modules that are ours now, and of those whose own code calls our functions.
        left: {name: why} of modules that pool and are PyTorch's still.

    undo() makes the model what it was; so does leaving a `with` block. Calling the object is undo().
    """

    def __init__(self):
        self.replaced, self.left, self._undo = [], {}, []

    def undo(self):
        """Makes the model what it was. A second time does nothing."""
        while self._undo:
            self._undo.pop()()

    __call__ = undo

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.undo()

    def __repr__(self):
        return f"Optimized(replaced={self.replaced}, left={self.left})"

    def _take_class(self, name, module):
        theirs = type(module)
        module.__class__ = _CLASSES[theirs]
        self._undo.append(lambda: setattr(module, "__class__", theirs))
        self.replaced.append(name)

    def _take_calls(self, name, module):
        try:
            forwards = _Forwards(module)
        except Exception as why:  # whatever the module's code does with fx's stand-ins
            self.left[name] = f"torch.fx does not trace it: {type(why).__name__}: {why}".splitlines()[0]
            return
        if not forwards.is_any():
            return
        if "forward" in vars(module):
            self.left[name] = "it has a forward of its own"
            return
        module.forward = types.MethodType(_patched(forwards, type(module).forward), module)
        self._undo.append(lambda: vars(module).pop("forward", None))
        self.replaced.append(name)


def optimize(model):
    """Puts the pooling of a model on our kernels, in place: modules, and calls in the code of modules.

    Pooling modules keep everything but their class: names, hooks and state_dict stay. Calls of
    torch.nn.functional's pooling in a module's own code are replaced where torch.fx traces that code, in training
    and in evaluation; that freezes what else the code decides by attributes. The rest is listed in `left`.

    Args:
        model: a torch.nn.Module. deepcopy works as before; save state_dict(), or undo() before saving the model.

    Returns:
        Optimized: what was replaced; undo() takes it back.

    >>> import torch, pooljit.torch
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.MaxPool2d(2))
    >>> undo = pooljit.torch.optimize(model)
    >>> undo.replaced
    ['1']
    >>> undo()
    """
    done = Optimized()
    for name, module in model.named_modules():
        if type(module) in _CLASSES:
            done._take_class(name, module)
        elif isinstance(module, tuple(_CLASSES)) and type(module) not in _CLASSES.values():
            done.left[name] = f"{type(module).__name__} is a class derived from PyTorch's"
        elif _mentions_pooling(module):
            done._take_calls(name, module)
    return done
