"""Specs: one line of text says which pooling layer is wanted (docs/specs.md)."""
import re

from . import _core
from . import _words as words
from ._errors import InvalidError

_TEXT = re.compile(r"(?P<operator>\w+)\((?P<dtype>\w+)\[(?P<dims>[A-Z\d,]*)\](?::(?P<layout>\w+))?(?P<arguments>.*)\)")


def _split(text, separator=","):
    """The pieces between separators that stand in no bracket."""
    depth, begin, pieces = 0, 0, []
    for at, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == separator and depth == 0:
            pieces.append(text[begin:at])
            begin = at + 1
    return [piece.strip() for piece in [*pieces, text[begin:]] if piece.strip()]


def _value(text):
    """What a value of a canonical text is in Python."""
    if text.startswith("["):
        return [_value(item) for item in _split(text[1:-1])]
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _of_a_size(name, doc):
    """A property that needs a size."""

    def get(self):
        if self.free_dims:
            raise InvalidError("spec.free", f"{self.text} leaves {' and '.join(self.free_dims)} free",
                               "spec.sized(224, 224), the extents of all spatial dims")
        return self._facts[name]

    return property(get, doc=doc)


def text_of(spec):
    """The text of a text or Spec."""
    if isinstance(spec, Spec):
        return spec.text
    return words.checked_text("a spec", spec)


class Spec:
    """A pooling layer as a checked value, from any spelling of it. Immutable; equal if the layers are.

    Args:
        text: the layer in pooljit's words, or in those of PyTorch, ONNX, MLX, Keras or benchdnn.

    Raises:
        InvalidError, UnsupportedError: "spec.*".

    >>> import pooljit
    >>> spec = pooljit.Spec("nn.MaxPool2d(3, stride=2, padding=1)(float32[8,64,112,112])")
    >>> spec
    Spec('max_pool2d(float32[8,64,112,112], kernel_size=3, stride=2, padding=1)')
    >>> spec.output_shape, spec.arguments["stride"]
    ((8, 64, 56, 56), 2)
    >>> spec.dialect("onnx")
    'onnx.MaxPool(float32[8,64,112,112], kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1])'
    """

    __slots__ = ("_facts",)

    def __init__(self, text):
        self._facts = text._facts if isinstance(text, Spec) else _core.spec_facts(text_of(text))

    text = property(lambda self: self._facts["text"], doc="The canonical text.")
    signature = property(lambda self: self._facts["signature"],
                         doc="The canonical text with N for the batch: what a kernel's code depends on.")
    input_shape = _of_a_size("input_shape", "N (if batched), C and spatial, of what the layer reads.")
    output_shape = _of_a_size("output_shape", "The same of what it writes.")
    input_strides = _of_a_size("input_strides", "Distances in elements; of a blocked layout, that of C is of blocks.")
    output_strides = _of_a_size("output_strides", "The same of output and indices.")
    input_dtype = property(lambda self: self._facts["input_dtype"], doc='"float32".')
    output_dtype = property(lambda self: self._facts["output_dtype"], doc='"float32".')
    index_dtype = property(lambda self: self._facts["index_dtype"], doc="None of a layer without indices.")
    batch = property(lambda self: self._facts["batch"], doc='N; None of an unbatched layer; "N" where the spec leaves it free (shapes then show 1).')
    free_dims = property(lambda self: tuple(self._facts["free_dims"].split(" and ")) if self._facts["free_dims"] else (),
                         doc='("H", "W") of float32[N,64,H,W]: the dims that are said at each run.')
    direction = property(lambda self: self._facts["direction"], doc='"forward", "backward" or "unpool".')
    operator = property(lambda self: _TEXT.fullmatch(self.text)["operator"], doc='"max_pool2d".')
    layout = property(lambda self: _TEXT.fullmatch(self.text)["layout"] or "nchw", doc='"nhwc".')

    @property
    def arguments(self):
        """What the canonical text says by keyword: numbers, booleans, words and lists of them."""
        pairs = (piece.split("=", 1) for piece in _split(_TEXT.fullmatch(self.text)["arguments"]))
        return {name: _value(value) for name, value in pairs}

    def sized(self, *size):
        """The layer of one size, the extents of all spatial dims: spec.sized(224, 224).

        Raises:
            InvalidError: "spec.*", of a size that it cannot have.

        >>> import pooljit
        >>> spec = pooljit.Spec("max_pool2d(float32[N,64,H,W], kernel_size=3, stride=2, padding=1)")
        >>> spec.free_dims, spec.sized(112, 112).output_shape
        (('H', 'W'), (1, 64, 56, 56))
        """
        return Spec(_core.spec_sized(self.text, [words.integer("size", extent, 0, 2**63 - 1) for extent in size]))

    def dialect(self, name):
        """The layer in another system's words: "torch", "nn", "onnx", "mlx", "keras" or "benchdnn".

        Raises:
            InvalidError: "spec.dialect", it has no words for it; "python.dialect", there is no such dialect.
        """
        return _core.spec_as(self.text, words.checked_text("a dialect", name))

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"Spec({self.text!r})"

    def __eq__(self, other):
        return isinstance(other, Spec) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def __reduce__(self):
        return Spec, (self.text,)
