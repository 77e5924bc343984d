"""Kernels and functions called from Python: what they take, what they give, and that nothing is copied."""
import ctypes
import itertools
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pytest

import pooljit

SPEC = "max_pool2d(float32[2,3,8,8], kernel_size=3, stride=2, padding=1)"


def laid_out(array, strides):
    """A view of new memory with these strides in elements, and the array's elements; gaps hold 0."""
    span = 1 + sum((n - 1) * s for n, s in zip(array.shape, strides))
    buffer = np.zeros(span, array.dtype)
    view = np.lib.stride_tricks.as_strided(buffer, array.shape, [s * array.itemsize for s in strides])
    view[...] = array
    return view


def as_kernel_takes_it(spec, make_array):
    """An input of the spec's strides, the logical array of the same elements, and the epilogue's operands."""
    kernel = pooljit.compile(spec)
    view = laid_out(make_array(spec.input_dtype, spec.input_shape), spec.input_strides)
    operands = [make_array(dtype, shape) for dtype, shape in kernel.operands]
    operands = [a if len(a.shape) == 1 else laid_out(a, spec.output_strides) for a in operands]
    return kernel, view, operands


def is_plain(spec):
    """No blocked layout, whose arrays have a dimension more; something to pool; an oracle."""
    blocked = "8c" in spec.text or "16c" in spec.text
    return not blocked and spec.batch != 0 and "unpool" not in spec.operator


def reads_indices(spec):
    return spec.direction != "forward" and spec.index_dtype is not None


def indices_to_read(spec, rng):
    """What the forward pass writes, laid out like the gradient."""
    told = {name: value for name, value in spec.arguments.items() if name in FORWARD}
    dims = ",".join(map(str, spec.output_shape))
    listed = "".join(f", {name}={value}" for name, value in told.items())
    forward = pooljit.compile(f"{spec.operator.removesuffix('_backward')}(float32[{dims}], return_indices=True{listed})")
    _, indices = forward(rng.standard_normal(spec.output_shape).astype(np.float32))
    assert indices.shape == tuple(spec.input_shape) and indices.dtype == spec.index_dtype
    return laid_out(indices, spec.input_strides)


FORWARD = {"kernel_size", "stride", "padding", "dilation", "ceil_mode", "output_size", "index_dtype", "index_scope"}


def test_random_specs_agree_with_the_oracle(make_array, rng):
    """Every operator, dtype, layout and stride that the fuzzers draw."""
    specs = (spec for spec in pooljit.random_specs(11) if is_plain(spec))
    read = set()
    for spec in itertools.islice(specs, 400):
        kernel, view, operands = as_kernel_takes_it(spec, make_array)
        indices = indices_to_read(spec, rng) if reads_indices(spec) else None
        made = kernel(view, indices, operands=operands)
        output, indices = made if isinstance(made, tuple) else (made, indices)
        with np.errstate(all="ignore"):
            found = pooljit.compare(spec, view, output, indices, operands)
        assert found, (spec, found)
        if reads_indices(spec):
            read.add(spec.operator.removesuffix("_backward")[:-2])
    assert {"max_pool", "min_pool", "adaptive_max_pool"} <= read


def test_blocked_layouts_have_their_blocks_last(rng):
    x = rng.standard_normal((2, 19, 6, 6), np.float32)
    blocked = np.zeros((2, 3, 6, 6, 8), np.float32)
    for c in range(19):
        blocked[:, c // 8, :, :, c % 8] = x[:, c]
    y = pooljit.compile("max_pool2d(float32[2,19,6,6]:nchw8c, kernel_size=2)")(blocked)
    assert y.shape == (2, 3, 3, 3, 8)
    wanted = pooljit.max_pool2d(x, 2)
    assert all(np.array_equal(y[:, c // 8, :, :, c % 8], wanted[:, c]) for c in range(19))


def test_nothing_is_copied(rng):
    x = rng.standard_normal((2, 3, 8, 8), np.float32)
    out = np.empty((2, 3, 4, 4), np.float32)
    kernel = pooljit.compile(SPEC)
    address = out.ctypes.data
    assert kernel(x, out=out) is out and out.ctypes.data == address
    assert np.array_equal(out, kernel(x))
    wide = np.zeros((2, 3, 8, 16), np.float32)
    wide[..., ::2] = x
    assert np.array_equal(pooljit.max_pool2d(wide[..., ::2], 3, stride=2, padding=1), out)
    # The library reads where the array lies: what is written there behind numpy's back is seen.
    ctypes.c_float.from_address(x.ctypes.data).value = 1e9
    assert kernel(x)[0, 0, 0, 0] == 1e9


def test_the_batch_is_free(rng):
    kernel = pooljit.compile(SPEC)
    x = rng.standard_normal((5, 3, 8, 8), np.float32)
    whole = kernel(x)
    assert whole.shape == (5, 3, 4, 4)
    for n in range(5):
        assert np.array_equal(kernel(x[n:n + 1]), whole[n:n + 1])
    assert kernel(x[:0]).shape == (0, 3, 4, 4)


def test_a_free_batch(rng):
    spec = pooljit.Spec(SPEC.replace("[2,", "[N,"))
    assert spec.batch == "N" and pooljit.Spec(spec.text) == spec and spec.operator == "max_pool2d"
    x = rng.standard_normal((4, 3, 8, 8), np.float32)
    assert np.array_equal(pooljit.compile(spec)(x), pooljit.compile(SPEC)(x))


def test_one_kernel_serves_all_batches():
    a = pooljit.compile(SPEC)
    b = pooljit.compile(SPEC.replace("[2,", "[7,"))
    assert a.signature == b.signature and a.code_bytes == b.code_bytes


@pytest.mark.parametrize("order", ["nchw", "nhwc", "slice", "broadcast", "reversed axes"])
def test_functions_take_any_strides(rng, order):
    x = rng.standard_normal((2, 4, 9, 9), np.float32)
    view = {
        "nchw": x,
        "nhwc": np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2),
        "slice": rng.standard_normal((2, 9, 20, 20), np.float32)[:, 1:9:2, 2:11, 1:19:2],
        "broadcast": np.broadcast_to(x[:, :1], x.shape),
        "reversed axes": x.transpose(3, 2, 1, 0),
    }[order]
    for _ in range(2):  # compiled, and found again
        y, i = pooljit.max_pool2d(view, 2, return_indices=True)
        wanted, places = pooljit.max_pool2d(np.ascontiguousarray(view), 2, return_indices=True)
        assert np.array_equal(y, wanted) and np.array_equal(i, places)
        if order == "nhwc":
            assert y.transpose(0, 2, 3, 1).flags.c_contiguous


def test_arguments_are_told_apart(rng):
    """The cache of kernels knows every argument: no call gets another's kernel."""
    x = rng.standard_normal((1, 2, 12, 12), np.float32)
    calls = [dict(kernel_size=k, stride=s, padding=p, dilation=d, ceil_mode=c)
             for k in (2, 3, (3, 2)) for s in (None, 1, [2, 1]) for p in (0, 1) for d in (1, 2) for c in (False, True)]
    for _ in range(2):
        for call in calls:
            spec_like = {name: value for name, value in call.items() if value is not None}
            text = ", ".join(f"{n}={list(v) if isinstance(v, tuple) else v}" for n, v in spec_like.items())
            wanted = pooljit.compile(f"max_pool2d(float32[1,2,12,12], {text})")(x)
            assert np.array_equal(pooljit.max_pool2d(x, **call), wanted), call
    assert np.isnan(pooljit.max_pool2d(x * np.nan, 2)).all()
    assert np.isneginf(pooljit.max_pool2d(x * np.nan, 2, nan="ignore")).all()


def test_ties_away_from_zero():
    x = np.array([[1, 0, 3, 2, 2, 3, -1, 0, -3, -2]], np.int8)
    assert pooljit.avg_pool1d(x, 2).tolist() == [[0, 2, 2, 0, -2]]
    assert pooljit.avg_pool1d(x, 2, rounding="half_away").tolist() == [[1, 3, 3, -1, -3]]
    assert pooljit.compile("avg_pool1d(int8[1,10], kernel_size=2, rounding=half_away)")(x).tolist() == [[1, 3, 3, -1, -3]]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_dtypes(make_array, dtype):
    x = make_array(dtype, (2, 3, 6, 6))
    y = pooljit.max_pool2d(x, 2)
    assert y.dtype == x.dtype and np.array_equal(y, x.reshape(2, 3, 3, 2, 3, 2).max((3, 5)))


def test_bfloat16_without_a_name(make_array):
    x = make_array("bfloat16", (1, 2, 4, 4))
    y = pooljit.max_pool2d(x, 2)
    assert y.dtype == np.dtype("V2")
    wide = lambda a: (a.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    assert np.array_equal(wide(y), wide(x).reshape(1, 2, 2, 2, 2, 2).max((3, 5)))


ML_DTYPES = """
import ml_dtypes, numpy, pooljit
bfloat16 = numpy.dtype(ml_dtypes.bfloat16)
bits = (numpy.arange(16, dtype=numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16).reshape(1, 1, 4, 4)
def are_maxima(y):
    return y.dtype == bfloat16 and ((y.view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32) == [[5, 7], [13, 15]]).all()
assert are_maxima(pooljit.max_pool2d(bits.view(bfloat16), 2))
assert are_maxima(pooljit.max_pool2d(bits.view("V2"), 2, out=numpy.empty((1, 1, 2, 2), bfloat16)))
assert are_maxima(pooljit.reference("max_pool2d(bfloat16[1,1,4,4], kernel_size=2)", bits.view(bfloat16)).output)
"""


def test_bfloat16_of_ml_dtypes(tmp_path):
    """By a stand-in, which gives numpy the type as ml_dtypes does: Debian has no ml_dtypes."""
    command = ["gcc", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", f"-I{np.get_include()}",
               str(pathlib.Path(__file__).parent / "ml_dtypes.c"), "-o", str(tmp_path / "ml_dtypes.so")]
    subprocess.run(command, check=True)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ['PYTHONPATH']}"}
    subprocess.run([sys.executable, "-c", ML_DTYPES], env=environment, check=True)


class Lent:
    """What is known of it is __dlpack__ alone."""

    def __init__(self, array):
        self.array, self.__dlpack_device__ = array, array.__dlpack_device__

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


def test_dlpack(rng):
    x = rng.standard_normal((2, 3, 8, 8), np.float32)
    y = pooljit.compile(SPEC)(Lent(x))
    assert isinstance(y, np.ndarray) and np.array_equal(y, pooljit.compile(SPEC)(x))
    strided = rng.standard_normal((2, 3, 8, 16), np.float32)[..., ::2]
    assert np.array_equal(pooljit.max_pool2d(Lent(strided), 2), pooljit.max_pool2d(strided, 2))


def test_large_outputs_are_aligned():
    y = pooljit.max_pool2d(np.zeros((1, 8, 1024, 1024), np.float32), 1)
    assert y.ctypes.data % 64 == 0


def test_gaps_of_the_output_are_not_written(rng):
    kernel = pooljit.compile("max_pool2d(float32[1,2,4,4], kernel_size=2, output_strides=[40,16,6,2])")
    y = kernel(rng.standard_normal((1, 2, 4, 4), np.float32))
    assert [s // 4 for s in y.strides] == [40, 16, 6, 2]
    out = np.full(1 + 16 + 6 + 2, -7, np.float32)
    view = np.lib.stride_tricks.as_strided(out, (1, 2, 2, 2), [4 * s for s in (40, 16, 6, 2)])
    kernel(rng.standard_normal((1, 2, 4, 4), np.float32), out=view)
    assert np.count_nonzero(out == -7) == out.size - 8


def test_epilogue(rng):
    x = rng.standard_normal((2, 3, 4, 4), np.float32)
    scale, shift = rng.standard_normal((2, 3)).astype(np.float32)
    residual = rng.standard_normal((2, 3, 2, 2)).astype(np.float32)
    y = pooljit.max_pool2d(x, 2, epilogue=["scale_channel", "add", "relu"], operands=[scale, shift, residual])
    pooled = pooljit.max_pool2d(x, 2)
    wanted = np.maximum(pooled * scale[:, None, None] + shift[:, None, None] + residual, 0)
    assert np.array_equal(y, wanted)


def test_backward_and_unpool(rng):
    x = rng.standard_normal((2, 3, 8, 8), np.float32)
    y, i = pooljit.max_pool2d(x, 2, return_indices=True)
    back = pooljit.max_pool2d_backward(y, i, x.shape, 2)
    assert np.array_equal(back, pooljit.max_unpool2d(y, i, 2))
    assert np.array_equal(back != 0, x == np.repeat(np.repeat(y, 2, 2), 2, 3))
    kernel = pooljit.compile("max_pool2d_backward(float32[2,3,8,8], kernel_size=2)")
    assert np.array_equal(kernel(y, i), back)
    gradient = rng.standard_normal((2, 3, 9, 9), np.float32)  # within a stride of what the windows cover
    places = rng.integers(0, 81, y.shape)
    wanted = np.take_along_axis(gradient.reshape(2, 3, 81), places.reshape(2, 3, 16), 2).reshape(y.shape)
    assert np.array_equal(pooljit.max_unpool2d_backward(gradient, places, 2), wanted)
    assert np.array_equal(pooljit.max_unpool2d_backward(Lent(gradient), Lent(places), 2), wanted)
    assert np.array_equal(pooljit.max_unpool2d_backward(gradient[0], places[0], 2), wanted[0])
    assert np.array_equal(pooljit.adaptive_avg_pool2d_backward(Lent(y), x.shape), np.repeat(np.repeat(y, 2, 2), 2, 3) / 4)


def test_spec_is_a_value():
    spec = pooljit.Spec("F.max_pool2d(float32[1,2,8,8], 2, 1)")
    assert spec == pooljit.Spec(spec.text) and hash(spec) == hash(pooljit.Spec(spec))
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert spec.arguments == {"kernel_size": 2, "stride": 1} and spec.operator == "max_pool2d"
    for drawn in itertools.islice(pooljit.random_specs(3), 300):  # every text is read back by its parts
        assert drawn.operator in drawn.text and isinstance(drawn.arguments, dict)


def test_kernel_says_what_it_is():
    kernel = pooljit.compile(SPEC, backend="xbyak", isa="avx2", threads=1)
    assert (kernel.spec, kernel.backend, kernel.isa, kernel.dtype, kernel.index_dtype) == (SPEC, "xbyak", "avx2",
                                                                                          "float32", None)
    assert kernel.schedule in [row.schedule for row in pooljit.schedules(SPEC, isa="avx2")]
    assert "vmaxps" in kernel.asm() and "max" in kernel.program() and kernel.code_bytes > 0
    assert "proved" in kernel.prove()
    again = pickle.loads(pickle.dumps(kernel))
    assert again.spec == kernel.spec and again.options == kernel.options


def test_measure_finds_a_schedule_of_its_own(tmp_path):
    spec = "avg_pool2d(float32[1,8,20,20], kernel_size=3, stride=1)"
    measured = ("measured, ", "the default; not measured: ")  # the latter on a busy machine
    kernel = pooljit.compile(spec, measure=3)
    assert kernel.schedule_origin.startswith(measured) and kernel.options == {"measure": "3"}
    assert pooljit.compile(spec).schedule_origin == "the default"
    pooljit.set_measure("4,same_bits")
    try:
        assert pooljit.compile(spec).schedule_origin.startswith(measured)
        assert pooljit.compile(spec, measure=0).schedule_origin == "the default"
        x = np.linspace(-1, 1, 3200, dtype=np.float32).reshape(1, 8, 20, 20)
        assert (pooljit.avg_pool2d(x, 3, 1) == pooljit.avg_pool2d(x, 3, 1, measure=0)).all()
    finally:
        pooljit.set_measure(None)
    assert pooljit.compile(spec).schedule_origin == "the default"


def test_explanation_fits_the_kernel():
    why = pooljit.explain(SPEC, isa="avx2")
    assert why.schedule == pooljit.compile(SPEC, backend="xbyak", isa="avx2").schedule
    assert why.isa == "avx2" and why.decided_by in str(why) == why.text
    offered = [family for family in why.families if family.verdict == "offered"]
    assert why.schedule in [family.schedule for family in offered] and all(family.price for family in offered)
    assert all(family.reason for family in why.families if family not in offered)
    rules = [rule for family in why.families for rule in family.rules]
    assert rules and all(f"rule {rule.name}: {rule.about}" in str(why) for rule in rules)
    pools = pooljit.explain("pools(float32[1,8,64,64], avg_pool2d(2), max_pool2d(2))", isa="avx2")
    assert [member.spec.split("(")[0] for member in pools.members] == ["avg_pool2d", "max_pool2d"]
    assert pools.members[1] == pooljit.explain(pools.members[1].spec, isa="avx2")._replace(spec=pools.members[1].spec)
    assert not pools.families and not why.members


def test_threads_share_a_kernel(rng):
    kernel = pooljit.compile(SPEC)
    inputs = [rng.standard_normal((2, 3, 8, 8), np.float32) for _ in range(8)]
    wanted = [kernel(x) for x in inputs]
    failures = []

    def work(x, y):
        for _ in range(300):
            if not np.array_equal(kernel(x), y) or not np.array_equal(pooljit.max_pool2d(x, 3, 2, 1), y):
                failures.append(x)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(inputs, wanted)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_gil_is_free_while_a_kernel_runs():
    """Without a switch of its own accord, this thread gets on only if the other gives the GIL up in its calls."""
    kernel = pooljit.compile("avg_pool2d(float32[1,4,96,96], kernel_size=31, stride=1, padding=15)",
                             backend="interpreter", threads=1)
    x = np.zeros((1, 4, 96, 96), np.float32)
    got_on, noticed = threading.Event(), []

    def work():
        for _ in range(1000):
            kernel(x)
            if got_on.is_set():
                noticed.append(True)
                return

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        got_on.set()
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert noticed


def test_label_fallback_and_useful_parts():
    spec = "max_pool2d(float32[N,64,32,32], kernel_size=2)"
    kernel = pooljit.compile(spec, label="net/pool1", fallback="never")
    assert kernel.label == "net/pool1" and kernel.fallback == ""
    assert kernel.options == {"label": "net/pool1", "fallback": "never"}
    if kernel.isa != "none":
        assert kernel.asm().startswith("; pooljit:net/pool1:max_pool2d_f32_nchw_64x32x32_k2s2_" + kernel.isa)
    assert kernel.useful_parts() == 5 and kernel.useful_parts(4) == kernel.useful_parts(batch=4) == 20
    for given, wrong in [({"label": "a b"}, "runtime.label"), ({"fallback": "always"}, "runtime.options"),
                         ({"names": "vtune"}, "runtime.options")]:
        with pytest.raises(pooljit.InvalidError) as caught:
            pooljit.compile(spec, **given)
        assert caught.value.id == wrong
    for batch, wrong in [(-1, "run.batch"), ("x", "python.argument"), (2**70, "python.argument")]:
        with pytest.raises(pooljit.InvalidError) as caught:
            kernel.useful_parts(batch)
        assert caught.value.id == wrong


def work_of_a_child(number, x, wanted):
    """0, or what went wrong."""
    kernel = pooljit.compile(f"avg_pool2d(float32[1,3,{12 + number},30], kernel_size=2)", verify=number == 0)
    if kernel(np.ones((1, 3, 12 + number, 30), np.float32)).min() != 1:
        return 1
    pooljit.explain(kernel.spec)
    return 0 if np.array_equal(pooljit.max_pool2d(x, 2), wanted) else 2


def test_fork_while_others_work(rng):
    """In whatever compiles, and in Python's own code that it calls."""
    x = rng.standard_normal((2, 3, 12, 12), np.float32)
    wanted = pooljit.max_pool2d(x, 2)
    stop, told = threading.Event(), []

    def spec(n):
        return f"max_pool2d(float32[1,{n % 500 + 1},30,30], kernel_size=2)"

    def tell(what):
        told.append(what)
        pooljit.compile(spec(len(told)))

    works = [
        lambda n: pooljit.compile(spec(n)),
        lambda n: pooljit.compile(spec(n), measure=2),
        lambda n: (pooljit.schedules(spec(n)), pooljit.explain(spec(n))),
        lambda n: pooljit.tune("max_pool2d(float32[1,8,8,8], kernel_size=2)", 0.01, threads=1, progress=tell),
        lambda n: pooljit.compile("max_pool1d(float32[1,2,8], kernel_size=2)").prove(),
    ]

    def work_on(work):
        for n in itertools.count(1):
            if stop.is_set():
                return
            work(n)

    threads = [threading.Thread(target=work_on, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        for number in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                try:
                    os._exit(work_of_a_child(number, x, wanted))
                finally:
                    os._exit(9)
            assert os.waitpid(child, 0)[1] == 0, number
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert told


def test_several_pools_with_operands():
    """In the order of the members; a tensor lies as the member's part of the output does."""
    members = ["avg_pool2d(kernel_size=3, stride=1, padding=1, epilogue=[scale_channel])",
               "max_pool2d(kernel_size=3, stride=1, padding=1, epilogue=[add, relu])"]
    kernel = pooljit.compile("pools(float32[N,3,8,9]:nhwc, " + ", ".join(members) + ", concat=True)")
    assert kernel.operands == [("float32", (3,)), ("float32", (3,)), ("float32", (1, 3, 8, 9))]
    draw = np.random.default_rng(6).standard_normal
    x = draw((2, 8, 9, 3), np.float32).transpose(0, 3, 1, 2)
    scale, bias = draw(3, np.float32), draw(3, np.float32)
    whole = draw((2, 8, 9, 6), np.float32).transpose(0, 3, 1, 2)
    y = kernel(x, operands=[scale, bias, whole[:, 3:]])
    alone = [pooljit.compile(member.replace("(", "(float32[N,3,8,9]:nhwc, ", 1)) for member in members]
    packed = np.ascontiguousarray(whole[:, 3:].transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    assert np.array_equal(y[:, :3], alone[0](x, operands=[scale, bias]))
    assert np.array_equal(y[:, 3:], alone[1](x, operands=[packed]))
    apart = pooljit.compile("pools(float32[N,3,8,9]:nhwc, " + ", ".join(members) + ")")
    assert all(np.array_equal(a, b) for a, b in zip(apart(x, operands=[scale, bias, packed]), [y[:, :3], y[:, 3:]]))
    for id_, operands in [("run.operands", [scale]), ("python.shape", [scale, bias, packed[:, :, :4]]),
                          ("python.dtype", [scale, bias.astype(np.float64), packed]),
                          ("python.shape", [scale, bias, packed[:1]])]:
        with pytest.raises(pooljit.Error) as refused:
            apart(x, operands=operands)
        assert refused.value.id == id_


def test_several_pools():
    """A tuple of outputs, then of indices; what each member alone gives."""
    members = ["max_pool2d(kernel_size=2, return_indices=True)", "avg_pool2d(kernel_size=3, stride=1, padding=1)",
               "max_pool2d(kernel_size=3, return_indices=True, index_dtype=int32)"]
    kernel = pooljit.compile("pools(float32[N,3,8,9], " + ", ".join(members) + ")")
    assert kernel.results == [("float32", (1, 3, 4, 4)), ("float32", (1, 3, 8, 9)), ("float32", (1, 3, 2, 3)),
                              ("int64", (1, 3, 4, 4)), ("int32", (1, 3, 2, 3))]
    x = np.random.default_rng(5).random((2, 3, 8, 9), np.float32)
    results = kernel(x)
    assert isinstance(results, tuple)
    alone = [pooljit.compile(member.replace("(", "(float32[N,3,8,9], ", 1))(x) for member in members]
    wanted = [alone[0][0], alone[1], alone[2][0], alone[0][1], alone[2][1]]
    for got, want in zip(results, wanted):
        assert got.dtype == want.dtype and np.array_equal(got, want)
    out, indices = [np.empty_like(a) for a in wanted[:3]], [np.empty_like(a) for a in wanted[3:]]
    given = kernel(x, indices, out=out)
    assert all(a is b for a, b in zip(given, out + indices))
    assert all(np.array_equal(a, b) for a, b in zip(given, wanted))
    for id_, arguments in [("run.outputs", {"out": out[:2]}), ("run.indices", {"indices": indices + out}),
                           ("python.shape", {"out": out[::-1]}), ("python.dtype", {"indices": indices[::-1]}),
                           ("run.overlap", {"out": [out[0], x[:, :, :, :], out[2]]}), ("run.operands", {"operands": [x]})]:
        with pytest.raises(pooljit.Error) as refused:
            kernel(x, **arguments)
        assert refused.value.id == id_
    with pytest.raises(pooljit.InvalidError):
        kernel(x, out=5)
    one = pooljit.compile("pools(float32[1,3,8,9], max_pool2d(3, 1, 1), max_pool2d(5, 1, 2), concat=True, include_input=True)")
    assert one.results == [("float32", (1, 9, 8, 9))]
    assert np.array_equal(one(x)[:, :3], x) and isinstance(one(x), np.ndarray)


def test_oracle_of_several_pools(rng):
    """A list with what each pool alone means, with operands of its own."""
    members = ["max_pool2d(kernel_size=2, return_indices=True)", "avg_pool2d(kernel_size=3, epilogue=[mul_channel])"]
    spec = "pools(float32[2,3,8,9], " + ", ".join(members) + ")"
    x, scale = rng.standard_normal((2, 3, 8, 9), np.float32), rng.random(3, np.float32)
    found = pooljit.reference(spec, x, operands=[scale])
    alone = [pooljit.reference(member.replace("(", "(float32[2,3,8,9], ", 1), x, operands=own)
             for member, own in zip(members, ([], [scale]))]
    assert len(found) == 2 and found[1].indices is None
    assert all(np.array_equal(a.output, b.output) and np.array_equal(a.bound, b.bound) for a, b in zip(found, alone))
    outputs, indices = [one.output for one in found], [one.indices for one in found]
    assert all(pooljit.compare(spec, x, outputs, indices, operands=[scale]))
    judged = pooljit.compare(spec, x, [outputs[0], outputs[1] + 1], indices, operands=[scale])
    assert [one.verdict for one in judged] == ["right", "wrong"]


FREE = "max_pool2d(float32[N,3,H,W], kernel_size=3, stride=2, padding=1, return_indices=True)"


def test_free_dims(rng):
    kernel = pooljit.compile(FREE)
    assert kernel.free_dims == ("H", "W") and kernel.spec == FREE and kernel.dtype == "float32" and kernel.index_dtype == "int64"
    for n, height, width in [(1, 8, 8), (2, 1, 9), (1, 33, 17), (3, 8, 8)]:
        x = rng.standard_normal((n, 3, height, width), np.float32)
        y, i = kernel(x)
        wanted, places = pooljit.max_pool2d(x, 3, 2, 1, return_indices=True)
        assert np.array_equal(y, wanted) and np.array_equal(i, places)
        sized = kernel.sized(height, width)
        assert sized.free_dims == () and sized.output_shape == (1, *y.shape[1:]) and np.array_equal(sized(x)[0], y)


@pytest.mark.parametrize("exact_after", [-1, 0, 1, 2])
def test_free_dims_of_one_code(rng, exact_after):
    kernel = pooljit.compile("max_pool2d(float32[N,3,H,W]:nhwc, kernel_size=3, stride=2, padding=1)", exact_after=exact_after)
    for height, width in [(8, 8), (1, 9), (33, 17)] * 3:
        x = np.ascontiguousarray(rng.standard_normal((2, height, width, 3), np.float32)).transpose(0, 3, 1, 2)
        assert np.array_equal(kernel(x), pooljit.max_pool2d(x, 3, 2, 1))
    with pytest.raises(pooljit.InvalidError, match="exact_after"):
        pooljit.compile("max_pool2d(float32[N,3,H,W], kernel_size=3)", exact_after=-2)


@pytest.mark.parametrize("is_nhwc", [False, True])
@pytest.mark.parametrize("call", [
    lambda x, **options: pooljit.max_pool2d(x, 3, 2, 1, **options),
    lambda x, **options: pooljit.avg_pool2d(x, (2, 3), **options),
    lambda x, **options: pooljit.max_pool2d(x, 2, return_indices=True, **options)[1],
    lambda x, **options: pooljit.adaptive_avg_pool2d(x, 2, **options),
    lambda x, **options: pooljit.adaptive_max_pool2d(x, (None, 2), **options),
    lambda x, **options: pooljit.max_pool2d(x[:, ::2], 2, **options),
])
def test_functions_of_free_dims(rng, is_nhwc, call):
    for extents in [(8, 8), (5, 9), (33, 17), (8, 8)]:
        # Whole numbers, whose sums are the same in any order.
        x = rng.integers(-99, 99, (2, 6, *extents)).astype(np.float32)
        if is_nhwc:
            x = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
        assert np.array_equal(call(x, free_dims=True), call(x))


def test_specs_of_functions_of_free_dims():
    def text(name, shape, *arguments, strides=None, free=True, **options):
        return getattr(pooljit, name).__globals__["_op"].spec("float32", shape, strides, arguments, options, free)[0]

    assert text("max_pool2d", (1, 11, 40, 50), 3).startswith("max_pool2d(float32[1,11,H,W], ")
    assert text("max_pool2d", (1, 11, 40, 50), 3, free=False, free_dims=True).startswith("max_pool2d(float32[1,11,H,W], ")
    assert text("avg_pool3d", (11, 4, 5, 6), 2).startswith("avg_pool3d(float32[11,D,H,W], ")
    assert text("max_pool1d", (2, 3, 4), 2, strides=(12, 1, 3)).startswith("max_pool1d(float32[2,3,L]:nwc, ")
    assert text("adaptive_avg_pool2d", (1, 3, 8, 8), (2, 3)) == "adaptive_avg_pool2d(float32[1,3,H,W], output_size=[2,3])"
    # What follows from the shape.
    assert "[1,3,8,8]" in text("adaptive_avg_pool2d", (1, 3, 8, 8), (None, 3))
    assert "[1,3,8,8]" in text("max_pool2d", (1, 3, 8, 8), 2, free_dims=False)
    assert "[1,3,4,4]" in text("max_pool2d", (1, 3, 4, 4), 2, strides=(96, 32, 8, 2))
    assert "[1,3,8,8]" in text("avg_pool2d_backward", (1, 3, 4, 4), (8, 8), 2, None, 0, False, True, None)


def test_set_free_dims():
    assert not pooljit.get_free_dims()
    pooljit.set_free_dims(True)
    try:
        assert pooljit.get_free_dims()
        for n in (40, 41):
            assert pooljit.max_pool2d(np.zeros((1, 11, n, n), np.float32), 3, 2).shape == (1, 11, (n - 3) // 2 + 1, (n - 3) // 2 + 1)
    finally:
        pooljit.set_free_dims(False)
    with pytest.raises(pooljit.InvalidError, match="free_dims"):
        pooljit.max_pool2d(np.zeros((1, 11, 50, 50), np.float32), 3, 2, free_dims="yes")


def test_free_dims_of_every_form(rng):
    spec = pooljit.Spec("pools(float32[N,4,H,W]:nhwc, max_pool2d(kernel_size=3, stride=1, padding=1), global_avg_pool2d())")
    # Whole numbers, whose sums are the same in any order.
    x = np.ascontiguousarray(rng.integers(-99, 99, (2, 5, 7, 4)).astype(np.float32)).transpose(0, 3, 1, 2)
    largest, mean = pooljit.compile(spec)(x)
    assert largest.shape == (2, 4, 5, 7) and np.array_equal(mean, pooljit.compile(spec.sized(5, 7))(x)[1])
    blocked = pooljit.compile("avg_pool1d(float32[N,9,L]:nchw8c, kernel_size=2)")
    assert blocked(np.ones((1, 2, 6, 8), np.float32)).shape == (1, 2, 3, 8)
    gradient = pooljit.compile("avg_pool1d_backward(float32[N,2,L], kernel_size=2)")
    out = np.empty((1, 2, 7), np.float32)
    assert gradient(np.ones((1, 2, 3), np.float32), out=out) is out and out[0, 0].tolist() == [0.5] * 6 + [0]
    with pytest.raises(pooljit.InvalidError, match="run.dims"):
        gradient(np.ones((1, 2, 3), np.float32))


def test_the_code_for_all_sizes_is_shown():
    text = "max_pool2d(uint8[N,64,H,W]:nhwc, kernel_size=3)"
    kernel = pooljit.compile(text, label="stem", backend="xbyak")
    one = kernel.sized(9, 12)
    for name in ("backend", "isa", "schedule", "schedule_origin", "code_bytes", "label", "proof"):
        assert getattr(kernel, name) == getattr(one, name), name
    assert kernel.schedule.startswith("channels_last") and kernel.code_bytes > 0 and kernel.compile_seconds > 0
    assert kernel.fallback == ""
    # Of a size it is the same code, which reads what it has to know of one.
    assert kernel.asm() == one.asm() and kernel.asm().startswith("; pooljit:stem:max_pool2d_u8_nhwc_64xany_k3s3_")
    assert kernel.program() == one.program() and "param size" in kernel.program()
    assert kernel.program(legal=True) == one.program(legal=True) != kernel.program()
    assert "proved" in kernel.prove()
    own = pooljit.compile(pooljit.Spec(text).sized(9, 12), backend="xbyak")
    assert "param size" not in own.program()


def test_where_each_size_has_its_own_code_it_is_shown_of_a_size():
    kernel = pooljit.compile("max_pool1d(float32[N,2,L], kernel_size=4, strides=[400,200,2])")
    assert kernel.schedule_origin
    for name in ("backend", "isa", "schedule", "code_bytes", "compile_seconds", "proof"):
        with pytest.raises(pooljit.InvalidError, match="run.dims.*sized"):
            getattr(kernel, name)
    for ask in (kernel.asm, kernel.program, kernel.prove):
        with pytest.raises(pooljit.InvalidError, match="run.dims.*sized"):
            ask()
    assert kernel.sized(7).schedule


def test_what_needs_a_size_says_so():
    kernel, spec = pooljit.compile(FREE), pooljit.Spec(FREE)
    for name in ("output_shape", "input_strides", "operands", "results"):
        with pytest.raises(pooljit.InvalidError, match="run.dims.*sized"):
            getattr(kernel, name)
    for ask in (kernel.time, kernel.useful_parts):
        with pytest.raises(pooljit.InvalidError, match="run.dims.*sized"):
            ask()
    with pytest.raises(pooljit.InvalidError, match="spec.free"):
        spec.output_shape
    with pytest.raises(pooljit.InvalidError, match="spec.output_size"):
        pooljit.compile("max_pool2d(float32[N,3,H,W], kernel_size=3)")(np.ones((1, 3, 2, 9), np.float32))
    with pytest.raises(pooljit.InvalidError, match="spec.sizes"):
        kernel.sized(3)
    with pytest.raises(pooljit.InvalidError, match="python.shape"):
        kernel(np.ones((3, 8, 8), np.float32))
    with pytest.raises(pooljit.InvalidError, match="runtime.options"):
        pooljit.compile(SPEC, sizes=3)
    assert pooljit.compile(FREE, sizes=3).options == {"sizes": 3}
