"""libpooljit.so through its C API, for the cross-checks: a spec and a numpy buffer in, numpy buffers out."""
import ctypes

import numpy as np


class Rejected(Exception):
    """The library's own words for why it does not take a spec."""


class Library:
    def __init__(self, path):
        c = self.c = ctypes.CDLL(path)
        c.pooljit_last_error.restype = ctypes.c_char_p
        c.pooljit_version.restype = ctypes.c_char_p
        c.pooljit_compile.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
        c.pooljit_output_shape.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64),
                                           ctypes.POINTER(ctypes.c_int)]
        c.pooljit_run.argtypes = [ctypes.c_void_p] * 4
        c.pooljit_release.argtypes = [ctypes.c_void_p]

    def version(self):
        return self.c.pooljit_version().decode()

    def compile(self, spec, options=None):
        kernel = ctypes.c_void_p()
        self._check(self.c.pooljit_compile(spec.encode(), options.encode() if options else None, ctypes.byref(kernel)))
        return Kernel(self, kernel)

    def _check(self, status):
        if status != 0:
            raise Rejected(self.c.pooljit_last_error().decode())


class Kernel:
    def __init__(self, library, handle):
        self.library, self.handle = library, handle

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.c.pooljit_release(self.handle)

    def output_shape(self):
        dims, rank = (ctypes.c_int64 * 8)(), ctypes.c_int()
        self.library._check(self.library.c.pooljit_output_shape(self.handle, dims, ctypes.byref(rank)))
        return tuple(dims[:rank.value])

    def run(self, source: np.ndarray, output: np.ndarray, indices: np.ndarray = None):
        """Buffers as the library sees them: from the view's first element on."""
        pointer = lambda array: None if array is None else array.ctypes.data
        self.library._check(
            self.library.c.pooljit_run(self.handle, pointer(source), pointer(output), pointer(indices)))
