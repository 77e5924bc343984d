"""A function of numpy arrays as an engine of `pooljit fuzz` and `pooljit check` (examples/engines/python.cpp)."""
import os
import pathlib
import re
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
# What a function does, how its report begins, and what is printed below.
FUNCTIONS = [
    ("raise ZeroDivisionError('mine')", "FAILED: ", "ZeroDivisionError: mine"),
    ("return x", "FAILED: ", "the output is float32(1, 2, 4, 4), not float32(1, 2, 2, 2)"),
    ("return x[:, :, ::2, ::2].astype('f8')", "FAILED: ", "not float32(1, 3, 2, 2)"),
    ("return None", "FAILED: ", "the output is object()"),
    ("x[0] = 1", "FAILED: ", "read-only"),
    ("return NotImplemented", "", "fuzz.unsupported"),
    ("raise NotImplementedError", "", "fuzz.unsupported"),
    ("return x[:, :, ::2, ::2]", "FAILED: ", "the reference says"),
    ("return x.reshape(1, 9, 2, 2, 2, 2).max((3, 5))", "", "1 agree"),
]


def test_what_functions_give(written, tmp_path):
    """Each function does the layers of as many channels as it has a number: one process asks all of them."""
    text = "".join(f"def pool{i}(layer, x):\n    {body}\n" for i, (body, *_) in enumerate(FUNCTIONS, 1))
    engine = written(text + "def pool(layer, x):\n    return globals()[f'pool{x.shape[1]}'](layer, x)\n")
    specs = tmp_path / "specs.tsv"
    specs.write_text("".join(f"f{i}\t{SPEC.replace('[1,2,', f'[1,{i},')}\n" for i in range(1, len(FUNCTIONS) + 1)))
    done = run("check", "--file", specs, "--strict", engine=engine)
    assert done.returncode == 1, done.stdout + done.stderr
    told = re.split(r"^(?=(?:FAILED: )?f\d+: |\d+ of \d+ specs)", done.stdout + done.stderr, flags=re.MULTILINE)
    for i, (body, begin, printed) in enumerate(FUNCTIONS, 1):
        reports = [one for one in told if one.startswith(f"{begin}f{i}: ") or (printed in one and " specs: " in one)]
        assert any(printed in one for one in reports), (body, reports, done.stdout + done.stderr)


def test_functions_by_name(written):
    engine = written("def best(layer, x):\n    return x.reshape(1, 2, 2, 2, 2, 2).max((3, 5))\n")
    assert run("check", SPEC, "--strict", engine=f"{engine}:best").returncode == 0
    for wrong, said in [(engine, "pool"), (f"{engine}:worst", "worst"), ("no_such_module", "no_such_module"),
                        (engine.with_suffix(".none.py"), "No such file"), ("", "POOLJIT_ENGINE_PYTHON=FILE.py")]:
        done = run("check", SPEC, "--strict", engine=wrong)
        assert done.returncode == 1 and said in done.stdout, (wrong, done.stdout, done.stderr)


# The upper left element of each 2x2 window.
CORNERS = """
def pool(layer, x):
    first = x[:, :, ::2, ::2] if x.ndim == 4 else x
    if (layer.operation, layer.kernel, layer.stride, layer.output.dims) != ("max", (2, 2), (2, 2), first.shape) \\
            or layer.backward or layer.indices or layer.epilogue or layer.other or layer.output.dtype != layer.input.dtype:
        return NotImplemented
    return first
"""


def test_the_printed_command_repeats_the_finding(written):
    found = run("fuzz", "--count", "200", "--seed", "1", "--strict", "--failures", "1", "--only", "max_pool2d(float32[",
                engine=written(CORNERS))
    assert found.returncode == 1, found.stdout + found.stderr
    command = found.stdout.split("as a command:\n")[1].splitlines()[0].strip()
    environment = {name: value for name, value in os.environ.items() if name != "POOLJIT_ENGINE_PYTHON"}
    again = subprocess.run(command, shell=True, env={**environment, "PATH": f"{BUILD}:{os.environ['PATH']}"}, text=True,
                           capture_output=True, timeout=600, check=False)
    assert again.returncode == 1 and "the reference says" in again.stdout, (command, again.stdout, again.stderr)
