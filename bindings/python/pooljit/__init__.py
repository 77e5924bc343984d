"""pooljit: one line of text describes a pooling layer, a kernel made for exactly that layer comes back.

    import numpy, pooljit
    k = pooljit.compile("max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)")
    y = k(x)                                             # x: numpy, PyTorch or anything with __dlpack__; no copy
    y = pooljit.max_pool2d(x, 3, stride=2, padding=1)    # PyTorch's signature; the kernel is found by what x is

What there is:

    compile, Kernel, Spec            a layer as a text and as a kernel
    max_pool2d, avg_pool2d, ...      every operator, in one to three dimensions (pooljit.layers())
    random_specs, reference, compare what fuzzers need: layers, the oracle, a judge
    schedules, evaluate, tune        what tuners need
    explain                          why a layer gets its schedule
    Error, InvalidError, ...         every error has .id and .hint
    pooljit.torch                    autograd; whole models and PyTorch's own operators on our kernels
    pooljit.onnx                     a backend for ONNX

Threads: every function may be called from any thread; the GIL is released while a kernel runs or compiles. Of
PyTorch's tensors a kernel uses PyTorch's threads, else those of a pool of its own (set_num_threads, threads=).
fork: a child runs and compiles kernels as its parent does.

docs/python.md is the manual, docs/specs.md says what a spec can say, docs/semantics.md what the results are.
"""
from . import _core, _functional, _words
from ._core import Kernel, get_free_dims, get_num_threads
from ._errors import *  # noqa: F401,F403
from ._errors import __all__ as _error_names
from ._functional import *  # noqa: F401,F403
from ._functional import __all__ as _function_names
from ._lab import (Comparison, Explanation, FamilyVerdict, Reference, Rule, Samples, ScheduleInfo, Timing, TuneResult, compare, evaluate,
                   explain, random_specs, reference, schedules, tune)
from ._spec import Spec, text_of as _text_of
from ._texts import describe as _describe

__version__ = _core.version
differences = _core.differences
# Not compile and SystemError: `from pooljit import *` hides nothing of Python's own.
__all__ = [
    "Comparison", "Explanation", "FamilyVerdict", "Kernel", "Reference", "Rule", "Samples", "ScheduleInfo", "Spec", "Timing", "TuneResult",
    "compare", "differences", "evaluate", "explain", "get_free_dims", "get_num_threads", "layers", "random_specs", "reference",
    "schedules", "set_free_dims", "set_measure", "set_num_threads", "tune", *(set(_error_names) - {"SystemError"}), *_function_names
]


def compile(spec, **options):  # noqa: A001: the library's own name for it
    """Compiles a layer, or finds its kernel in the cache.

    Args:
        spec: a text or Spec.
        backend: "auto", "xbyak", "llvm", "interpreter" or "reference".
        isa: "auto", "avx2" or "avx512".
        schedule: as schedules() lists them; "": the best one.
        threads: 0: as many as the process may use, of PyTorch's tensors as many as PyTorch uses.
        verify: True: the code is proved first (docs/proof.md says what is assumed); fractions of a second to minutes.
        tune_db: a file of tune().
        measure: how many schedules are timed when the layer is first compiled, 6 say, of which the fastest is taken; 0:
            none; "same_bits" or "6,same_bits": only such as give the default's bits. About 3 ms a layer. Default:
            set_measure().
        fallback: what backend "auto" is where no machine code can run: "reference", or "never": an error.
        names: who is told the kernel's name: "perf", "jitdump", "gdb", joined by commas.
        label: the layer's name in its model, which they show before ours.
        sizes: of a spec with free dims, float32[N,64,H,W]: how many sizes are kept; 0: 64.
        exact_after: of a spec with free dims: the call of a size that makes code for it alone, with the same bits; 1: the
            first, -1: none; 0: the call that pays for it.

    Returns:
        Kernel: takes arrays, see there. Any batch will do, with the same code; where dims are free, any size.

    Raises:
        InvalidError, UnsupportedError, SystemError: docs/errors.md.

    >>> import numpy, pooljit
    >>> k = pooljit.compile("max_pool2d(float32[1,2,4,4], kernel_size=2, return_indices=True)")
    >>> y, i = k(numpy.arange(96, dtype=numpy.float32).reshape(3, 2, 4, 4))
    >>> y.shape, i[0, 0].tolist()
    ((3, 2, 2, 2), [[5, 7], [13, 15]])
    """
    return _core.compile(_text_of(spec), _words.options(options))


def set_num_threads(threads):
    """Of the functions, for each kernel: how many threads it runs on.

    Args:
        threads: 0, the default: as many as the process may use, of PyTorch's tensors as many as PyTorch uses.

    >>> import pooljit
    >>> pooljit.set_num_threads(2)
    >>> pooljit.get_num_threads()
    2
    >>> pooljit.set_num_threads(0)
    """
    _core.set_num_threads(_words.integer("set_num_threads", threads, 0, 65536))


def set_free_dims(free):
    """Whether a function's kernel takes every height and width, where free_dims= is not given.

    Args:
        free: True: images of another size each time, such as a detector's. Of all sizes of a layer only the first call
            compiles; one that is called often gets code of its own, with the same bits. Sums and averages of floats may
            add in another order than the kernel of one shape, within the same bounds. Gradients, unpools, arrays that are
            neither packed nor channels last, and None in output_size have kernels of one shape all the same. False, the
            default: a kernel for each shape, which is faster for a few sizes.

    >>> import numpy, pooljit
    >>> pooljit.set_free_dims(True)
    >>> [pooljit.max_pool2d(numpy.zeros((1, 8, n, n), numpy.float32), 2).shape for n in (4, 6)]
    [(1, 8, 2, 2), (1, 8, 3, 3)]
    >>> pooljit.set_free_dims(False)
    """
    _core.set_free_dims(_words.truth("set_free_dims", free))


def set_measure(measure):
    """What compile's `measure` is where it is not given, for layers that are compiled from now on.

    Args:
        measure: 6, 0, "same_bits" or "6,same_bits"; None: what the environment variable POOLJIT_MEASURE says, as at first.

    Raises:
        InvalidError: "runtime.options".

    >>> import pooljit
    >>> pooljit.set_measure(6)
    >>> pooljit.set_measure(None)
    """
    _core.set_measure("" if measure is None else _words.options({"measure": measure})["measure"])


def layers():
    """The names of the operators, each a function here: ["adaptive_avg_pool1d", ...].

    >>> import pooljit
    >>> "max_pool2d" in pooljit.layers()
    True
    """
    return sorted(_function_names)


_describe(_core)
