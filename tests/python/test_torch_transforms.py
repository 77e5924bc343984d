"""Models on our kernels that PyTorch traces, scripts, exports and transforms: nothing is baked in, nothing is lost."""
import contextlib
import io
import sys

import pytest

torch = pytest.importorskip("torch", reason="python3-torch is not installed")

import pooljit.torch as pt  # noqa: E402
from torch import fx, nn  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402
from torch.nn import functional as F  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(37)


@pytest.fixture(params=["optimize", "enable", "functions"])
def on_ours(request):
    """Puts a model on our kernels in one of the ways, until the test ends: model -> the model."""
    context = pt.functions() if request.param == "functions" else contextlib.nullcontext()

    def put(model):
        if request.param == "optimize":
            pt.optimize(model)
        elif request.param == "enable":
            pt.enable()
        return model

    with context:
        yield put
    pt.disable()


def model():
    """With frozen parameters, so that a tracer could take everything for constant."""
    made = nn.Sequential(nn.Conv2d(2, 3, 3), nn.MaxPool2d(2), nn.AvgPool2d(2, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 1))
    return made.requires_grad_(False).eval()


def test_jit_trace(on_ours):
    made = model()
    zeros, ones = torch.zeros(1, 2, 12, 12), torch.ones(1, 2, 12, 12)
    wanted = made(ones)
    traced = torch.jit.trace(on_ours(made), zeros)
    assert torch.allclose(traced(ones), wanted, atol=1e-6)
    assert "max_pool2d" in str(traced.inlined_graph)


def test_jit_script():
    made = model()
    x = torch.randn(1, 2, 12, 12)
    wanted = made(x)
    pt.optimize(made)
    scripted = torch.jit.script(made)
    assert torch.allclose(scripted(x), wanted, atol=1e-6)
    saved = io.BytesIO()
    torch.jit.save(scripted, saved)
    saved.seek(0)
    assert torch.allclose(torch.jit.load(saved)(x), wanted, atol=1e-6)


def test_onnx_export(on_ours):
    onnx = pytest.importorskip("onnx", reason="python3-onnx is not installed")
    made = model()
    on = on_ours(made)
    written = io.BytesIO()
    torch.onnx.export(on, torch.zeros(1, 2, 12, 12), written)
    graph = onnx.load_from_string(written.getvalue()).graph
    assert len(graph.input) == 1
    assert {"Conv", "MaxPool", "AveragePool", "GlobalAveragePool", "Gemm"} <= {node.op_type for node in graph.node}


def test_fx(on_ours):
    made = model()
    x = torch.randn(1, 2, 12, 12)
    wanted = made(x)
    on = on_ours(made)
    traced = fx.symbolic_trace(on)
    assert torch.allclose(traced(x), wanted, atol=1e-6)


class DefaultOfNone(nn.Module):
    def forward(self, x, scale=None):
        if scale is None:
            x = x * 2
        return F.max_pool2d(x, 2)


class Noise(nn.Module):
    def forward(self, x):
        return F.max_pool2d(x + torch.randn(12), 2)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x):
        self.n += 1
        return F.max_pool2d(x, 2)


class TakesLists(nn.Module):
    def forward(self, x):
        if isinstance(x, list):
            x = torch.stack(x)
        return F.max_pool2d(x, 2)


def test_the_code_of_forward_stays(on_ours):
    x = torch.full((1, 1, 12, 12), 4.0)
    assert on_ours(DefaultOfNone())(x)[0, 0, 0, 0] == 8
    noise = on_ours(Noise())
    assert not torch.equal(noise(x), noise(x))
    counts = Counts()
    on = on_ours(counts)
    on(x), on(x)
    assert counts.n == 2
    assert torch.equal(on_ours(TakesLists())([x[0], x[0] + 1]), F.max_pool2d(torch.stack([x[0], x[0] + 1]), 2))


DIFFERENTIABLE = [
    ("max_pool1d", (3,), dict(stride=2)), ("max_pool2d", (2,), dict()), ("max_pool3d", (2,), dict()),
    ("avg_pool1d", (2,), dict()), ("avg_pool2d", (3,), dict(stride=2, padding=1)), ("avg_pool3d", (2,), dict()),
    ("lp_pool2d", (2, 2), dict()), ("adaptive_max_pool2d", (3,), dict()), ("adaptive_avg_pool2d", (1,), dict()),
    ("adaptive_avg_pool2d", (3,), dict()), ("adaptive_avg_pool3d", (2,), dict()),
]
NAMES = [f"{name}-{number}" for number, (name, *_) in enumerate(DIFFERENTIABLE)]


def inputs(name, dtype=torch.float64):
    shape = (2, 3, *((8, 8, 4) if "3d" in name else (8, 8) if "2d" in name else (8,)))
    return torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)


@pytest.mark.parametrize("call", DIFFERENTIABLE, ids=NAMES)
@pytest.mark.parametrize("way", ["enable", "functions"])
def test_forward_mode(call, way):
    name, arguments, keywords = call
    x, tangent = inputs(name)

    def tangent_of(function):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(function(forward_ad.make_dual(x, tangent), *arguments, **keywords)).tangent

    wanted = tangent_of(getattr(F, name))
    try:
        if way == "enable":
            pt.enable()
        ours = tangent_of(getattr(F if way == "enable" else pt, name))
    finally:
        pt.disable()
    assert torch.allclose(ours, wanted)


@pytest.mark.parametrize("call", DIFFERENTIABLE, ids=NAMES)
def test_functorch(call):
    functorch = pytest.importorskip("functorch", reason="this PyTorch has no functorch")
    name, arguments, keywords = call
    x, tangent = inputs(name)
    for transform in (
            lambda function: functorch.vmap(lambda x: function(x, *arguments, **keywords))(torch.stack([x, tangent])),
            lambda function: functorch.grad(lambda x: (function(x, *arguments, **keywords) ** 2).sum())(x),
            lambda function: functorch.vjp(lambda x: function(x, *arguments, **keywords), x)[1](function(x, *arguments, **keywords))[0],
            lambda function: functorch.vmap(functorch.grad(lambda x: (function(x, *arguments, **keywords) ** 2).sum()))(x[:, None])):
        assert torch.allclose(transform(getattr(pt, name)), transform(getattr(F, name)))


class Marked(torch.Tensor):
    """A subclass with the default meaning of PyTorch's functions."""


def test_subclasses(on_ours):
    x = torch.randn(1, 2, 12, 12)
    made = on_ours(model())(x.as_subclass(Marked))
    assert type(made) is Marked and torch.allclose(made.as_subclass(torch.Tensor), model_of(made, x), atol=1e-5)


def model_of(made, x):
    torch.manual_seed(37)
    torch.randn(1, 2, 12, 12)
    return model()(x)


def test_divisor_is_not_lost():
    """torch.nn.functional.avg_pool1d has no divisor."""
    x = torch.ones(1, 1, 4)
    for x in (x, x.as_subclass(Marked)):
        with pytest.raises(TypeError):
            pt.avg_pool1d(x, 2, divisor_override=1)
        assert pt.avg_pool2d(x.unsqueeze(0), (1, 2), divisor_override=1)[0, 0, 0, 0] == 2


def test_lp_pooling_is_pytorchs():
    x = torch.tensor([[[3.0, 4.0, 1.0]]])
    assert torch.equal(pt.lp_pool1d(x, 2, 2, ceil_mode=True), F.lp_pool1d(x, 2, 2, ceil_mode=True))
    for p in (1.0, 2.0, 3.0):
        for values in ([0.0, 0.0, 1.0, 2.0], [0.0, -1.0, 0.0, 3.0]):
            gradients = []
            for function in (pt.lp_pool1d, F.lp_pool1d):
                x = torch.tensor([[values]], requires_grad=True)
                function(x, p, 2).sum().backward()
                gradients.append(x.grad)
            assert torch.equal(torch.nan_to_num(gradients[0], 7), torch.nan_to_num(gradients[1], 7)), (p, values)


def test_gradient_of_adaptive_max_of_channels_last_3d():
    """PyTorch's gradient reads the indices as if they were contiguous."""
    x = torch.randn(2, 3, 6, 5, 7).contiguous(memory_format=torch.channels_last_3d)
    gradients = []
    for function in (pt.adaptive_max_pool3d, F.adaptive_max_pool3d):
        leaf = x.detach().requires_grad_()
        y = function(leaf, (3, 2, 4))
        y.backward(torch.arange(float(y.numel())).view(y.shape))
        gradients.append(leaf.grad)
    assert torch.equal(*gradients)


def test_without_access():
    """The same by torch.library, as with a PyTorch that the package was not compiled for."""
    import subprocess
    code = "import sys; sys.modules['pooljit._torch_access'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    if sys.modules.get("pooljit._torch_access") is None:
        return  # this run is that already
    done = subprocess.run([sys.executable, "-c", code, "-q", "-p", "no:cacheprovider", __file__, "-k", "not without_access"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
