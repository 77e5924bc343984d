"""The docstrings and signatures of what is written in C++, where doctest and people find them."""
import inspect

_KERNEL = """A compiled layer: kernel(input, indices=None, *, out=None, operands=()).

    Args:
        input: an array of the spec's dtype, shape and strides; N may be another. numpy, PyTorch or __dlpack__; no
            copy is made. Of a blocked layout (nchw8c) it has the blocks as its last dimension.
        indices: read by max_pool_backward and max_unpool; where the kernel makes them, written instead of a new array.
        out: written instead of a new array. Of pools with several results a list of arrays, as are indices then.
        operands: what the epilogue takes, in the order of its steps.

    Returns:
        the output, or (output, indices): arrays of the input's library, in the spec's output layout. Of pools with several
        results a tuple: all outputs, then all indices, as `results` lists them.

    Raises:
        InvalidError: "python.dtype", "python.shape", "python.strides", "python.device", "python.readonly",
            "python.array", "python.out", "run.outputs", "run.indices", "run.operands", "run.overlap". Nothing is written then.

    Immutable, and may be run by many threads at once. Keep it: a Kernel is found faster than a text.

    >>> import numpy, pooljit
    >>> k = pooljit.compile("max_pool2d(float32[1,1,2,2], kernel_size=2)")
    >>> out = numpy.empty((1, 1, 1, 1), numpy.float32)
    >>> k(numpy.float32([[[[1, 2], [4, 3]]]]), out=out) is out
    True
    >>> k.spec, k.output_shape, float(out[0, 0, 0, 0])
    ('max_pool2d(float32[1,1,2,2], kernel_size=2)', (1, 1, 1, 1), 4.0)
    """
_MEMBERS = {
    "spec": "The canonical text.",
    "signature": "What the code depends on: the canonical text with N for the batch.",
    "backend": 'Chosen: "xbyak".',
    "isa": 'Chosen: "avx512"; "none" of the reference.',
    "schedule": "Chosen, as schedules() lists them; empty of the reference.",
    "schedule_origin": 'Why that one, for people: "the default", "asked for", "tuned: FILE", "measured, 6 candidates, 2.1 ms".',
    "fallback": "Why the reference runs it instead of machine code; empty: it was not needed.",
    "label": "compile's `label`.",
    "free_dims": '("H", "W") of float32[N,64,H,W]: a call is of the size of its arrays; what is of one size, sized() has.',
    "proof": "What verify=True proved; else empty.",
    "code_bytes": "Of machine code; does not grow with the tensor.",
    "compile_seconds": "From text to callable, when the code was made.",
    "dtype": 'Of the input: "float32".',
    "output_dtype": 'Of the output: "float32".',
    "index_dtype": "Of the indices; None of a kernel without.",
    "input_shape": "N (if batched), C and spatial.",
    "output_shape": "The same of the output, and of indices that are made; of several outputs the first.",
    "input_strides": "In elements; of a blocked layout, that of C is of blocks.",
    "output_strides": "The same of output and indices.",
    "operands": "[(dtype, shape), ...] of what the epilogue takes.",
    "results": "[(dtype, shape), ...] of what a call gives.",
    "options": "What it was compiled with, where that is not the default.",
}


def describe(core):
    """Puts them where they belong."""
    kernel = core.Kernel
    kernel.__doc__ = _KERNEL
    kernel.__module__ = "pooljit"
    kernel.__signature__ = inspect.signature(lambda input, indices=None, *, out=None, operands=(): None)
    for name, text in _MEMBERS.items():
        member = getattr(kernel, name)
        setattr(kernel, name, property(member.fget, doc=text))
    kernel.__repr__ = lambda self: f"pooljit.compile({self.spec!r})"
    kernel.__reduce__ = lambda self: (_compile_again, (self.spec, self.options))


def _compile_again(spec, options):
    """For pickle: kernels travel as what they were compiled from."""
    import pooljit
    return pooljit.compile(spec, **options)
