"""pooljit for PyTorch: its pooling on our kernels, on the CPU.

    import pooljit.torch
    y = pooljit.torch.max_pool2d(x, 3, stride=2, padding=1)     # torch.nn.functional's function on our kernels
    with pooljit.torch.functions():                             # whatever pools in there
        y = model(x)
    undo = pooljit.torch.optimize(model)                        # the model's pooling modules, in place; undo() takes it back
    pooljit.torch.enable()                                      # PyTorch's own operators, for every model

All of them replace PyTorch's operators for the CPU, below autograd: gradients, forward-mode AD, tracing, scripting and
transforms are PyTorch's. What our kernels do not do, PyTorch does: other devices, sparse and quantized tensors, arguments
that PyTorch would refuse. Maxima and indices are PyTorch's; averages are within the bound of docs/semantics.md. Kernels
run on PyTorch's own threads (torch.set_num_threads). Tried with PyTorch 1.13.1.
"""
from ._functions import *  # noqa: F401,F403
from ._functions import __all__ as _function_names
from ._optimize import Optimized, optimize

__all__ = ["Optimized", "optimize", *_function_names]
