"""The stubs, by mypy: a program that uses them is right, wrong ones are not, and stubtest finds them like the package."""
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("mypy", reason="python3-mypy is not installed")
HERE = pathlib.Path(__file__).parent
PACKAGE = os.environ["PYTHONPATH"].split(":")[0]
# Their own types are not what is asked about, and take mypy a minute.
OTHERS = "[mypy]\n" + "".join(f"[mypy-{name}.*]\nfollow_imports = skip\nignore_missing_imports = True\n" for name in ("torch", "onnx", "numpy"))


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mypy")
    (folder / "mypy.ini").write_text(OTHERS)
    # The package's own modules have no types: its stubs are compared with it, no more.
    (folder / "private").write_text(
        "pooljit[.](torch[.])?_.*\npooljit[.]Kernel([.]__init__)?  # pybind11's metaclass\n")
    (folder / "stubtest.ini").write_text(OTHERS.replace("[mypy]\n", "[mypy]\nignore_errors = True\n"))

    def run(module, *arguments):
        command = [sys.executable, "-m", module, *arguments]
        done = subprocess.run(command, cwd=folder, env={**os.environ, "MYPYPATH": PACKAGE}, text=True, capture_output=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


def test_strict_use(mypy):
    assert mypy("mypy", "--strict", "--config-file", "mypy.ini", str(HERE / "typed_use.py")) == (
        0, "Success: no issues found in 1 source file\n")


WRONG = """
import pooljit
pooljit.max_pool2d(1, "large")
pooljit.compile(3)
pooljit.Spec("").outputs
pooljit.avg_pool2d(1, 2, dilation=1, return_indices=True).shape
x: int = pooljit.compile("").spec
pooljit.compile("", thread=2)
pooljit.max_pool2d(x, 2, thread=2)
pooljit.evaluate("", sconds=1)
y: str = pooljit.max_pool2d(x, 2)
z: int = pooljit.max_pool2d(x, 2, return_indices=True)
pooljit.compile("", verify="no")
"""


def test_wrong_use(mypy, tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    code, said = mypy("mypy", "--strict", "--config-file", "mypy.ini", str(tmp_path / "wrong.py"))
    wrong = sorted({int(line.split(":")[1]) for line in said.splitlines()[:-1]})
    assert code == 1 and wrong == list(range(3, 3 + len(WRONG.splitlines()[2:]))), said


def test_stubs_are_like_the_package(mypy):
    code, said = mypy("mypy.stubtest", "pooljit", "--mypy-config-file", "stubtest.ini",
                      "--ignore-missing-stub", "--allowlist", "private", "--ignore-unused-allowlist", "--concise")
    assert code == 0, said
