"""A function of numpy arrays as an engine of `pooljit fuzz` and `pooljit check` (examples/engines/python.cpp)."""
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ["POOLJIT_BUILD_DIR"])
LIBRARY = BUILD / "libengine_python.so"
NUMPY = ROOT / "examples/engines/numpy_engine.py"

# The package's own oracle, which does everything: so every layout, dtype and kind of index goes through the arrays.
ORACLE = """
import pooljit

def pool(layer, x):
    if layer.epilogue:
        return NotImplemented
    indices = layer.indices.array if layer.indices and (layer.backward or layer.unpool) else None
    if pooljit.Spec(layer.spec).batch is None:
        x, indices = x[0], indices if indices is None else indices[0]
    found = pooljit.reference(layer.spec, x, indices)    # of an unpool a NotImplementedError
    output, places = (a if a is None or a.ndim > layer.spatial_rank + 1 else a[None] for a in found[:2])
    return output if places is None else (output, places)
"""


def run(*arguments, engine):
    environment = {**os.environ, "POOLJIT_ENGINE_PYTHON": str(engine)}
    return subprocess.run([BUILD / "pooljit", *arguments, "--against", LIBRARY], env=environment, text=True,
                          capture_output=True, timeout=600, check=False)


@pytest.fixture
def written(tmp_path):
    """Writes an engine, and gives what POOLJIT_ENGINE_PYTHON has to be."""
    def write(text):
        path = tmp_path / "my_engine.py"
        path.write_text(text)
        return path
    return write


def test_numpy_is_right():
    done = run("fuzz", "--count", "200", "--seed", "1", "--strict", engine=NUMPY)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_kind_of_array(written):
    done = run("fuzz", "--count", "60", "--seed", "2", "--strict", engine=written(ORACLE))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_fault_is_found(written):
    text = NUMPY.read_text().replace("views = np", "x = np.where(x == x.min(), absent, x); views = np")
    done = run("fuzz", "--count", "300", "--seed", "1", "--strict", "--failures", "1", engine=written(text))
    assert done.returncode == 1 and "POOLJIT" not in done.stderr, done.stdout + done.stderr


SPEC = "max_pool2d(float32[1,2,4,4], kernel_size=2)"
ENGINES = [
    # what it does, exit code, what is printed
    ("raise ZeroDivisionError('mine')", 1, "ZeroDivisionError: mine"),
    ("return x", 1, "the output is float32(1, 2, 4, 4), not float32(1, 2, 2, 2)"),
    ("return x[:, :, ::2, ::2].astype('f8')", 1, "not float32(1, 2, 2, 2)"),
    ("return None", 1, "the output is object()"),
    ("x[0] = 1", 1, "read-only"),
    ("return NotImplemented", 4, ""),
    ("raise NotImplementedError", 4, ""),
    ("return x[:, :, ::2, ::2]", 1, ""),
]


@pytest.mark.parametrize("case", ENGINES, ids=[case[0] for case in ENGINES])
def test_what_functions_give(written, case):
    body, code, printed = case
    done = run("check", SPEC, engine=written(f"def pool(layer, x):\n    {body}\n"))
    assert (done.returncode, printed in done.stdout) == (code, True), done.stdout + done.stderr


def test_functions_by_name(written):
    engine = written("def best(layer, x):\n    return x.reshape(1, 2, 2, 2, 2, 2).max((3, 5))\n")
    assert run("check", SPEC, engine=f"{engine}:best").returncode == 0
    for wrong, said in [(engine, "pool"), (f"{engine}:worst", "worst"), ("no_such_module", "no_such_module"),
                        (engine.with_suffix(".none.py"), "No such file"), ("", "POOLJIT_ENGINE_PYTHON=FILE.py")]:
        done = run("check", SPEC, engine=wrong)
        assert done.returncode == 1 and said in done.stdout, (wrong, done.stdout, done.stderr)
