"""A program that uses the package, for mypy --strict (test_types.py). Nobody runs it."""
from typing import Any, List, Optional, Tuple

import numpy as np

import pooljit

kernel: pooljit.Kernel = pooljit.compile("max_pool2d(float32[1,1,2,2], kernel_size=2)", threads=1)
y = kernel(np.ones((1, 1, 2, 2), np.float32), out=None)
shape: Tuple[int, ...] = kernel.output_shape
spec = pooljit.Spec("nn.MaxPool2d(2)(float32[1,1,2,2])")
names: List[str] = pooljit.layers()
text: str = spec.dialect("onnx")
rows: List[pooljit.ScheduleInfo] = pooljit.schedules(spec)
prices: List[float] = [sum(family.price.values()) for family in pooljit.explain(spec).families]
rules: List[str] = [rule.name for family in pooljit.explain(spec).families for rule in family.rules]
seconds: float = pooljit.evaluate(spec, rows[0].schedule).seconds
verdict: str = pooljit.compare(spec, y, y).verdict
z = pooljit.max_pool2d(y, (1, 1), stride=None, padding=0, return_indices=True, nan="ignore")
index: Optional[str] = kernel.index_dtype
best: pooljit.Timing = pooljit.tune(spec, seconds=0.1, progress=print).best
try:
    pooljit.compile("")
except pooljit.InvalidError as error:
    print(error.id, error.hint)
with_error: pooljit.Reference = pooljit.reference(spec, y)
for drawn in pooljit.random_specs(7):
    print(drawn.arguments)
    break
version: str = pooljit.__version__
Image = np.ndarray[Any, np.dtype[np.float32]]


def typed_wrapper(x: Image, window: int) -> Image:
    return pooljit.max_pool2d(x, (window, window), stride=window, threads=2, output_dtype=np.float32)


def both(x: Image) -> Tuple[Image, Image]:
    return pooljit.adaptive_max_pool2d(x, (1, None), return_indices=True, backend="xbyak")


def either(x: Image, return_indices: bool) -> None:
    print(pooljit.max_pool2d(x, 2, return_indices=return_indices))


def with_torch() -> None:
    import torch

    import pooljit.torch

    done = pooljit.torch.optimize(torch.nn.Sequential())
    left: Optional[str] = done.left.get("head")
    with done as undone:
        print(left, undone.replaced)
    done.undo()
    pooljit.torch.enable()
    y, i = pooljit.torch.max_pool2d(torch.ones(1, 1, 4, 4), 2, stride=(2, 1), return_indices=True)
    with pooljit.torch.functions():
        print(y, i)


def with_onnx() -> None:
    import onnx

    import pooljit.onnx

    outputs: Tuple[object, ...] = pooljit.onnx.prepare(onnx.ModelProto()).run({"x": np.ones(1)})
    reasons: List[str] = list(pooljit.onnx.supports(onnx.ModelProto()).values())
    print(outputs, reasons)
