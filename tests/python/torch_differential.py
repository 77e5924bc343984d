#!/usr/bin/python3
"""PyTorch's pooling operators on our kernels beside PyTorch's own: values, indices, memory formats, gradients (of
gradients that lie in any way) and their gradients, of random calls in every memory format.

    PYTHONPATH=build/python tests/python/torch_differential.py [--calls 5000] [--seed 1] [--way enable|functions|optimize]

Prints the first calls that differ, and ends with 1 then.
"""
import argparse
import collections
import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

import pooljit.torch as pt

MODULES = {"max_pool": "MaxPool", "avg_pool": "AvgPool", "lp_pool": "LPPool", "adaptive_max_pool": "AdaptiveMaxPool",
           "adaptive_avg_pool": "AdaptiveAvgPool", "max_unpool": "MaxUnpool"}
KINDS = list(MODULES)
LAST = {1: None, 2: torch.channels_last, 3: torch.channels_last_3d}
EPSILON = {torch.float32: 2.0**-23, torch.float64: 2.0**-52, torch.bfloat16: 2.0**-7}
Call = collections.namedtuple("Call", "name arguments keywords shape dtype layout gradient_layout seed")


class Draw:
    """Random calls of a seed."""

    def __init__(self, seed):
        self.random = torch.Generator().manual_seed(seed)

    def number(self, low, high):
        return int(torch.randint(low, high + 1, (1,), generator=self.random))

    def one_of(self, values):
        return values[self.number(0, len(values) - 1)]

    def per_dim(self, rank, low, high):
        if rank == 1 or self.number(0, 2):
            return self.number(low, high)
        return tuple(self.number(low, high) for _ in range(rank))

    def windowed(self, kind, rank):
        kernel = self.per_dim(rank, 1, 4)
        keywords = {"stride": self.one_of([None, self.per_dim(rank, 1, 4)]), "ceil_mode": bool(self.number(0, 1))}
        if kind == "max_unpool":
            return (kernel,), {"stride": keywords["stride"], "padding": self.number(0, 1)}
        if kind == "lp_pool":
            return (self.one_of([1, 2, 3, 2.5]), kernel), keywords
        least = kernel if isinstance(kernel, int) else min(kernel)
        keywords["padding"] = self.number(0, (least + 1) // 2) if self.number(0, 1) else 0  # more than a half: refused
        if kind == "max_pool":
            keywords.update(dilation=self.per_dim(rank, 1, 2), return_indices=bool(self.number(0, 1)))
        else:
            keywords["count_include_pad"] = bool(self.number(0, 1))
            if rank > 1 and not self.number(0, 3):
                keywords["divisor_override"] = self.number(1, 9)
        return (kernel,), keywords

    def call(self):
        rank, kind = self.one_of([1, 2, 2, 3]), self.one_of(KINDS)
        if not hasattr(F, f"{kind}{rank}d"):
            rank = 2
        if kind.startswith("adaptive"):
            size = self.one_of([1, self.number(1, 6), tuple(self.number(1, 6) for _ in range(rank))])
            keywords = {"return_indices": bool(self.number(0, 1))} if "max" in kind else {}
            arguments = (size,)
        else:
            arguments, keywords = self.windowed(kind, rank)
        channels = self.one_of([1, 2, 3, 5, 8, 17])
        shape = (channels, *(self.number(4, 13 if rank < 3 else 8) for _ in range(rank)))
        if self.number(0, 5):
            shape = (self.number(1, 3), *shape)
        layouts = ["contiguous", "last", "slice", "transposed", "expanded", "offset"]
        dtypes = [torch.float32, torch.float32, torch.float64]
        # Which PyTorch 1.13 has not in 3-D, and does not unpool.
        dtype = self.one_of(dtypes + [torch.bfloat16] * (rank < 3 and kind != "max_unpool"))
        return Call(f"{kind}{rank}d", arguments, keywords, shape, dtype, self.one_of(layouts), self.one_of(layouts),
                    self.number(0, 10**6))


def laid_out(values, layout, rank):
    """A tensor of these values that lies in memory as the layout says."""
    if layout == "last" and LAST[rank] and values.dim() == rank + 2:
        return values.contiguous(memory_format=LAST[rank])
    if layout == "slice":
        memory = torch.zeros(*values.shape[:-1], 2 * values.shape[-1] + 1, dtype=values.dtype)
        memory[..., 1::2] = values
        return memory[..., 1::2]
    if layout == "transposed":
        return values.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "expanded":
        return values.select(-1, 0).unsqueeze(-1).expand(values.shape)
    if layout == "offset":
        memory = torch.zeros(values.numel() + 3, dtype=values.dtype)
        return memory[3:].view(values.shape).copy_(values)
    return values.clone()


def places_of(call, values):
    """Indices for an unpool: a place for each value, or any places, where the last of several values stays: with one thread."""
    rank = int(call.name[-2])
    per_dim = lambda value: value if isinstance(value, tuple) else (value,) * rank  # noqa: E731
    kernel, padding = per_dim(call.arguments[0]), per_dim(call.keywords["padding"])
    stride = kernel if call.keywords["stride"] is None else per_dim(call.keywords["stride"])
    sizes = [(size - 1) * step - 2 * pad + window
             for size, step, pad, window in zip(values.shape[-rank:], stride, padding, kernel)]
    places, count = max(math.prod(sizes), 1), math.prod(values.shape[-rank:])
    random = torch.Generator().manual_seed(call.seed)
    planes = math.prod(values.shape[:-rank])
    if places >= count and (call.seed % 4 or torch.get_num_threads() > 1):
        made = torch.stack([torch.randperm(places, generator=random)[:count] for _ in range(planes)])
    else:
        made = torch.randint(places, (planes, count), generator=random)
    return laid_out(made.view(values.shape), call.layout, rank)


def cancels(call, values):
    """Whether powers of both signs leave little of a window of lp_pool: the gradients of its root are rounding errors then."""
    norm, *windows = call.arguments
    average = getattr(F, call.name.replace("lp", "avg"))
    keywords = {name: value for name, value in call.keywords.items() if value is not None}
    powers = values.to(call.dtype).double().pow(norm)
    left, all_of_it = (average(x, *windows, **keywords).abs() for x in (powers, powers.abs()))
    return bool((left < 0.01 * all_of_it).any())


def run(call, function):
    """Everything that a call gives: {what: tensor}; of one that is refused the error."""
    rank = int(call.name[-2])
    torch.manual_seed(call.seed)
    values = torch.randn(call.shape, dtype=torch.float64)
    if call.seed % 3 == 0:
        values = (values * 2).round()  # ties, and windows of zeros
    if call.name.startswith("lp_pool") and call.seed % 2:
        values = values.abs()
    x = laid_out(values.to(call.dtype), call.layout, rank)
    given = {name: value for name, value in call.keywords.items() if value is not None}
    if call.name.startswith("max_unpool"):
        pool, function = function, lambda values, *arguments, **more: pool(values, places_of(call, values), *arguments, **more)
    results = {}
    try:
        with torch.no_grad():
            plain = function(x, *call.arguments, **given)
        for number, tensor in enumerate(plain if isinstance(plain, tuple) else (plain,)):
            results[f"plain {number}"] = tensor
        if call.name.startswith("lp_pool") and cancels(call, values):
            return results
        leaf = x.detach().requires_grad_()
        made = function(leaf, *call.arguments, **given)
        made = made if isinstance(made, tuple) else (made,)
        for number, tensor in enumerate(made):
            results[f"result {number}"] = tensor.detach()
        gradient = laid_out(torch.randn(made[0].shape, dtype=torch.float64).to(call.dtype), call.gradient_layout, rank)
        gradient.requires_grad_()
        (first,) = torch.autograd.grad(made[0], leaf, gradient, create_graph=True)
        results["gradient"] = first.detach()
        along = torch.randn(first.shape, dtype=torch.float64).to(call.dtype)
        for number, second in enumerate(torch.autograd.grad(first, (gradient, leaf), along, allow_unused=True)):
            if second is not None:
                results[f"second gradient {number}"] = second
    except RuntimeError as refused:
        results["refused"] = str(refused).splitlines()[0]
    return results


def is_near(ours, theirs, is_exact):
    if is_exact or not theirs.is_floating_point():
        return torch.equal(torch.nan_to_num(ours), torch.nan_to_num(theirs))
    ours, theirs, epsilon = ours.double(), theirs.double(), 600 * EPSILON[theirs.dtype]
    both = torch.isfinite(theirs)
    if not torch.equal(both, torch.isfinite(ours)):
        return False
    difference = (ours - theirs)[both].abs()
    return not difference.numel() or bool((difference <= epsilon * (1 + theirs[both].abs().max())).all())


def objection(call, ours, theirs):
    """What differs, in words; None if nothing does."""
    if list(ours) != list(theirs):
        return f"gives {list(ours)} {ours.get('refused', '')}, PyTorch {list(theirs)} {theirs.get('refused', '')}"
    for what, wanted in theirs.items():
        got = ours[what]
        if what == "refused":
            if got != wanted:
                return f"refused: {got}; by PyTorch: {wanted}"
        elif got.dtype != wanted.dtype or got.shape != wanted.shape or got.stride() != wanted.stride():
            return f"{what}: {got.dtype} {tuple(got.shape)} {got.stride()}, PyTorch's {wanted.dtype} {tuple(wanted.shape)} {wanted.stride()}"
        elif not is_near(got, wanted, "max" in call.name and what.startswith(("plain", "result"))):
            return f"{what}: {got.flatten()[:8].tolist()}, PyTorch's {wanted.flatten()[:8].tolist()}"
    return None


def by_module(call):
    """The call as a module of PyTorch's, optimized."""
    make = getattr(nn, f"{MODULES[call.name[:-2]]}{call.name[-2:]}")

    def function(*arguments, **keywords):
        inputs = 2 if "unpool" in call.name else 1
        module = make(*arguments[inputs:], **keywords)
        pt.optimize(module)
        return module(*arguments[:inputs])
    return function


def ours(call, way):
    """What the call gives on our kernels: {what: tensor}."""
    if way == "optimize":
        return run(call, by_module(call))
    if way == "functions":
        return run(call, getattr(pt, call.name))
    pt.enable()
    try:
        return run(call, getattr(F, call.name))
    finally:
        pt.disable()


def differences(calls, seed, way):
    """[(call, what differs)] of random calls."""
    draw, found = Draw(seed), []
    for _ in range(calls):
        call = draw.call()
        pt.disable()
        theirs = run(call, getattr(F, call.name))
        if why := objection(call, ours(call, way), theirs):
            found.append((call, why))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--way", choices=["enable", "functions", "optimize"], default="enable")
    arguments = parser.parse_args()
    found = differences(arguments.calls, arguments.seed, arguments.way)
    for call, why in found[:20]:
        print(f"{call}\n  {why}")
    print(f"{arguments.calls} calls by {arguments.way}, seed {arguments.seed}: {len(found)} differ from PyTorch {torch.__version__}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
