"""The wheel: CMake makes the module, setuptools packs it (pyproject.toml has the rest).

    python3 -m pip wheel -v . --no-build-isolation --no-deps

The command `pooljit` is in it. The libraries that the two need lie in pooljit.libs beside the package, but for those of every Linux. There is no
LLVM back end in it. Environment: POOLJIT_CMAKE_ARGS, more arguments for CMake ("-DPOOLJIT_LLVM=ON": with the LLVM back
end, which works where the system has LLVM's own library); POOLJIT_BUILD_DIR, a build to take the module from instead of
making one.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).parent.resolve()
BUILD_BASE = "build-wheel"  # build/ is CMake's
# Optimized as the preset release is, which the tests build: -O3 takes a quarter longer.
OPTIONS = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG"]
OPTIONS += ["-DPOOLJIT_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"]
OPTIONS += [f"-DPOOLJIT_{part}=OFF" for part in ("LLVM", "ONNX", "TESTS", "BENCH", "EXAMPLES")]


def flattened(folder):
    """Links to libraries become the libraries: a wheel has no links."""
    for link in [path for path in folder.iterdir() if path.is_symlink()]:
        library = link.resolve()
        link.unlink()
        library.rename(link)


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        build = os.environ.get("POOLJIT_BUILD_DIR")
        if not build:
            build = pathlib.Path(self.build_temp).resolve()
            more = shlex.split(os.environ.get("POOLJIT_CMAKE_ARGS", ""))
            subprocess.run(["cmake", "-S", ROOT, "-B", build, *OPTIONS, *more], check=True)
            jobs = ["--parallel", str(self.parallel or os.cpu_count())]
            subprocess.run(["cmake", "--build", build, "--target", "pooljit_python", "pooljit_python_command", *jobs], check=True)
        package = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve().parent
        subprocess.run(["cmake", "--install", build, "--component", "python", "--strip", "--prefix", package.parent], check=True)
        flattened(package.parent / "pooljit.libs")


def version():
    return re.search(r"project\(pooljit VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


(ROOT / BUILD_BASE).mkdir(exist_ok=True)
setup(version=version(), ext_modules=[Extension("pooljit._core", [])], cmdclass={"build_ext": CMakeBuild},
      options={"build": {"build_base": BUILD_BASE}, "egg_info": {"egg_base": BUILD_BASE}})
