"""The wheel, made from the build under test (POOLJIT_BUILD_DIR), in an empty virtual environment with numpy alone."""
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import numpy
import pytest

ROOT = pathlib.Path(__file__).parents[2]
BUILD = os.environ.get("POOLJIT_BUILD_DIR")

PROGRAM = """
import sys, numpy, pooljit
x = numpy.arange(64, dtype=numpy.float32).reshape(1, 1, 8, 8)
assert pooljit.max_pool2d(x, 2)[0, 0, 0, 0] == 9
spec = "avg_pool2d(float32[1,1,8,8], kernel_size=2)"
assert pooljit.compile(spec, verify=True).backend == "xbyak"
try:  # where the build has it, and the system has LLVM's library
    assert pooljit.compile(spec, backend="llvm").backend == "llvm"
except pooljit.UnsupportedError as missing:
    assert missing.id == "backend.missing", missing
for other in ("torch", "onnx"):
    try:
        __import__("pooljit." + other)
        sys.exit(other + " should not be here")
    except ModuleNotFoundError as missing:
        assert missing.name == other, missing
print(pooljit.__file__, *[line.split()[-1] for line in open("/proc/self/maps") if "pooljit.libs" in line])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if not BUILD:
        pytest.fail("POOLJIT_BUILD_DIR names the build to pack; ctest sets it")
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "setup.py", "README.md", "CMakeLists.txt"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "bindings/python", source / "bindings/python")
    command = [sys.executable, "-m", "pip", "wheel", ".", "--no-build-isolation", "--no-deps", "--no-index", "-w", "made"]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = (source / "made").iterdir()
    return made


def test_contents(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {"pooljit/__init__.py", "pooljit/__init__.pyi", "pooljit/py.typed", "pooljit/torch/__init__.py"} <= set(names)
    assert "pooljit/pooljit" in names and any(name.startswith("pooljit/_core.") for name in names)
    libraries = {pathlib.Path(name).name.split(".")[0] for name in names if name.startswith("pooljit.libs/")}
    assert "libZydis" in libraries
    assert not libraries & {"libc", "libstdc++", "libLLVM-19"}
    assert wheel.stat().st_size < 15 << 20


def test_in_an_empty_environment(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "-q", wheel], check=True)
    alone = tmp_path / "numpy_alone"
    alone.mkdir()
    (alone / "numpy").symlink_to(pathlib.Path(numpy.__file__).parent)
    environment = {**os.environ, "PYTHONPATH": str(alone)}
    done = subprocess.run([python, "-c", PROGRAM], env=environment, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path / "venv")) and "libZydis" in done.stdout
    spec = "max_pool2d(float32[1,1,8,8], kernel_size=2)"
    for command in ([tmp_path / "venv/bin/pooljit"], [python, "-m", "pooljit"]):
        done = subprocess.run([*command, "show", spec, "--stage", "asm"], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "vmaxps" in done.stdout, done.stderr  # which the Zydis of the wheel writes
        done = subprocess.run([*command, "show", "max_pool2d(1)", "--stage", "spec"], env=environment, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 3 and "hint: " in done.stderr, done.stderr
