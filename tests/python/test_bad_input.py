"""What is wrong is an exception with an id, or gives the right result: never a crash, nothing is half-written."""
import array
import gc
import multiprocessing
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import pooljit

SPEC = "max_pool2d(float32[2,3,8,8], kernel_size=2)"
POOLS = "pools(float32[2,3,8,8], max_pool2d(2), avg_pool2d(2))"
INDEXED = "max_pool2d(float32[2,3,8,8], kernel_size=2, return_indices=True)"
BACKWARD = "max_pool2d_backward(float32[2,3,8,8], kernel_size=2)"
F32 = np.float32


def good(shape=(2, 3, 8, 8), dtype=F32):
    return np.zeros(shape, dtype)


def read_only():
    y = good((2, 3, 4, 4))
    y.flags.writeable = False
    return y


class Strange:
    """__dlpack__ that gives what it should not."""

    def __init__(self, device, capsule=None):
        self.device, self.capsule = device, capsule

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        return self.capsule


class Lent(Strange):
    def __init__(self, lent):
        super().__init__((1, 0))
        self.lent = lent

    def __dlpack__(self, stream=None):
        return self.lent.__dlpack__()


def overlapping(is_output):
    """An input and an output, or indices, in one buffer."""
    memory = np.zeros(2000, F32)
    x = memory[:384].reshape(2, 3, 8, 8)
    if is_output:
        return (x,), {"out": memory[300:396].reshape(2, 3, 4, 4)}
    return (x,), {"indices": memory[300:492].view(np.int64).reshape(2, 3, 4, 4)}


CASES = [
    # spec, positional, keywords, id
    ("a list", SPEC, ([1, 2],), {}, "python.array"),
    ("None", SPEC, (None,), {}, "python.array"),
    ("bytes", SPEC, (b"x" * 1536,), {}, "python.array"),
    ("an array of Python's", SPEC, (array.array("f", [0] * 384),), {}, "python.array"),
    ("a masked array", SPEC, (np.ma.masked_array(good(), good() > 1),), {}, "python.array"),
    ("no argument", SPEC, (), {}, "python.call"),
    ("three arguments", SPEC, (good(), None, None), {}, "python.call"),
    ("unknown keyword", SPEC, (good(),), {"output": good()}, "python.call"),
    ("dtype", SPEC, (good(dtype=np.float64),), {}, "python.dtype"),
    ("complex", SPEC, (good(dtype=np.complex64),), {}, "python.dtype"),
    ("bool", SPEC, (good(dtype=bool),), {}, "python.dtype"),
    ("objects", SPEC, (good(dtype=object),), {}, "python.dtype"),
    ("texts", SPEC, (good(dtype="U4"),), {}, "python.dtype"),
    ("records", SPEC, (good(dtype=[("a", "u1"), ("b", "u1")]),), {}, "python.dtype"),
    ("bytes in the other order", SPEC, (good(dtype=">f4"),), {}, "python.dtype"),
    ("shape", SPEC, (good((2, 3, 8, 9)),), {}, "python.shape"),
    ("rank", SPEC, (good((3, 8, 8)),), {}, "python.shape"),
    ("a number", SPEC, (np.float32(1),), {}, "python.array"),
    ("no dimension", SPEC, (np.array(1, F32),), {}, "python.shape"),
    ("32 dimensions", SPEC, (good((1,) * 32),), {}, "python.shape"),
    ("strides", SPEC, (good((2, 8, 8, 3)).transpose(0, 3, 1, 2),), {}, "python.strides"),
    ("negative strides", SPEC, (good()[:, :, ::-1],), {}, "python.strides"),
    ("a field of records", SPEC, (good(dtype=[("a", "f4"), ("b", "u1")])["a"],), {}, "python.strides"),
    ("device", SPEC, (Strange((2, 0)),), {}, "python.device"),
    ("out: dtype", SPEC, (good(),), {"out": good((2, 3, 4, 4), np.int32)}, "python.dtype"),
    ("out: shape", SPEC, (good(),), {"out": good((2, 3, 4, 5))}, "python.shape"),
    ("out: batch", SPEC, (good(),), {"out": good((1, 3, 4, 4))}, "python.shape"),
    ("out: strides", SPEC, (good(),), {"out": good((2, 4, 4, 3)).transpose(0, 3, 1, 2)}, "python.strides"),
    ("out: read-only", SPEC, (good(),), {"out": read_only()}, "python.readonly"),
    ("out: broadcast", SPEC, (good(),), {"out": np.broadcast_to(F32(0), (2, 3, 4, 4))}, "python.readonly"),
    ("out: another's", SPEC, (good(),), {"out": Lent(good((2, 3, 4, 4)))}, "python.out"),
    ("out: overlaps", SPEC, *overlapping(True), "run.overlap"),
    ("out: a list", SPEC, (good(),), {"out": [0]}, "python.array"),
    ("indices: overlap", INDEXED, *overlapping(False), "run.overlap"),
    ("indices: not asked for", SPEC, (good(), good((2, 3, 4, 4), np.int64)), {}, "run.indices"),
    ("indices: dtype", INDEXED, (good(), good((2, 3, 4, 4), np.int32)), {}, "python.dtype"),
    ("indices: missing", BACKWARD, (good((2, 3, 4, 4)),), {}, "run.indices"),
    ("indices: batch", BACKWARD, (good((2, 3, 4, 4)), good((1, 3, 4, 4), np.int64)), {}, "python.shape"),
    ("operands: too many", SPEC, (good(),), {"operands": [good()]}, "run.operands"),
    ("operands: missing", SPEC.replace(")", ", epilogue=[add])"), (good(),), {}, "run.operands"),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_kernel(case):
    _, spec, positional, keywords, id_ = case
    with pytest.raises(pooljit.InvalidError) as caught:
        pooljit.compile(spec)(*positional, **keywords)
    assert caught.value.id == id_ and caught.value.message and isinstance(caught.value, ValueError)
    out = keywords.get("out")
    if isinstance(out, np.ndarray):
        assert not out.any()  # nothing was written


def of_itself():
    endless = []
    endless.append(endless)
    return endless


FUNCTIONS = [
    ("no window", lambda x: pooljit.max_pool2d(x, 0), "spec.kernel_size"),
    ("text for a number", lambda x: pooljit.max_pool2d(x, "large"), "spec.value"),
    ("half a window", lambda x: pooljit.max_pool2d(x, 2.5), "spec.value"),
    ("an object", lambda x: pooljit.max_pool2d(x, object()), "python.argument"),
    ("too many numbers", lambda x: pooljit.max_pool2d(x, (2, 2, 2)), "spec.count"),
    ("too many dimensions", lambda x: pooljit.max_pool2d(x[None], 2), "python.shape"),
    ("too few dimensions", lambda x: pooljit.max_pool2d(x[0, 0], 2), "python.shape"),
    ("unknown keyword", lambda x: pooljit.max_pool2d(x, 2, strides=(1, 2)), "spec.count"),
    ("no such keyword", lambda x: pooljit.max_pool2d(x, 2, dilations=2), "spec.keyword"),
    ("another operator's", lambda x: pooljit.max_pool2d(x, 2, divisor_override=3), "spec.option"),
    ("larger than 64 bits", lambda x: pooljit.max_pool2d(x, 2**70), "spec"),
    ("no channels", lambda x: pooljit.max_pool2d(x[:, :0], 2), "spec.size"),
    ("text that closes the spec", lambda x: pooljit.max_pool2d(x, 2, nan="ignore), stride=(1"), "spec"),
    ("an epilogue of numbers", lambda x: pooljit.max_pool2d(x, 2, epilogue=[3]), "spec.value"),
    ("no back end", lambda x: pooljit.max_pool2d(x, 2, backend="none"), "runtime.options"),
    ("a list of itself", lambda x: pooljit.max_pool2d(x, of_itself()), "python.argument"),
    ("an epilogue of itself", lambda x: pooljit.max_pool2d(x, 2, epilogue=of_itself()), "python.argument"),
    ("a seed", lambda x: pooljit.random_specs(-1), "python.argument"),
    ("verify", lambda x: pooljit.compile(SPEC, verify="no"), "python.option"),
    ("threads", lambda x: pooljit.max_pool2d(x, 2, threads=-1), "python.option"),
    ("an option", lambda x: pooljit.compile(SPEC, fast=True), "python.option"),
    ("a spec", lambda x: pooljit.compile("max_pool2d("), "spec"),
    ("no spec", lambda x: pooljit.compile(None), "python.argument"),
    ("a dialect", lambda x: pooljit.Spec(SPEC).dialect("latin"), "python.dialect"),
    ("an oracle for unpooling", lambda x: pooljit.reference("max_unpool2d(float32[2,3,8,8], kernel_size=2)", x),
     "python.unpool"),
    ("compared: shape", lambda x: pooljit.compare(SPEC, x, x), "python.shape"),
    ("compared: no indices", lambda x: pooljit.compare(INDEXED, x, good((2, 3, 4, 4))), "run.indices"),
    ("compared: no outputs", lambda x: pooljit.compare(SPEC, x, []), "run.outputs"),
    ("compared: an output for two pools", lambda x: pooljit.compare(POOLS, x, good((2, 3, 4, 4))), "run.outputs"),
    ("compared: three outputs for two pools", lambda x: pooljit.compare(POOLS, x, [good((2, 3, 4, 4))] * 3),
     "run.outputs"),
    ("compared: indices for one of two pools",
     lambda x: pooljit.compare(POOLS, x, [good((2, 3, 4, 4))] * 2, [None]), "run.indices"),
    ("an operand for no pool", lambda x: pooljit.reference(POOLS, x, operands=[x]), "run.operands"),
    ("a schedule", lambda x: pooljit.evaluate(SPEC, "fast"), "schedule"),
    ("a folder for a database", lambda x: pooljit.tune(SPEC, 0.1, db="/"), ("tune", "file")),
    ("measure", lambda x: pooljit.compile(SPEC, measure="fast"), "runtime.options"),
    ("a measure that is none", lambda x: pooljit.compile(SPEC, measure=1.5), "python.option"),
    ("set_measure", lambda x: pooljit.set_measure(1), "runtime.options"),
    ("set_num_threads", lambda x: pooljit.set_num_threads(-1), "python.argument"),
]


@pytest.mark.parametrize("case", FUNCTIONS, ids=[case[0] for case in FUNCTIONS])
def test_function(case):
    _, call, id_ = case
    for _ in range(2):  # what is refused is not kept
        with pytest.raises(pooljit.Error) as caught:
            call(good())
        assert caught.value.id.startswith(id_), caught.value


def test_dlpack_that_lies():
    for device, capsule in (((1, 0), None), ((1, 0), 7), ((1, 0), "text"), (7, None), (("a", 0), None)):
        with pytest.raises(pooljit.InvalidError) as caught:
            pooljit.compile(SPEC)(Strange(device, capsule))
        assert caught.value.id == "python.array"
    used = good().__dlpack__()
    pooljit.compile(SPEC)(Strange((1, 0), used))
    with pytest.raises(pooljit.InvalidError):
        pooljit.compile(SPEC)(Strange((1, 0), used))


def test_kernels_are_compiled():
    for make in (lambda: pooljit.Kernel(), lambda: pooljit.Kernel.__new__(pooljit.Kernel),
                 lambda: object.__new__(pooljit.Kernel), lambda: type("Mine", (pooljit.Kernel,), {})):
        with pytest.raises(TypeError):
            make()


def test_operands_that_change_their_list():
    class Changing(Lent):
        def __dlpack__(self, stream=None):
            operands[:] = [None] * 100
            return super().__dlpack__()

    kernel = pooljit.compile(SPEC.replace(")", ", epilogue=[scale_channel])"))
    for call in (lambda: kernel(good(), operands=operands),
                 lambda: pooljit.max_pool2d(good(), 2, epilogue=["scale_channel"], operands=operands)):
        operands = [Changing(np.ones(3, F32)), np.ones(3, F32)]
        assert (call() == 1).all()
    assert not pooljit.compile(SPEC)(good(), operands=None).any()


def test_errors_of_the_caller_pass_through():
    class Broken:
        def __dlpack_device__(self):
            raise ZeroDivisionError("mine")
        __dlpack__ = __dlpack_device__

    with pytest.raises(ZeroDivisionError, match="mine"):
        pooljit.compile(SPEC)(Broken())


def test_arrays_freed_while_their_kernel_runs():
    """The caller's references go; the call's stay."""
    kernel = pooljit.compile("avg_pool2d(float32[1,8,128,128], kernel_size=15, stride=1, padding=7)", threads=1)
    wanted = kernel(np.ones((1, 8, 128, 128), F32))
    failures = []

    def work():
        for _ in range(10):
            if not np.array_equal(kernel(np.ones((1, 8, 128, 128), F32)), wanted):
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        gc.collect()
        np.full((1, 8, 128, 128), 7, F32)  # takes memory that was freed too early
    assert not failures


def test_references_are_given_back():
    kernel, x, out = pooljit.compile(INDEXED), good(), good((2, 3, 4, 4))
    calls = [lambda: kernel(x), lambda: pooljit.max_pool2d(x, 2, return_indices=True), lambda: kernel(x, out=out)]
    bad = [lambda: kernel(x[:, :, ::-1]), lambda: pooljit.max_pool2d(x, 2, dilations=2), lambda: kernel(out=out)]
    objects = [x, out, x.dtype, kernel, np.ndarray, None, True]
    for call in calls:
        call()
    before = [sys.getrefcount(thing) for thing in objects]
    for _ in range(1000):
        for call in calls:
            call()
    for _ in range(100):
        for call in bad:
            with pytest.raises(pooljit.Error):
                call()
    assert all(abs(a - b) < 50 for a, b in zip([sys.getrefcount(thing) for thing in objects], before))


SHUTDOWN = """
import threading, numpy, pooljit
kernel = pooljit.compile("avg_pool2d(float32[1,8,64,64], kernel_size=5, stride=1, padding=2)")
x = numpy.ones((1, 8, 64, 64), numpy.float32)
started = threading.Semaphore(0)
def work():
    started.release()
    n = 0
    while True:
        kernel(x)
        n += 1
        pooljit.max_pool2d(x, 2, stride=n % 7 + 1)
        pooljit.compile(f"max_pool2d(float32[1,{n % 90 + 1},9,9], kernel_size=2)")
def tune():
    started.release()
    while True:
        pooljit.tune("max_pool2d(float32[1,8,8,8], kernel_size=2)", 0.05, threads=1, progress=lambda _: started.release())
for _ in range(2):
    threading.Thread(target=tune, daemon=True).start()
for _ in range(6):
    threading.Thread(target=work, daemon=True).start()
for _ in range(6):
    started.acquire()
"""


@pytest.mark.parametrize("attempt", range(5))
def test_shutdown_with_threads_at_work(attempt):
    """Daemon threads are in kernels, compiles and the tuner when the interpreter ends."""
    code = SHUTDOWN + f"import time; time.sleep({0.02 * attempt})\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")


def pools(sent):
    sent.send(float(pooljit.avg_pool2d(np.ones((1, 64, 112, 112), F32), 3).sum()))


def test_fork_within_a_callback_of_the_tuner():
    """The tuner holds forks up, but not those of its own callback."""
    context = multiprocessing.get_context("fork")
    received = []

    def progress(_):
        if not received:
            here, there = context.Pipe()
            child = context.Process(target=pools, args=(there,))
            child.start()
            received.append(here.recv() if here.poll(60) else None)
            child.join(60)
            pooljit.compile("max_pool2d(float32[1,5,5,5], kernel_size=2)")

    pooljit.tune("max_pool2d(float32[1,8,8,8], kernel_size=2)", 0.05, threads=1, progress=progress)
    assert received == [64 * 37 * 37]


def test_an_error_of_a_callback_stops_the_tuner():
    def progress(_):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        pooljit.tune("max_pool2d(float32[1,8,8,8], kernel_size=2)", 5, progress=progress)


def test_threads_that_outlive_the_interpreter():
    """The process waits half a second between the interpreter's end and its own, which is by a signal."""
    code = SHUTDOWN + """
import ctypes, signal
libc = ctypes.CDLL(None)
libc.__cxa_atexit(ctypes.cast(libc.pause, ctypes.c_void_p), None, None)
signal.setitimer(signal.ITIMER_REAL, 0.5)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (-signal.SIGALRM, "")
