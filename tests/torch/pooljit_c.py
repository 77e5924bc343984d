"""libpooljit.so through its C API, for the cross-checks: a spec and a numpy buffer in, numpy buffers out."""
import ctypes

import numpy as np


class Tensor(ctypes.Structure):
    """pooljit_tensor."""
    _fields_ = [("dtype", ctypes.c_char_p), ("layout", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("dims", ctypes.c_int64 * 8), ("strides", ctypes.c_int64 * 8), ("channel_block", ctypes.c_int64)]


class Info(ctypes.Structure):
    """The first fields of pooljit_info; the library writes no more than `size` says."""
    _fields_ = [("size", ctypes.c_size_t), ("input", Tensor), ("output", Tensor), ("indices", Tensor),
                ("input_bytes", ctypes.c_int64), ("output_bytes", ctypes.c_int64), ("indices_bytes", ctypes.c_int64),
                ("output_count", ctypes.c_int32), ("indices_count", ctypes.c_int32), ("unbatched", ctypes.c_int32)]


class Options(ctypes.Structure):
    """pooljit_options."""
    _fields_ = [("size", ctypes.c_size_t), ("backend", ctypes.c_char_p), ("isa", ctypes.c_char_p),
                ("schedule", ctypes.c_char_p), ("threads", ctypes.c_int32), ("verify", ctypes.c_int32),
                ("tune_db", ctypes.c_char_p), ("measure", ctypes.c_char_p), ("names", ctypes.c_char_p),
                ("fallback", ctypes.c_char_p), ("label", ctypes.c_char_p), ("sizes", ctypes.c_int32)]


class Rejected(Exception):
    """The library's own words for why it does not take a spec."""


class Library:
    def __init__(self, path):
        c = self.c = ctypes.CDLL(path)
        c.pooljit_last_error.restype = ctypes.c_char_p
        c.pooljit_version.restype = ctypes.c_char_p
        c.pooljit_compile.argtypes = [ctypes.c_char_p, ctypes.POINTER(Options), ctypes.POINTER(ctypes.c_void_p)]
        c.pooljit_kernel_info.argtypes = [ctypes.c_void_p, ctypes.POINTER(Info)]
        c.pooljit_options_read.argtypes = [ctypes.c_char_p, ctypes.POINTER(Options), ctypes.c_char_p, ctypes.c_size_t]
        c.pooljit_run.argtypes = [ctypes.c_void_p] * 4
        c.pooljit_release.argtypes = [ctypes.c_void_p]

    def version(self):
        return self.c.pooljit_version().decode()

    def compile(self, spec, options=None):
        words = (options or "").encode()
        given, room = Options(size=ctypes.sizeof(Options)), ctypes.create_string_buffer(len(words) + 1)
        self._check(self.c.pooljit_options_read(words, ctypes.byref(given), room, len(room)))
        kernel = ctypes.c_void_p()
        self._check(self.c.pooljit_compile(spec.encode(), ctypes.byref(given), ctypes.byref(kernel)))
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
        info = Info(size=ctypes.sizeof(Info))
        self.library._check(self.library.c.pooljit_kernel_info(self.handle, ctypes.byref(info)))
        return tuple(info.output.dims[info.unbatched:info.output.rank])

    def run(self, source: np.ndarray, output: np.ndarray, indices: np.ndarray = None):
        """Buffers as the library sees them: from the view's first element on."""
        pointer = lambda array: None if array is None else array.ctypes.data
        self.library._check(
            self.library.c.pooljit_run(self.handle, pointer(source), pointer(output), pointer(indices)))
