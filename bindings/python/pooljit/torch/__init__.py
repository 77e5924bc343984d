"""pooljit for PyTorch: its pooling on our kernels, on the CPU.

    import pooljit.torch
    y = pooljit.torch.max_pool2d(x, 3, stride=2, padding=1)     # torch.nn.functional's signature, with autograd
    undo = pooljit.torch.optimize(model)                        # the model's pooling, in place; undo() takes it back
    pooljit.torch.enable()                                      # PyTorch's own operators, for every model

What our kernels do not do, PyTorch does: other devices, sparse and quantized tensors, arguments that PyTorch would
refuse. Maxima and indices are PyTorch's; averages are within the bound of docs/semantics.md. Kernels run on
PyTorch's own threads (torch.set_num_threads). Tried with PyTorch 1.13.1.
"""
from ._enable import disable, enable, is_enabled
from ._functional import *  # noqa: F401,F403
from ._functional import __all__ as _function_names
from ._optimize import Optimized, optimize

__all__ = ["Optimized", "disable", "enable", "is_enabled", "optimize", *_function_names]
