"""Canonical spec text for the cross-check, read independently of the library: max_pool2d(float32[1,3,8,8]:nhwc, ...)."""
import ast
import dataclasses
import math
import re

HEAD = re.compile(r"^(\w+)([123])d((?:_backward)?)\((\w+)\[([0-9, ]+)\](?::(\w+))?(?:, *(.*))?\)$")
CHANNELS_LAST = {"nwc", "nhwc", "ndhwc"}
PACKED = CHANNELS_LAST | {None, "nchw", "ncw", "ncdhw"}
OPERATORS = {"max_pool": "max", "avg_pool": "avg", "min_pool": "min", "sum_pool": "sum", "lp_pool": "lp",
             "adaptive_max_pool": "max", "adaptive_avg_pool": "avg",
             **{f"{name}_backward": name.split("_")[-2] for name in
                ("max_pool", "min_pool", "avg_pool", "sum_pool", "adaptive_max_pool", "adaptive_avg_pool")}}
DTYPES = ["float32", "float64", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64"]


@dataclasses.dataclass
class Spec:
    text: str
    op: str  # "max", "avg", else the operator's whole name
    rank: int
    dtype: str
    shape: tuple
    layout: str
    fields: dict
    adaptive: bool = False
    backward: bool = False

    def per_dim(self, name, default):
        value = self.fields.get(name, default)
        return [value] * self.rank if isinstance(value, int) else list(value)

    @property
    def kernel(self):
        if self.adaptive:  # the most taps that a window may have
            return [n // o + 2 for n, o in zip(self.shape[-self.rank:], self.per_dim("output_size", None))]
        return self.per_dim("kernel_size", None)

    @property
    def stride(self):
        return self.per_dim("stride", self.kernel)

    @property
    def dilation(self):
        return self.per_dim("dilation", 1)

    @property
    def padding(self):
        """(begins, ends)"""
        both = self.per_dim("padding", 0)
        return (both[:self.rank], both[self.rank:] or both[:self.rank])

    @property
    def is_integer(self):
        return "float" not in self.dtype

    @property
    def is_half(self):
        return self.dtype in ("float16", "bfloat16")

    @property
    def takes_extreme(self):
        return self.op in ("max", "min")

    @property
    def indices(self):
        return self.fields.get("return_indices", False)

    def strides(self, name, shape):
        """In elements, in logical order: explicit, or packed in the layout."""
        if name in self.fields:
            return tuple(self.fields[name])
        spatial = list(range(len(shape) - self.rank, len(shape)))
        channel = spatial[0] - 1
        layout = self.fields.get("output_layout", self.layout) if name == "output_strides" else self.layout
        last = layout in CHANNELS_LAST
        order = list(range(channel)) + (spatial + [channel] if last else [channel] + spatial)
        strides, step = [0] * len(shape), 1
        for dim in reversed(order):
            strides[dim] = step
            step *= shape[dim]
        return tuple(strides)


def parse(text):
    match = HEAD.match(text.strip())
    if not match:
        raise ValueError(f"not a canonical spec: {text}")
    op, rank, suffix, dtype, shape, layout, rest = match.groups()
    # nan=propagate and the like are bare words, steps of an epilogue stay text; the rest are Python literals.
    call = ast.parse(f"f({rest or ''})", mode="eval").body
    fields = {k.arg: k.value.id if isinstance(k.value, ast.Name)
              else ast.unparse(k.value) if k.arg == "epilogue" else ast.literal_eval(k.value)
              for k in call.keywords}
    return Spec(text.strip(), OPERATORS.get(op + suffix, op + suffix), int(rank), dtype,
                tuple(int(n) for n in shape.split(",")), layout, fields, op.startswith("adaptive"), bool(suffix))


def pads_itself(spec):
    """Whether PyTorch's pooling takes the padding; else its separate pad function must come first."""
    begins, ends = spec.padding
    return begins == ends and all(2 * p <= k for p, k in zip(begins, spec.kernel))


def not_in_torch(spec):
    """Why PyTorch cannot express the spec, or this comparison does not know how it would; or None."""
    if spec.op not in OPERATORS.values():
        return "another operator"
    if spec.dtype not in DTYPES or "output_dtype" in spec.fields:
        return "another dtype"
    if "epilogue" in spec.fields:
        return "an epilogue"
    if not {spec.layout, spec.fields.get("output_layout")} <= PACKED:
        return "a blocked layout"
    if {"index_dtype", "index_scope"} & spec.fields.keys():
        return "other indices"
    if spec.fields.get("ceil_mode") == "plain":
        return "ceil_mode=plain"
    begins, ends = spec.padding
    if spec.backward and spec.is_half:
        return "backward of halves"
    if spec.backward and (not pads_itself(spec) or "index_dtype" in spec.fields):
        return "backward with padding put on first"
    if not spec.takes_extreme and any(d != 1 for d in spec.dilation):
        return "dilated average, sum or norm"
    if spec.is_half and spec.op not in ("max", "avg"):
        return "halves beyond maxima and averages"
    if spec.op == "lp" and (spec.rank == 3 or spec.fields.get("ceil_mode")):
        return "Lp norm in 3-D or with ceil_mode"
    if math.prod(spec.shape) == 0:
        return "empty input"
    if not pads_itself(spec) and spec.fields.get("ceil_mode"):
        return "asymmetric or wide padding with ceil_mode"
    if not pads_itself(spec) and spec.op == "avg" and not spec.fields.get("count_include_pad", True):
        return "asymmetric or wide padding with count_include_pad=False"
    seen = [n if pads_itself(spec) else n + b + e for n, b, e in zip(spec.shape[-spec.rank:], begins, ends)]
    if not spec.takes_extreme and spec.rank == 3 and not spec.adaptive and any(n < k for n, k in zip(seen, spec.kernel)):
        return "avg_pool3d of an image smaller than the kernel"
    return None


def random_spec(rng):
    """A spec that PyTorch can express in form; its geometry may be impossible, which both must then say."""
    form = rng.choice(["window", "window", "window", "adaptive", "backward", "adaptive backward"])
    ops = {"window": ["max", "avg", "min", "sum", "lp"], "backward": ["max", "avg", "min", "sum"]}
    rank, op = rng.randint(1, 3), rng.choice(ops.get(form, ["max", "avg"]))
    kernel = [rng.randint(1, 5) for _ in range(rank)]
    limit = {1: 80, 2: 24, 3: 10}[rank]
    shape = [rng.randint(1, 3)] * (rng.random() < 0.8) + [rng.choice([1, 2, 3, 8, 16, 17, 33])]
    shape += [rng.randint(1, limit) for _ in range(rank)]
    fields = {"kernel_size": kernel, "stride": [rng.randint(1, 4) for _ in range(rank)],
              "padding": [rng.randint(0, k // 2) for k in kernel], "ceil_mode": rng.random() < 0.5}
    dtypes = DTYPES
    if op in ("max", "min"):
        fields["dilation"] = [rng.randint(1, 3) for _ in range(rank)]
    if op == "max":
        fields["return_indices"] = rng.random() < 0.5
    elif op == "lp":
        dtypes = ["float32", "float64"]
        fields["norm_type"] = rng.choice([1, 2, 3, 4.5, "inf"])
    elif op == "avg":
        fields["count_include_pad"] = rng.random() < 0.5
        if rng.random() < 0.3:
            fields["divisor_override"] = rng.randint(1, 40)
    if "adaptive" in form:
        fields = {"output_size": [rng.randint(1, limit) for _ in range(rank)]}
        if op == "max":
            fields["return_indices"] = rng.random() < 0.5
    is_backward = form.endswith("backward")
    fields = {k: v for k, v in fields.items() if not is_backward or k != "return_indices"}
    layout = rng.choice(["", ":" + {1: "nwc", 2: "nhwc", 3: "ndhwc"}[rank]])
    listed = ", ".join(f"{name}={value}" for name, value in fields.items())
    dims = ",".join(map(str, shape))
    dtype = rng.choice(DTYPES[:2] if is_backward else dtypes)
    prefix, suffix = ("adaptive_" if "adaptive" in form else ""), ("_backward" if is_backward else "")
    return f"{prefix}{op}_pool{rank}d{suffix}({dtype}[{dims}]{layout}, {listed})"
