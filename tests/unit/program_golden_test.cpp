// Programs as text files.
// - tests/golden/verify/: a comment "# verify.<rule>" marks the line that breaks it; each rule has a file.
// - tests/golden/faults/: the same for "# interp.<fault>", in a valid Program that does what it must not.
// - tests/golden/run/: a Program, its data, and what every engine on every ISA makes of it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "golden.h"
#include "ir/lane_text.h"
#include "programs/engines.h"

namespace pooljit::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(std::string(POOLJIT_GOLDEN_DIR) + "/" + folder))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// --- lines that must fail

struct MarkedProgram {
  ir::Program program;
  std::string id;  // that the mark names
  int line = 0;    // marked, from 1; 0 where no instruction is to blame
};

// A comment before the Program says what it shows. The text must be as print makes it, so that lines agree.
MarkedProgram read_marked(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  MarkedProgram marked;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    if (number == 0 && !line.starts_with("program")) continue;
    ++number;
    const size_t comment = line.find("  # ");
    if (comment != std::string::npos) {
      EXPECT_EQ(marked.id, "") << path << " marks two lines";
      marked.id = line.substr(comment + 4);
      const bool is_head = line.starts_with("program") || line.starts_with("  params") ||
                           line.starts_with("  tasks") || line.starts_with("  scratch");
      marked.line = is_head ? 0 : number;
      line.resize(comment);
    }
    text += line + "\n";
  }
  auto program = ir::parse_program(text);
  EXPECT_TRUE(program.has_value()) << path << (program ? "" : ir::to_string(program.error()));
  if (program) marked.program = std::move(*program);
  EXPECT_EQ(ir::print(marked.program), text) << path << " is not what print makes of it";
  return marked;
}

void expect_failure(const fs::path& path, const MarkedProgram& marked, const ir::Result<void>& result) {
  ASSERT_FALSE(result.has_value()) << path << " passes";
  const ir::Error& error = result.error();
  EXPECT_EQ(error.id, marked.id) << path << ": " << error.message;
  const size_t at = error.message.find("line ");
  const int line = at == std::string::npos ? 0 : std::atoi(error.message.c_str() + at + 5);
  EXPECT_EQ(line, marked.line) << path << ": " << error.message;
}

TEST(VerifyGolden, TheMarkedLineFails) {
  std::set<std::string> shown;
  for (const fs::path& path : files("verify")) {
    const MarkedProgram marked = read_marked(path);
    expect_failure(path, marked, ir::verify(marked.program));
    shown.insert(marked.id);
  }
  // No text can break these: what they forbid does not print, or the text of the legal stage's file is
  // enough.
  const std::set<std::string> without_text = {"verify.attribute"};
  for (const ir::VerifyRule& rule : ir::verify_rules())
    EXPECT_EQ(shown.contains(std::string(rule.id)), !without_text.contains(std::string(rule.id))) << rule.id;
}

// The input has 96 bytes, of which 64 to 79 belong to no element; the output has 64.
ir::Result<void> run_marked(const ir::Program& program) {
  Case c{"", program, std::vector<uint8_t>(96, 0x7f), 64};
  c.begin = -2;
  c.count = 2;
  Arguments arguments(c, program);
  std::vector<bool> touchable(96, true);
  std::fill(touchable.begin() + 64, touchable.begin() + 80, false);
  ir::MemoryMap map = arguments.map();
  map.input.touchable = &touchable;
  // Tables of one null pointer too many: no file has a Program with indices but the one about them.
  map.indices.bytes = 8;
  std::vector<uint64_t> words(arguments.words().begin(), arguments.words().end());
  return ir::interpret(program, words, map);
}

TEST(FaultGolden, TheMarkedLineFails) {
  std::set<std::string> shown;
  for (const fs::path& path : files("faults")) {
    const MarkedProgram marked = read_marked(path);
    const auto valid = ir::verify(marked.program);
    ASSERT_TRUE(valid.has_value()) << path << ": " << ir::to_string(valid.error());
    expect_failure(path, marked, run_marked(marked.program));
    shown.insert(marked.id);
  }
  for (const ir::FaultInfo& fault : ir::faults())
    EXPECT_TRUE(shown.contains(std::string(fault.id))) << fault.id << " has no file";
}

TEST(Verify, FieldsThatAnOpDoesNotUse) {
  const auto rejected = [](auto change) {
    ir::Program program;
    program.types = {ir::Type::index()};
    program.insts = {{.op = ir::Op::iconst, .results = {0}}, {}};
    change(program.insts[0]);
    const auto result = ir::verify(program);
    return !result && result.error().id == "verify.attribute";
  };
  EXPECT_FALSE(rejected([](ir::Inst&) {}));
  EXPECT_TRUE(rejected([](ir::Inst& inst) { inst.addr.offset = 1; }));
  EXPECT_TRUE(rejected([](ir::Inst& inst) { inst.data = {1}; }));
  EXPECT_TRUE(rejected([](ir::Inst& inst) { inst.pred = ir::Predicate::lt; }));
  EXPECT_TRUE(rejected([](ir::Inst& inst) { inst.saturate = true; }));
  EXPECT_TRUE(rejected([](ir::Inst& inst) { inst.non_temporal = true; }));
}

// --- execution

// "f32 1 -2.5 nan(0x7fc00000)" as bytes.
std::vector<uint8_t> bytes_of(const std::string& data) {
  std::istringstream words(data);
  std::string word;
  words >> word;
  ir::DType dtype = ir::DType::u8;
  bool is_known = false;
  for (const ir::DTypeInfo& row : ir::dtype_table)
    if (row.text == word) dtype = row.dtype, is_known = true;
  EXPECT_TRUE(is_known) << data;
  std::vector<uint8_t> bytes;
  while (words >> word) {
    const auto bits = ir::parse_lane(dtype, word);
    EXPECT_TRUE(bits.has_value()) << word;
    const int64_t value = bits.value_or(0);
    const auto* const begin = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), begin, begin + ir::bytes(dtype));
  }
  return bytes;
}

std::string values_text(ir::DType dtype, const std::vector<uint8_t>& bytes) {
  std::string text(ir::info(dtype).text);
  const auto width = static_cast<size_t>(ir::bytes(dtype));
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    int64_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, width);
    text += " " + ir::print_lane(dtype, bits);
  }
  return text;
}

// What every engine leaves in the output, or what is wrong. Keys: input (a dtype and values), output (a dtype
// and how many), count, operand 0 and so on (as input), program (a file beside this one's expectations).
std::string run_text(const GoldenKeys& keys, const ir::Program& program) {
  const auto key = [&](const std::string& name) {
    const auto found = keys.find(name);
    return found == keys.end() ? std::string() : found->second;
  };
  std::istringstream output(key("output"));
  std::string dtype_name;
  size_t elements = 0;
  output >> dtype_name >> elements;
  const auto* const dtype = std::find_if(std::begin(ir::dtype_table), std::end(ir::dtype_table),
                                         [&](const auto& row) { return row.text == dtype_name; });
  if (dtype == std::end(ir::dtype_table)) return "no such dtype: " + dtype_name;
  Case c{"", program, bytes_of(key("input")), elements * static_cast<size_t>(ir::bytes(dtype->dtype))};
  if (const std::string count = key("count"); !count.empty()) c.count = std::stoll(count);
  for (int number = 0; keys.contains(fmt::format("operand {}", number)); ++number)
    c.operands.push_back(bytes_of(key(fmt::format("operand {}", number))));
  std::string text;
  for (const ir::IsaInfo& isa : ir::isa_table) {
    c.program.isa = isa.isa;
    for (const Run& run : run_everywhere(c)) {
      const std::string one =
          run.result ? values_text(dtype->dtype, run.result->output) : ir::to_string(run.result.error());
      if (text.empty()) text = one;
      EXPECT_EQ(one, text) << run.engine << " " << isa.text;
    }
  }
  return text + "\n";
}

TEST(RunGolden, EveryEngineLeavesTheSame) {
  for (const fs::path& path : files("run")) {
    SCOPED_TRACE(path);
    const Golden golden = read_golden(path);
    const size_t begin = golden.head.find("program \"");
    ASSERT_NE(begin, std::string::npos);
    const auto program =
        ir::parse_program(std::string_view(golden.head).substr(begin, golden.head.size() - begin - 4));
    ASSERT_TRUE(program.has_value()) << ir::to_string(program.error());
    expect_golden(path, golden, run_text(golden.keys, *program));
  }
}

}  // namespace
}  // namespace pooljit::test
