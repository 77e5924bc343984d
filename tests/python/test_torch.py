"""pooljit.torch against PyTorch: values, indices, gradients, whole models; what falls back; what is undone. Transforms of
models are in test_torch_transforms.py, random calls in torch_differential.py."""
import copy
import functools
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="python3-torch is not installed")

import pooljit  # noqa: E402
import pooljit.torch as pt  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


def has_access():
    """Whether tensors are read by PyTorch's C++ (pooljit._torch_access), or else by Python's methods."""
    pooljit.max_pool2d(torch.ones(1, 1, 2, 2), 2)
    return sys.modules.get("pooljit._torch_access") is not None


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(37)


@pytest.fixture
def enabled():
    pt.enable()
    yield
    pt.disable()


# name, arguments, keywords; the input has as many dimensions as the name says
CALLS = [
    ("max_pool1d", (3,), dict(stride=2, padding=1)),
    ("max_pool1d", (2,), dict(dilation=2, return_indices=True)),
    ("max_pool2d", (3,), dict(stride=2, padding=1)),
    ("max_pool2d", ((3, 2),), dict(stride=(2, 1), padding=(1, 0), ceil_mode=True, return_indices=True)),
    ("max_pool2d", ([2],), dict(stride=[3], dilation=[2])),
    ("max_pool3d", (2,), dict(return_indices=True)),
    ("avg_pool1d", (3,), dict(stride=2, padding=1)),
    ("avg_pool2d", (3,), dict(stride=2, padding=1, count_include_pad=False)),
    ("avg_pool2d", (3,), dict(stride=2, ceil_mode=True, divisor_override=7)),
    ("avg_pool3d", (2,), dict(padding=1)),
    ("lp_pool1d", (2, 3), dict(stride=2)),
    ("lp_pool2d", (2, 3), dict()),
    ("adaptive_max_pool1d", (5,), dict()),
    ("adaptive_max_pool2d", ((3, 5),), dict(return_indices=True)),
    ("adaptive_max_pool2d", (1,), dict()),
    ("adaptive_max_pool3d", (4,), dict()),
    ("adaptive_avg_pool1d", (4,), dict()),
    ("adaptive_avg_pool2d", ((None, 7),), dict()),
    ("adaptive_avg_pool2d", (1,), dict()),
    ("adaptive_avg_pool3d", (3,), dict()),
]
IDS = [f"{name}-{number}" for number, (name, *_) in enumerate(CALLS)]
EPSILON = {torch.float32: 2.0**-24, torch.float64: 2.0**-53, torch.bfloat16: 2.0**-8}


def extents(name, small=False):
    rank = int(name[-2])
    if small:
        return (1, 2, *((6, 8) if rank < 3 else (4, 3, 4))[:rank])
    return (2, 3, *(12, 16, 8)[:rank])


def same(ours, theirs, is_exact):
    ours, theirs = ([t] if torch.is_tensor(t) else list(t) for t in (ours, theirs))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a.dtype == b.dtype and a.shape == b.shape
        if is_exact or not a.is_floating_point():
            assert torch.equal(a, b)
        else:  # taps times the rounding of sums of at most 4 per tap
            bound = 200 * 4 * EPSILON[a.dtype]
            assert (a.double() - b.double()).abs().max() <= bound


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last], ids=["nchw", "nhwc"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("call", CALLS, ids=IDS)
def test_as_pytorch(call, dtype, memory_format):
    name, arguments, keywords = call
    if memory_format is torch.channels_last and "2d" not in name:
        memory_format = torch.contiguous_format
    x = torch.randn(extents(name), dtype=dtype).contiguous(memory_format=memory_format)
    ours = getattr(pt, name)(x, *arguments, **keywords)
    theirs = getattr(F, name)(x, *arguments, **keywords)
    same(ours, theirs, "max" in name)
    if memory_format is torch.channels_last:
        first = ours if torch.is_tensor(ours) else ours[0]
        assert first.is_contiguous(memory_format=memory_format)


@pytest.mark.parametrize("call", CALLS, ids=IDS)
def test_gradients(call):
    name, arguments, keywords = call
    x = torch.randn(extents(name, small=True), dtype=torch.float64)
    x = (torch.randperm(x.numel()).view(x.shape).double() / 7).requires_grad_()  # no ties, no zero but one

    def function(x):
        y = getattr(pt, name)(x + 1, *arguments, **keywords)
        return y if torch.is_tensor(y) else y[0]

    assert torch.autograd.gradcheck(function, x)
    assert torch.autograd.gradgradcheck(function, x)


def test_gradients_of_unpooling():
    y, i = F.max_pool2d(torch.randn(2, 3, 6, 6, dtype=torch.float64), 2, return_indices=True)
    function = lambda y: pt.max_unpool2d(y, i, 2)  # noqa: E731
    assert torch.equal(function(y), F.max_unpool2d(y, i, 2))
    assert torch.autograd.gradcheck(function, y.requires_grad_())


# rank, shape, window, channels last; of SegNets, and small ones
UNPOOLS = [(2, (1, 64, 56, 56), 2, False), (2, (1, 512, 14, 14), 2, False), (2, (2, 8, 7, 9), (3, 2), False), (2, (2, 17, 8, 8), 2, True),
           (2, (5, 6, 6), 2, False), (1, (2, 3, 20), 2, False), (1, (3, 20), 4, False), (3, (2, 3, 6, 4, 8), 2, False)]


@pytest.mark.parametrize("rank, shape, window, is_last", UNPOOLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_unpool(rank, shape, window, is_last, dtype):
    """Values, gradients and memory formats; with an output_size, and of indices that name no place."""
    pool, theirs, ours = (getattr(m, f"max_{what}{rank}d") for m, what in ((F, "pool"), (F, "unpool"), (pt, "unpool")))
    x = torch.randn(shape, dtype=dtype)
    x = x.contiguous(memory_format=torch.channels_last) if is_last else x
    y, i = pool(x, window, return_indices=True)
    windows = window if isinstance(window, tuple) else (window,) * rank
    sized, divides = {"output_size": shape[-rank:]}, all(size % one == 0 for size, one in zip(shape[-rank:], windows))
    for more in ({}, sized) if divides else (sized,):
        grads = []
        for function in (theirs, ours):
            leaf = y.detach().requires_grad_()
            made = function(leaf, i, window, **more)
            made.backward(torch.arange(made.numel(), dtype=dtype).view(made.shape))
            grads.append((made.detach(), leaf.grad))
        (wanted, wanted_grad), (made, grad) = grads
        assert torch.equal(made, wanted) and made.stride() == wanted.stride() and torch.equal(grad, wanted_grad)
    turned = (t.transpose(-1, -2).contiguous().transpose(-1, -2) for t in (y, i))
    assert torch.equal(ours(*turned, window, **sized), theirs(y, i, window, **sized))
    for index in (-1, x[(0,) * (x.dim() - rank)].numel()):
        wrong = i.clone()
        wrong[(0,) * i.dim()] = index
        errors = []
        for function in (theirs, ours):
            with pytest.raises(RuntimeError) as caught:
                function(y, wrong, window, **sized)
            errors.append(str(caught.value).splitlines()[0])
        assert errors[0] == errors[1]


def test_unpools_that_stay_pytorchs():
    y, i = F.max_pool2d(torch.randn(1, 2, 6, 6), 2, return_indices=True)
    torch.use_deterministic_algorithms(True)
    try:
        refusals = []
        for function in (F.max_unpool2d, pt.max_unpool2d):
            with pytest.raises(RuntimeError) as caught:
                function(y, i, 2)
            refusals.append(str(caught.value))
        assert refusals[0] == refusals[1]
    finally:
        torch.use_deterministic_algorithms(False)
    for arguments in ((y.long(), i, 2), (y, i.int(), 2), (y, i[..., :2], 2)):
        for function in (F.max_unpool2d, pt.max_unpool2d):
            with pytest.raises(RuntimeError):
                function(*arguments)


@pytest.mark.parametrize("norm", [1, 2, 3, 4])
@pytest.mark.parametrize("shape, kernel, stride", [((2, 3, 8, 8), 2, 2), ((2, 3, 9, 8), 3, 1), ((1, 2, 10, 11), (2, 3), (3, 2))])
def test_gradient_of_lp_pool_as_a_spec(norm, shape, kernel, stride):
    """pooljit's own operator beside PyTorch's autograd, with windows of zeros: 0 there, and g at other zeros with p = 1."""
    x = torch.randn(shape).abs().double()
    x[..., :4, :4] = 0
    x.view(-1)[::7] = 0
    x.requires_grad_()
    y = F.lp_pool2d(x, norm, kernel, stride)
    gradient = torch.randn_like(y)
    y.backward(gradient)
    own = pooljit.lp_pool2d(x.detach(), norm, kernel, stride)
    made = pooljit.lp_pool2d_backward(gradient, x.detach(), own, norm, kernel, stride)
    assert torch.allclose(own, y.detach(), atol=1e-12) and torch.isfinite(made).all()
    assert torch.allclose(made, x.grad, atol=1e-12)


@pytest.mark.parametrize("call", CALLS, ids=IDS)
def test_enabled(call, enabled):
    """PyTorch's own functions, now on our kernels, with PyTorch's autograd."""
    name, arguments, keywords = call
    x = torch.randn(extents(name, small=True), dtype=torch.float64)

    def run():
        results = []
        for gradient in (False, True):
            t = x.clone().requires_grad_(gradient)
            y = getattr(F, name)(t, *arguments, **keywords)
            y = [y] if torch.is_tensor(y) else list(y)
            if gradient:
                y[0].sum().backward()
                y.append(t.grad)
            results += [t.detach() for t in y]
        with torch.inference_mode():
            y = getattr(F, name)(x, *arguments, **keywords)
            results += [y] if torch.is_tensor(y) else list(y)
        return results

    ours = run()
    pt.disable()
    same(ours, run(), "max" in name)


def test_our_kernels_run():
    """Of float16, which PyTorch does not pool on the CPU."""
    x, places = torch.ones(1, 2, 4, 4).half(), torch.arange(0, 32, 2).view(1, 1, 4, 4).expand(1, 2, 4, 4)

    def is_ours(call):
        try:
            return call().dtype is torch.float16
        except RuntimeError as refused:
            assert "not implemented for 'Half'" in str(refused)
            return False

    module = nn.MaxPool2d(2)
    ways = [lambda: F.max_pool2d(x, 2), lambda: F.avg_pool2d(x, 2), lambda: F.max_unpool2d(x, places, 2),
            lambda: F.max_unpool1d(x[0], places[0] // 4, 2), lambda: F.max_unpool3d(x, places, (1, 2, 2)), lambda: module(x)]
    none, all_of_them = [False] * len(ways), [True] * len(ways)
    assert [is_ours(way) for way in ways] == none
    pt.enable()
    assert [is_ours(way) for way in ways] == all_of_them
    pt.disable()
    assert [is_ours(way) for way in ways] == none
    with pt.functions(), pt.functions():
        assert [is_ours(way) for way in ways] == all_of_them
    assert is_ours(lambda: pt.avg_pool2d(x, 2)) and is_ours(lambda: pt.functions()(F.avg_pool2d)(x, 2))
    assert [is_ours(way) for way in ways] == none
    with pt.optimize(module):
        assert [is_ours(way) for way in ways] == [*none[1:], True]
    assert [is_ours(way) for way in ways] == none


def test_functions_are_of_one_thread():
    x, there = torch.ones(1, 2, 4, 4).half(), []

    def work():
        try:
            there.append(F.max_pool2d(x, 2))
        except RuntimeError as refused:
            there.append(str(refused))

    with pytest.raises(ZeroDivisionError), pt.functions():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        1 / 0  # the context ends all the same
    work()
    assert all("not implemented" in said for said in there)


def test_what_falls_back(enabled):
    x = torch.randn(1, 2, 8, 8)
    with pytest.raises(RuntimeError, match="pad should be"):
        F.max_pool2d(x, 2, padding=2)
    with pytest.raises(RuntimeError):
        F.avg_pool2d(x, 20)
    quantized = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
    assert torch.equal(F.max_pool2d(quantized, 2).int_repr(),
                       F.max_pool2d(quantized.int_repr().float(), 2).to(torch.uint8))
    for function in (pt.max_pool2d, pt.adaptive_avg_pool2d):
        assert function(x.to("meta"), 2).device.type == "meta"
        assert function(quantized, 2).is_quantized


def test_empty_batches(enabled):
    for function in (F.max_pool2d, F.avg_pool2d, F.adaptive_avg_pool2d):
        assert function(torch.zeros(0, 3, 4, 4), 2).shape == (0, 3, 2, 2)


class Branches(nn.Module):
    """Modules, functions of every home, code that depends on training, a derived class."""

    class Derived(nn.MaxPool2d):
        def forward(self, x):
            return super().forward(x) + 1

    class Plain(nn.Module):
        def forward(self, x):
            return F.relu(x)

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(2, return_indices=False), nn.AvgPool2d(2, 1))
        self.indexed = nn.MaxPool2d(2, return_indices=True)
        self.unpool, self.plain = nn.MaxUnpool2d(2), Branches.Plain()
        self.derived = Branches.Derived(2, 1)
        self.head = nn.AdaptiveAvgPool2d((2, 2))
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        x = self.plain(self.features(x))
        y, i = self.indexed(x)
        x = self.unpool(y, i)
        x = torch.cat([F.max_pool2d(x, 3, 1, 1), torch.max_pool2d(x, 3, 1, 1), F.avg_pool2d(x, 3, 1, 1)], 1)
        x, _ = F.max_pool2d(x, 2, return_indices=True)
        if self.training:
            x = F.adaptive_max_pool2d(x, 3)
        return self.head(self.derived(x) * self.weight).flatten(1)


@pytest.mark.parametrize("training", [True, False])
def test_optimize(training):
    model = Branches().train(training)
    x = torch.randn(2, 3, 36, 36)
    wanted, keys = model(x), list(model.state_dict())
    classes = [type(m) for m in model.modules()]
    done = pt.optimize(model)
    assert set(done.replaced) == {"features.1", "features.2", "indexed", "unpool", "head"}
    assert set(done.left) == {"", "derived"} and "max_pool2d" in done.left[""] and "Derived" in done.left["derived"]
    assert list(model.state_dict()) == keys and "forward" not in vars(model)
    assert torch.allclose(model(x), wanted, atol=1e-5)
    with pt.functions():
        assert torch.allclose(model(x), wanted, atol=1e-5)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        twin.weight.fill_(2)  # its own, not the model's
    assert torch.allclose(model(x), wanted, atol=1e-5)
    assert not torch.allclose(twin(x), wanted, atol=1e-5)
    model(x).sum().backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    done.undo()
    done.undo()
    assert [type(m) for m in model.modules()] == classes
    assert torch.equal(model(x), wanted)
    model(x).sum().backward()
    assert all(torch.allclose(a, p.grad, atol=1e-4) for a, p in zip(gradients, model.parameters()))


def pools_elsewhere(x):
    return F.avg_pool2d(x, 2)


class Left:
    """Modules that pool in code of their own, each in another way."""

    class ByName(nn.Module):
        def forward(self, x):
            return nn.functional.max_pool2d(x, 2)

    class ByHelper(nn.Module):
        def forward(self, x):
            return pools_elsewhere(x)

    class InALambda(nn.Module):
        def forward(self, x):
            return (lambda y: F.avg_pool2d(y, 2))(x)

    class ByAttribute(nn.Module):
        def __init__(self):
            super().__init__()
            self.pool = functools.partial(F.max_pool2d, kernel_size=2)

        def forward(self, x):
            return self.pool(x)

    class ByList(nn.Module):
        def __init__(self):
            super().__init__()
            self.branches = [torch.relu, F.adaptive_avg_pool2d]

        def forward(self, x):
            return self.branches[1](self.branches[0](x), 2)

    class ByText(nn.Module):
        def forward(self, x):
            return getattr(F, "max_pool2d")(x, 2)

    class Decorated(nn.Module):
        @torch.no_grad()
        def forward(self, x):
            return F.max_pool2d(x, 2)

    class Wrapped(nn.Module):
        @pt.functions()
        def forward(self, x):
            return torch.max_pool2d(x, 2)

    class Inherited(ByName):
        pass


LEFT = [value for value in vars(Left).values() if isinstance(value, type)]


@pytest.mark.parametrize("kind", LEFT, ids=[kind.__name__ for kind in LEFT])
def test_left_is_complete(kind):
    done = pt.optimize(nn.Sequential(kind(), nn.ReLU(), nn.FractionalMaxPool2d(2, 2)))
    assert set(done.left) == {"0", "2"} and not done.replaced and "pool2d" in done.left["0"]


def test_left_of_scripts():
    done = pt.optimize(nn.Sequential(torch.jit.script(Left.ByName()), torch.jit.script(nn.ReLU()), nn.Linear(1, 1)))
    assert set(done.left) == {"0"} and "max_pool2d" in done.left["0"]


def test_optimize_while_in_a_block():
    model = nn.Sequential(nn.MaxPool2d(2))
    with pt.optimize(model):
        assert type(model[0]) is not nn.MaxPool2d
        assert isinstance(model[0], nn.MaxPool2d)
        assert pickle.loads(pickle.dumps(model))[0].kernel_size == 2
    assert type(model[0]) is nn.MaxPool2d


def test_tensors_in_tensors_out():
    x = torch.randn(2, 3, 8, 8)
    out = torch.empty(2, 3, 4, 4)
    kernel = pooljit.compile("max_pool2d(float32[1,3,8,8], kernel_size=2, return_indices=True)")
    y, i = kernel(x, out=out)
    assert y is out and torch.is_tensor(i) and out.data_ptr() == y.data_ptr()
    wanted = F.max_pool2d(x, 2, return_indices=True)
    assert torch.equal(y, wanted[0]) and torch.equal(i, wanted[1])
    half = x.bfloat16()
    assert torch.equal(pooljit.max_pool2d(half, 2), F.max_pool2d(half, 2))
    assert pooljit.avg_pool2d(x.half(), 2).dtype == torch.float16
    assert np.array_equal(pooljit.max_pool2d(x.numpy(), 2), pooljit.max_pool2d(x, 2).numpy())


BAD = [
    ("device", lambda x: pooljit.max_pool2d(x.to("meta"), 2), "python.device"),
    ("sparse", lambda x: pooljit.max_pool2d(x.to_sparse(), 2), "python.array"),
    ("quantized", lambda x: pooljit.max_pool2d(torch.quantize_per_tensor(x, 0.1, 0, torch.quint8), 2), "python.dtype"),
    ("complex", lambda x: pooljit.max_pool2d(x.to(torch.complex64), 2), "python.dtype"),
    ("negated view", lambda x: pooljit.max_pool2d(torch.complex(x, x).conj().imag, 2), "python.array"),
    ("negated element", lambda x: pooljit.max_pool2d(torch.complex(x, x).conj().imag[:1, :1, :1, :1], 1), "python.array"),
    ("out: shape", lambda x: pooljit.max_pool2d(x, 2, out=torch.empty(1)), "python.shape"),
    ("out: itself", lambda x: pooljit.max_pool2d(x, 1, out=x), "run.overlap"),
    ("mkldnn", lambda x: pooljit.max_pool2d(x.to_mkldnn(), 2) if torch.backends.mkldnn.is_available() else
     pooljit.max_pool2d(x.to_sparse(), 2), "python.array"),
]


@pytest.mark.parametrize("case", BAD, ids=[case[0] for case in BAD])
def test_bad_tensors(case):
    _, call, id_ = case
    with pytest.raises(pooljit.InvalidError) as caught:
        call(torch.randn(1, 2, 6, 6))
    assert caught.value.id == id_


def test_strided_tensors():
    x = torch.randn(2, 8, 20, 20)
    for view in (x[:, 1:7:2, 2:11, ::2], x.permute(0, 3, 1, 2), x[:1].expand(3, -1, -1, -1), x.transpose(0, 1)):
        assert torch.equal(pooljit.max_pool2d(view, 2), F.max_pool2d(view.contiguous(), 2))


def test_threads_are_pytorchs():
    x = torch.randn(4, 64, 56, 56)
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(pooljit.avg_pool2d(x, 3, 2, 1))
        assert all(torch.equal(results[0], r) for r in results)
    finally:
        torch.set_num_threads(before)


def test_fork_after_pytorchs_threads_ran():
    """Its OpenMP hangs in a child whose parent has used it; kernels do not."""
    x = torch.randn(4, 64, 56, 56)
    torch.set_num_threads(2)
    try:
        wanted = pooljit.avg_pool2d(x, 3)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            os._exit(0 if np.array_equal(pooljit.avg_pool2d(x, 3).numpy(), wanted.numpy()) else 1)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        torch.set_num_threads(1)


def test_autograd_knows_what_was_written():
    """An in-place change of a tensor that a gradient needs is PyTorch's error, not a wrong gradient."""
    weight, out = torch.randn(1, 2, 2, 2, requires_grad=True), torch.randn(1, 2, 2, 2)
    product = weight * out
    version = out._version
    pooljit.max_pool2d(torch.randn(1, 2, 4, 4), 2, out=out)
    if not has_access():
        pytest.skip("without pooljit._torch_access, PyTorch 1.13 has no way to say so")
    assert out._version == version + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    with torch.inference_mode():
        pooljit.max_pool2d(torch.randn(1, 2, 4, 4), 2, out=torch.empty(1, 2, 2, 2))


WITHOUT_ACCESS = """
import sys
sys.modules["pooljit._torch_access"] = None
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


def test_without_access():
    """By Python's methods alone, as with a PyTorch that the package was not compiled for."""
    if not has_access():
        pytest.skip("this build has no pooljit._torch_access: all tests run without it")
    chosen = ("test_tensors_in_tensors_out", "test_bad_tensors", "test_strided_tensors", "test_threads_are_pytorchs")
    done = subprocess.run([sys.executable, "-c", WITHOUT_ACCESS, *(f"{__file__}::{name}" for name in chosen)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "12 passed" in done.stdout, done.stdout


MODELS = ["squeezenet1_1", "googlenet", "densenet121"]


@pytest.mark.parametrize("name", MODELS)
def test_whole_models(name):
    models = pytest.importorskip("torchvision.models", reason="python3-torchvision is not installed")
    model = getattr(models, name)(**({"init_weights": False} if name == "googlenet" else {})).eval()
    x = torch.randn(1, 3, 96, 96)
    with torch.no_grad():
        wanted = model(x)
        done = pt.optimize(model)
        ours = model(x)
        done.undo()
        pt.enable()
        try:
            enabled = model(x)
        finally:
            pt.disable()
    assert done.replaced and all("calls adaptive_avg_pool2d" in why for why in done.left.values())
    scale = wanted.abs().max()
    assert (ours - wanted).abs().max() <= 1e-4 * scale and (enabled - wanted).abs().max() <= 1e-4 * scale


def test_signatures_are_pytorchs():
    """Where PyTorch has the function in Python: the same arguments in the same order."""
    import inspect
    for name, function in itertools.product(("lp_pool", "max_unpool"), (1, 2)):
        ours, theirs = (inspect.signature(getattr(m, f"{name}{function}d")) for m in (pt, F))
        assert list(ours.parameters) == list(theirs.parameters)
