"""What users give as arguments, as the numbers, lists and words that specs and options are made of."""
import math
import operator
import os

import numpy

from ._errors import InvalidError


def shown(value):
    try:
        return repr(value)[:200]
    except Exception:  # a repr of the caller's may do anything
        return f"a {type(value).__name__}"


def refuse(what, value, hint):
    raise InvalidError("python.argument", f"{what}: {shown(value)}", hint) from None


def plain(value):
    """Arrays of integers as lists, dtypes of numpy's and PyTorch's as words; the rest as it is."""
    if isinstance(value, (bool, int, float, str, list, tuple, type(None))):
        return value
    if isinstance(value, numpy.dtype) or (isinstance(value, type) and issubclass(value, numpy.generic)):
        return numpy.dtype(value).name
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return str(value).removeprefix("torch.")
    if hasattr(value, "tolist"):  # numpy's and PyTorch's arrays and numbers
        try:
            return value.tolist()
        except Exception:
            refuse("no numbers", value, "numbers, words, or lists of them")
    return value


def text(value, depth=0):
    """A value as specs write it."""
    if depth > 4:
        raise InvalidError("python.argument", "lists in lists in lists", "numbers, words, or lists of them")
    value = plain(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(text(item, depth + 1) for item in value) + "]"
    if isinstance(value, str):
        return checked_text("a word", value)
    if isinstance(value, (bool, float)):
        return repr(value)
    try:
        return str(operator.index(value))
    except TypeError:
        refuse("no number", value, "numbers, words, or lists of them")
    except ValueError:  # Python prints no more than some thousand digits
        raise InvalidError("python.argument", "a number of thousands of digits", "64 bits") from None


def checked_text(what, value):
    """A text that can be told to C++."""
    if not isinstance(value, str):
        refuse(what, value, "a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        refuse(what, value, "a text of whole characters")
    return value


def integer(what, value, low, high):
    try:
        number = operator.index(plain(value))
    except TypeError:
        refuse(what, value, "a whole number")
    if not low <= number <= high:
        raise InvalidError("python.argument", f"{what}: a number out of range", f"{low} to {high}")
    return number


def integers(what, values):
    values = plain(values)
    if not isinstance(values, (list, tuple)):
        refuse(what, values, "a list of whole numbers")
    return tuple(integer(what, value, -2**63, 2**63 - 1) for value in values)


def shape(what, array):
    """An array's shape: numpy's, PyTorch's, or of what has __dlpack__ alone."""
    try:
        return integers(what, tuple(array.shape if hasattr(array, "shape") else numpy.from_dlpack(array).shape))
    except Exception:  # an attribute of the caller's may do anything
        raise InvalidError("python.array", f"{what} is a {type(array).__name__}",
                           "a numpy array, a PyTorch tensor, or what has __dlpack__; numpy.asarray makes one of lists") from None


def truth(what, value):
    value = plain(value)
    if not isinstance(value, (bool, int)):
        refuse(what, value, "True or False")
    return bool(value)


def seconds(value):
    try:
        number = float(plain(value))
    except (TypeError, ValueError, OverflowError):
        refuse("seconds", value, "a number, 0 or more")
    if not 0 <= number < math.inf:
        refuse("seconds", value, "a number, 0 or more")
    return number


def array_list(what, value):
    try:
        return list(value)
    except TypeError:
        refuse(what, value, "a list of arrays")


def path(what, value):
    """None, or a path as a text."""
    if value is None:
        return None
    if not isinstance(value, (str, os.PathLike)):
        refuse(what, value, "a path")
    value = os.fspath(value)
    return checked_text(what, value if isinstance(value, str) else None)


def options(given):
    """Options of compile(), as C++ takes them; it refuses what is left wrong."""
    known = {}
    for name, value in given.items():
        value = plain(value)
        if name == "threads" and not isinstance(value, bool) and hasattr(value, "__index__"):
            value = operator.index(value)
        if name == "tune_db":
            value = path(name, value)
            if value is None:
                continue
        if isinstance(value, str):
            checked_text(name, value)
        elif not isinstance(value, int) or not -2**63 <= value < 2**63:
            raise InvalidError("python.option", f"{checked_text('an option', name)}={shown(value)}", "a word, a number or a boolean")
        known[name] = value
    return known
