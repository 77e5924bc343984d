#!/usr/bin/env python3
"""The example at the top of each public header compiles without a warning, and runs where it pools.

examples.py INCLUDE_FOLDER LIBRARY C_COMPILER CXX_COMPILER
"""
import pathlib
import subprocess
import sys
import tempfile

include, library, c_compiler, cxx_compiler = sys.argv[1:]

# What stands around each example, where @ is: its buffers, and what the comments beside it say.
PROGRAMS = {
    "pooljit.h": """#include <pooljit.h>
        #include <stdio.h>
        static int fail(const char* why) { return fprintf(stderr, "%s\\n", why), 1; }
        static float input[64 * 112 * 112], output[64 * 56 * 56];
        int main(void) {
        @
          const int64_t* dims = info.output.dims;
          return dims[0] != 1 || dims[1] != 64 || dims[2] != 56 || dims[3] != 56 || info.output_bytes != 802816;
        }""",
    "pooljit.hpp": """#include <pooljit.hpp>
        static float input[64 * 112 * 112], output[64 * 56 * 56];
        int main() {
        @
        }""",
    "pooljit_error.hpp": """#include <pooljit.hpp>
        int main() {
        @
          return 1;
        }""",
    "pooljit_layer.h": """#include <pooljit.h>
        #include <string.h>
        int main(void) {
        @
          pooljit_spec* spec;
          if (pooljit_spec_make(&layer, NULL, &spec)) return 1;
          pooljit_info info = {.size = sizeof info};
          pooljit_spec_info(spec, &info);
          pooljit_spec_release(spec);
          return info.output.dims[3] != 56;
        }""",
    # Linked with no such code.
    "pooljit_linked.h": """#include <pooljit_linked.h>
        #include <string.h>
        extern const pooljit_linked_code stem_code __attribute__((weak));
        static int fail(const char* why) { return strstr(why, "runtime.null") == NULL; }
        int main(void) {
        @
          return 1;
        }""",
    "pooljit_tuning.h": """#include <pooljit_tuning.h>
        #include <stdio.h>
        int main(void) {
        @
          pooljit_schedule_list_release(list);
          pooljit_spec_release(spec);
          return 0;
        }""",
    "pooljit_engine.h": """#include <pooljit_engine.h>
        #include <string.h>
        @
        int main(void) { return 0; }""",
}


def example(header):
    """The first lines of the header's comment that are indented as code is; "..." is what the reader writes."""
    lines = []
    for line in header.read_text().splitlines():
        mark = next((mark for mark in (" *   ", "//   ") if line.startswith(mark)), None)
        if mark:
            lines.append(line.removeprefix(mark))
        elif lines:
            break
    return "\n".join(line for line in lines if line.strip() != "...")


headers = sorted(path for path in pathlib.Path(include).iterdir() if path.suffix in (".h", ".hpp"))
assert {path.name for path in headers} == set(PROGRAMS), "each public header has a program here"
for header in headers:
    code = example(header)
    assert ";" in code, f"{header.name} has no example at its top"
    is_cxx = header.suffix == ".hpp"
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "example.cpp" if is_cxx else "example.c")
        source.write_text(PROGRAMS[header.name].replace("@", code))
        options = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-parameter", "-std=c++17" if is_cxx else "-std=c11"]
        link = ["-o", f"{folder}/example", library, f"-Wl,-rpath,{pathlib.Path(library).parent}"]
        subprocess.run([cxx_compiler if is_cxx else c_compiler, *options, f"-I{include}", source, *link], check=True)
        subprocess.run([f"{folder}/example"], check=True)
    print(f"{header.name}: {code.count(chr(10)) + 1} lines")
