"""The exceptions of pooljit. docs/errors.md lists every id, with what gives it."""

__all__ = ["Error", "InvalidError", "UnsupportedError", "SystemError"]


class Error(Exception):
    """What every error of pooljit's is.

    Attributes:
        id: stable, for programs: "spec.stride".
        message: names the offending value.
        hint: what to write instead; may be empty.

    >>> import pooljit
    >>> try:
    ...     pooljit.compile("max_pool2d(float32[1,3,8,8], kernel_size=2, stride=0)")
    ... except pooljit.Error as error:
    ...     print(error.id)
    spec.stride
    """

    def __init__(self, id, message="", hint=""):
        super().__init__(id, message, hint)
        self.id, self.message, self.hint = id, message, hint

    def __str__(self):
        return f"{self.id}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class InvalidError(Error, ValueError):
    """The spec, an option or an argument is wrong."""


class UnsupportedError(Error, NotImplementedError):
    """It is right, but this build or this machine cannot do it."""


class SystemError(Error, RuntimeError):  # noqa: A001: the library's own name for it
    """The system refused memory, a file or a permission."""
