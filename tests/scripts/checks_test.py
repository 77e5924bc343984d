"""The checks of scripts/ pass on this tree and fail on one that breaks their rule."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

def run(check, root):
    result = subprocess.run([sys.executable, ROOT / "scripts" / check, root], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout


class Tree(unittest.TestCase):
    """A copy of what a check has to see, which each test breaks in one place: files come as they are named."""

    NEEDED = []  # besides them

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path in self.NEEDED:
            self.copy(path)

    def copy(self, path):
        there = self.root / path
        if not there.exists() and (ROOT / path).exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / path).is_dir() else shutil.copy)(ROOT / path, there)

    def append(self, path, text):
        self.copy(path)
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        with open(self.root / path, "a", encoding="utf-8") as file:
            file.write(text)

    def expect_failure(self, check, *words):
        status, output = run(check, self.root)
        self.assertEqual(status, 1, output)
        for word in words:
            self.assertIn(word, output)


class IncludeRule(Tree):
    NEEDED = """ir/schedules.def frontend/pool_spec.h include/pooljit.h ir/program.h ir/choose/enumerate.h ir/schedules/choose/chooser.h
                ir/schedules/choose/rows.h ir/schedules/families/window_rows.h ir/schedules/lowering/lowering.h jit/backend.h""".split()

    def test_kept_here(self):
        self.assertEqual(run("check-includes", ROOT), (0, "include rule: kept\n"))

    def test_ir_includes_nothing_of_ours(self):
        self.append("ir/nest.h", '#include "frontend/pool_spec.h"\n')
        self.expect_failure("check-includes", "ir/nest.h", "`ir` may not include `frontend`")

    def test_families_do_not_ask_the_chooser(self):
        self.append("ir/schedules/families/separable.cpp", '#include "ir/schedules/choose/rows.h"\n')
        self.expect_failure("check-includes", "ir/schedules/families/separable.cpp", "only the chooser has opinions")

    def test_families_do_not_ask_each_other(self):
        self.append("ir/schedules/families/whole_pixels.cpp", '#include "ir/schedules/families/window_rows.h"\n')
        self.expect_failure("check-includes", "family `whole_pixels` may not include family `window_rows`")

    def test_windows_do_not_include_lowering(self):
        self.append("ir/schedules/windows/stretch.h", '#include "ir/schedules/lowering/lowering.h"\n')
        self.expect_failure("check-includes", "ir/schedules/windows/stretch.h", "`windows` may not include `lowering`")

    def test_only_the_command_asks_the_chooser(self):
        self.append("runtime/engines.cpp", '#include "ir/schedules/choose/chooser.h"\n')
        self.expect_failure("check-includes", "runtime/engines.cpp", "only the chooser has opinions")

    def test_lowering_does_not_choose(self):
        self.append("ir/schedules/lower.cpp", '#include "ir/choose/enumerate.h"\n')
        self.expect_failure("check-includes", "ir/schedules/lower.cpp", "the schedule is decided before")

    def test_jit_does_not_include_frontend(self):
        self.append("jit/backends.cpp", '#include "frontend/pool_spec.h"\n')
        self.expect_failure("check-includes", "`jit` may not include `frontend`")

    def test_frontend_does_not_include_the_public_header(self):
        self.append("frontend/pool_spec.h", "#include <pooljit.h>\n")
        self.expect_failure("check-includes", "`frontend` may not include `include`")

    def test_the_library_has_schedules_only_of_the_laboratory(self):
        self.append("lab/schedules/explain.h", '#include "lab/check.h"\n')
        self.expect_failure("check-includes", "lab/schedules/explain.h", "the rest of `lab` is not")

    def test_relative_paths_are_seen(self):
        self.append("ir/nest.h", '#include "../jit/backend.h"\n')
        self.expect_failure("check-includes", "`ir` may not include `jit`")

    def test_examples_use_the_public_interface(self):
        self.append("examples/readme.cpp", '#include "ir/program.h"\n')
        self.expect_failure("check-includes", "`examples` may not include `ir`")


class Names(Tree):
    NEEDED = ["ir/schedule.h"]

    def test_one_definition_each(self):
        self.assertEqual(run("check-names", ROOT), (0, "names: one definition each, no instruction set or reduction out of its room\n"))

    def test_two_of_one_name(self):
        self.append("ir/window_taps.h", "namespace pooljit::ir {\nstruct Schedule {\n};\n}  // namespace pooljit::ir\n")
        self.expect_failure("check-names", "Schedule is defined in", "ir/window_taps.h", "ir/schedule.h")

    def test_two_of_one_name_in_two_namespaces(self):
        self.append("ir/window_taps.h", "namespace pooljit::jit {\nclass Schedule {\n};\n}  // namespace pooljit::jit\n")
        self.expect_failure("check-names", "Schedule is defined in", "ir/window_taps.h", "ir/schedule.h")

    def test_a_file_may_have_its_own(self):
        self.append("ir/window_taps.h", "namespace pooljit::ir {\nnamespace {\nstruct Schedule {\n};\n}  // namespace\n}  // namespace pooljit::ir\n")
        self.assertEqual(run("check-names", self.root)[0], 0)

    def test_all_kinds_of_types_are_seen(self):
        for line in ["struct Schedule { int a = 0; };", "struct alignas(64) Schedule {\n};", "class [[nodiscard]] Schedule final : public ir::Base {\n};",
                     "enum Schedule { one };", "enum class Schedule : uint8_t { one, two };", "struct Schedule\n    : public Base {\n};",
                     "template <class T> struct Schedule {\n};", "using Schedule = int;", "template <class T>\nusing Schedule =\n    List<T>;"]:
            with self.subTest(line):
                self.append("jit/one.h", f"namespace pooljit::jit {{\n{line}\n}}  // namespace pooljit::jit\n")
                self.expect_failure("check-names", "Schedule is defined in ir/schedule.h:", " and jit/one.h:")
                (self.root / "jit/one.h").unlink()

    def test_what_defines_no_type_of_its_own(self):
        lines = ["struct Schedule;", "enum class Schedule : uint8_t;", "class Schedule::Own {};", "struct Schedule<int> {};", "using Schedule = ir::Schedule;",
                 "struct Schedule schedule = {};"]
        self.append("jit/one.h", "namespace pooljit::jit {\n" + "\n".join(lines) + "\n}  // namespace pooljit::jit\n")
        self.assertEqual(run("check-names", self.root)[0], 0)

    def test_two_aliases_of_one_meaning(self):
        self.append("jit/one.h", "namespace pooljit::jit {\nusing Broken = std::optional<ir::Error>;\n}  // namespace pooljit::jit\n")
        self.append("ir/one.h", "namespace pooljit::ir {\nusing Broken = std::optional<Error>;\n}  // namespace pooljit::ir\n")
        self.assertEqual(run("check-names", self.root)[0], 0)
        self.append("lab/one.h", "namespace pooljit::runtime {\nusing Broken = bool;\n}  // namespace pooljit::runtime\n")
        self.expect_failure("check-names", "Broken is defined in ir/one.h:2 and jit/one.h:2 and lab/one.h:2")

    def test_shared_code_names_no_instruction_set(self):
        self.append("jit/backends.cpp", "static_assert(pooljit::ir::Isa::avx2 != pooljit::ir::Isa::avx512);\n")
        self.expect_failure("check-names", "jit/backends.cpp", "ask ir/isa.def")

    def test_shared_code_asks_for_no_row_of_the_instruction_sets(self):
        self.append("jit/backends.cpp", "bool is_least(pooljit::ir::Isa isa) { return isa == pooljit::ir::least_isa; }\n")
        self.expect_failure("check-names", "jit/backends.cpp", "ask ir/isa.def")

    def test_shared_code_names_no_reduction(self):
        self.append("jit/backends.cpp", "static_assert(pooljit::ir::Reduction::max != pooljit::ir::Reduction::min);\n")
        self.expect_failure("check-names", "jit/backends.cpp", "ask ir/reductions.def")


class Lengths(Tree):
    LIST = "scripts/lengths.txt"
    NEEDED = [LIST, *re.findall(r"^ +\d+ ([\w/.]+)", (ROOT / LIST).read_text(), re.MULTILINE)]
    LONG_BODY = "".join(f"  int v{i} = {i};\n" for i in range(60))

    def test_kept_here(self):
        status, output = run("check-lengths", ROOT)
        self.assertEqual(status, 0, output)

    def test_a_long_file(self):
        self.append("ir/nest.cpp", "// line\n" * 400)
        self.expect_failure("check-lengths", "ir/nest.cpp has", "under 400 are allowed")

    def test_a_long_function(self):
        self.append("ir/window_taps.h", "inline int long_one(int a,\n                    int b) {\n" + self.LONG_BODY + "}\n")
        self.expect_failure("check-lengths", "ir/window_taps.h:long_one has 63 lines; under 60 are allowed")

    def test_a_long_constructor_with_braces_in_texts(self):
        text = "struct S {\n  S(int a)\n      : a_(a) {\n    const char* t = \"}\";  // }\n" + self.LONG_BODY + "  }\n  int a_;\n};\n"
        self.append("ir/window_taps.h", text)
        self.expect_failure("check-lengths", "ir/window_taps.h:S has 64 lines")

    def test_a_long_list_is_no_function(self):
        self.append("ir/window_taps.h", "constexpr int listed[] = {\n" + "  1,\n" * 70 + "};\n")
        self.assertEqual(run("check-lengths", self.root)[0], 0)

    def test_what_is_listed_gets_no_longer(self):
        self.append(self.LIST, "  401 ir/nest.cpp\n")
        self.append("ir/nest.cpp", "// line\n" * 400)
        self.expect_failure("check-lengths", "make it shorter, not longer")

    def test_what_got_short_leaves_the_list(self):
        self.append(self.LIST, "  500 ir/nest.cpp\n")
        self.expect_failure("check-lengths", "ir/nest.cpp is short enough now")


class Documents(Tree):
    NEEDED = [path.name for path in ROOT.glob("*.md")] + "LICENSE bench ir frontend jit proof runtime include tools bindings examples docs scripts".split()

    def test_agree_here(self):
        status, output = run("check-docs", ROOT)
        self.assertEqual(status, 0, output)

    def test_new_package(self):
        self.append("scripts/packages.txt", "build  libfoo-dev  no reason\n")
        self.expect_failure("check-docs", "README.md: a generated part is out of date")

    def test_changed_example(self):
        self.append("examples/readme.c", "// changed\n")
        self.expect_failure("check-docs", "README.md: a generated part is out of date")

    def test_new_rule(self):
        self.append("frontend/rules.def", 'RULE(brand_new, invalid, "text", "hint")\n')
        self.expect_failure("check-docs", "errors.md: a generated part is out of date", "`spec.brand_new` is missing")

    def test_new_op(self):
        self.append("ir/ops.def", 'OP(brand_new, bits, "T", "T", none, "a")\n')
        self.expect_failure("check-docs", "ops.md: a generated part is out of date")

    def test_new_verifier_rule(self):
        self.append("ir/verify.def", 'VERIFY_RULE(brand_new, "prose")\n')
        self.expect_failure("check-docs", "`verify.brand_new` is missing")

    def test_undocumented_error(self):
        self.append("ir/check.cpp", 'auto e() { return ir::invalid("spec.brand_new", "m"); }\n')
        self.expect_failure("check-docs", "`spec.brand_new` is missing (ir/check.cpp gives it)")

    def test_dead_error(self):
        self.append("docs/errors.md", "\n| `spec.long_gone` | x | y |\n")
        self.expect_failure("check-docs", "`spec.long_gone` is dead")

    def test_dead_link(self):
        self.append("README.md", "[there](docs/nowhere.md)\n")
        self.expect_failure("check-docs", "docs/nowhere.md leads nowhere")


if __name__ == "__main__":
    unittest.main()
