"""The examples in the docstrings run, every public name has one that says something, and stubs name them all."""
import doctest
import importlib
import inspect
import itertools
import pathlib
import re
import types

import numpy  # noqa: F401: for the examples
import pytest

import pooljit

ROOT = pathlib.Path(__file__).parents[2]
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
    module = types.ModuleType("python_stubs")
    exec((ROOT / "scripts/python-stubs").read_text(), module.__dict__)
    for file, wanted in module.stubs().items():
        assert (ROOT / "bindings/python/pooljit" / file).read_text() == wanted, "PYTHONPATH=build/python scripts/python-stubs"
    text = (ROOT / "bindings/python/pooljit/__init__.pyi").read_text()
    missing = [name for name in pooljit.__all__ if not any(
        f"{before}{name}{after}" in text for before, after in [("def ", "("), ("class ", ""), ("", ":")])]
    assert not missing


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


def array():
    return numpy.random.default_rng(1).standard_normal((1, 64, 112, 112), numpy.float32)


def run_block(page, holds, **names):
    """The one block of a page that holds this text, with the names that it takes for granted."""
    (block,) = [block for block in blocks(page) if holds in block]
    exec(block, names)
    return names


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_first_lines(page):
    names = run_block(page, "pooljit.compile(", x=array())
    assert numpy.array_equal(names["y"], names["k"](names["x"]))


def test_page_torch():
    torch = pytest.importorskip("torch", reason="python3-torch is not installed")
    model = torch.nn.Sequential(torch.nn.MaxPool2d(2))
    names = run_block("docs/python.md", "pooljit.torch.enable", x=torch.from_numpy(array()), model=model)
    pooljit.torch.disable()
    assert names["undo"].replaced == ["0"]
    names["undo"]()
    assert type(model[0]) is torch.nn.MaxPool2d


def test_page_onnx(tmp_path, monkeypatch):
    onnx = pytest.importorskip("onnx", reason="python3-onnx is not installed")
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", 64, None, None]) for name in "xy"]
    node = onnx.helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", value[:1], value[1:])), tmp_path / "pool.onnx")
    monkeypatch.chdir(tmp_path)
    names = run_block("docs/python.md", "pooljit.onnx.prepare", x=array(), onnx=onnx)
    assert numpy.array_equal(names["outputs"].y, pooljit.max_pool2d(names["x"], 3, stride=2))


def test_page_tuning(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seconds in (("evaluate", 0.001), ("tune", 0.05)):  # for a page, not for a measurement
        own = getattr(pooljit, name)
        monkeypatch.setattr(pooljit, name, lambda *a, own=own, s=seconds, **k: own(*a, **{**k, "seconds": s}))
    spec = "max_pool2d(float32[1,8,12,12], kernel_size=2, return_indices=True)"
    x = numpy.ascontiguousarray(array()[:, :8, :12, :12])
    theirs, their_indices = pooljit.max_pool2d(x, 2, return_indices=True)
    names = run_block("docs/python.md", "pooljit.reference", itertools=itertools, pooljit=pooljit, spec=spec, x=x,
                      theirs=theirs, their_indices=their_indices)
    assert names["verdict"] and (names["oracle"].indices == their_indices).all() and (tmp_path / "tuned.db").exists()
