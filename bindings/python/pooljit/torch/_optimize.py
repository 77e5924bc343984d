"""optimize(model): the pooling modules of one model on our kernels, in place, until it is undone."""
import types

import torch
from torch import nn
from torch.nn import functional as F

from pooljit._errors import InvalidError

from ._functions import NAMES, functions

_KINDS = ("MaxPool", "AvgPool", "LPPool", "AdaptiveMaxPool", "AdaptiveAvgPool", "MaxUnpool")


def _call(self, *inputs, **keywords):
    with functions():
        return nn.Module.__call__(self, *inputs, **keywords)


def _make_classes():
    """PyTorch's class -> ours, which runs PyTorch's forward in functions()."""
    classes = {}
    for kind in _KINDS:
        for rank in (1, 2, 3):
            base = getattr(nn, f"{kind}{rank}d", None)
            if base is not None:
                own = type(base.__name__, (base,), {"__call__": _call, "__module__": __name__})
                classes[base] = globals()[base.__name__] = own  # where pickle finds it
    return classes


_CLASSES = _make_classes()
_POOLS = (*_CLASSES, nn.FractionalMaxPool2d, nn.FractionalMaxPool3d)
_WORDS = {*NAMES, *(f"{name}_with_indices" for name in NAMES), *(f"fractional_max_pool{rank}d" for rank in (2, 3))}
_FUNCTIONS = {id(getattr(home, word)): word for home in (F, torch, torch._C._nn) for word in _WORDS if hasattr(home, word)}


def _is_foreign(module_name):
    """Whether code is PyTorch's or Python's, which calls pooling by its modules only."""
    return (module_name or "").split(".")[0] in ("torch", "builtins", "pooljit")


class _Search:
    """Looks for calls of pooling in code: by name, in what it calls, holds or has around it."""

    def __init__(self):
        self.seen = set()

    def in_code(self, code, names):
        for word in (*code.co_names, *(c for c in code.co_consts if isinstance(c, str))):
            if word in _WORDS:
                return word
        for name in code.co_names:
            if found := self.in_value(names.get(name)):
                return found
        inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
        return next(filter(None, (self.in_code(c, names) for c in inner)), None)

    def in_value(self, value):
        if id(value) in _FUNCTIONS:
            return _FUNCTIONS[id(value)]
        if id(value) in self.seen:
            return None
        self.seen.add(id(value))
        if isinstance(value, types.MethodType):
            return self.in_value(value.__func__)
        if isinstance(value, (list, tuple, dict)):
            items = value.values() if isinstance(value, dict) else value
            return next(filter(None, map(self.in_value, items)), None)
        if isinstance(value, (staticmethod, classmethod)) or hasattr(value, "__wrapped__"):
            if found := self.in_value(getattr(value, "__func__", None) or value.__wrapped__):
                return found
        if hasattr(value, "func") and hasattr(value, "keywords"):  # functools.partial
            return self.in_value(value.func)
        if isinstance(value, property):
            return self.in_value(value.fget)
        if not isinstance(value, types.FunctionType) or _is_foreign(value.__module__):
            return None
        around = (cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType())
        return self.in_code(value.__code__, value.__globals__) or next(filter(None, map(self.in_value, around)), None)

    def in_module(self, module):
        """The name of a function of pooling that the module's own code calls, or None."""
        for cls in type(module).__mro__:
            if not _is_foreign(cls.__module__):
                for member in vars(cls).values():
                    if found := self.in_value(member):
                        return found
        own = (value for name, value in vars(module).items() if name not in ("_modules", "_parameters", "_buffers"))
        return next(filter(None, map(self.in_value, own)), None)


def _why_left(module):
    """Why a module that pools is PyTorch's still; None of one that does not pool."""
    kind = type(module).__name__
    if isinstance(module, torch.jit.ScriptModule):
        words = sorted(word for word in _WORDS if f"aten::{word}(" in str(getattr(module, "inlined_graph", "")))
        return f"it is a script that calls {words[0]}: functions() reaches it" if words else None
    if isinstance(module, _POOLS):
        if type(module) in _POOLS:
            return f"{kind} is PyTorch's in any case"
        return f"{kind} is a class derived from PyTorch's: functions() reaches it"
    word = _Search().in_module(module)
    return f"its code calls {word}: functions() reaches it" if word else None


class Optimized:
    """What optimize() did to a model.

    Attributes:
        replaced: names of the modules that are ours now.
        left: {name: why} of modules that pool and are PyTorch's still.

    undo() makes the model what it was; so does leaving a `with` block. Calling the object is undo().
    """

    def __init__(self):
        self.replaced, self.left, self._undo = [], {}, []

    def undo(self):
        """Makes the model what it was. A second time does nothing."""
        while self._undo:
            module, theirs = self._undo.pop()
            module.__class__ = theirs

    __call__ = undo

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.undo()

    def __repr__(self):
        return f"Optimized(replaced={self.replaced}, left={self.left})"


def optimize(model):
    """Puts the pooling modules of a model on our kernels, in place: nn.MaxPool2d and its like.

    They keep everything but their class: names, hooks, state_dict and PyTorch's own forward stay. No other module's code
    is touched: calls of torch.nn.functional's pooling are listed in `left`, and run on our kernels in functions().

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
    if not isinstance(model, nn.Module):
        raise InvalidError("python.argument", f"a {type(model).__name__} to optimize", "a torch.nn.Module")
    done = Optimized()
    for name, module in model.named_modules():
        theirs = type(module)
        if theirs in _CLASSES:
            module.__class__ = _CLASSES[theirs]
            done._undo.append((module, theirs))
            done.replaced.append(name)
        elif theirs not in _CLASSES.values() and (why := _why_left(module)):
            done.left[name] = why
    return done
