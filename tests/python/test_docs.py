"""The examples in the docstrings run, every public name has one that says something, and stubs name them all."""
import doctest
import importlib
import inspect
import pathlib
import types

import numpy  # noqa: F401: for the examples
import pytest

import pooljit

FINDER = doctest.DocTestFinder()
MODULES = ["pooljit", "pooljit.torch", "pooljit.onnx"]


def public(module):
    for name in module.__all__:
        thing = getattr(module, name)
        if callable(thing):
            yield name, thing


def examples():
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name, thing in public(module):
            for test in FINDER.find(thing, f"{module_name}.{name}", module=False):
                if test.examples:
                    yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("test", examples())
def test_example(test):
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_documented(module):
    for name, thing in public(importlib.import_module(module)):
        assert len(inspect.getdoc(thing) or "") > 20, name


def test_stubs_are_up_to_date():
    root = pathlib.Path(__file__).parents[2]
    module = types.ModuleType("python_stubs")
    exec((root / "scripts/python-stubs").read_text(), module.__dict__)
    text = (root / "bindings/python/pooljit/__init__.pyi").read_text()
    assert text == module.stubs(), "PYTHONPATH=build/python scripts/python-stubs"
    missing = [name for name in pooljit.__all__ if not any(
        f"{before}{name}{after}" in text for before, after in [("def ", "("), ("class ", ""), ("", ":")])]
    assert not missing
