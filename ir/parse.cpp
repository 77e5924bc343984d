// parse_program of ir/text.h: a parser of one function per construct. It stops at the first mistake.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/lane_text.h"
#include "ir/op_rules.h"
#include "ir/parse_number.h"
#include "ir/scanner.h"
#include "ir/text.h"

namespace pooljit::ir {
namespace {

// The first mistake; unwinds to parse_program.
struct Mistake {
  int line;
  std::string message;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : scanner_(text) { advance(); }

  Program program() {
    expect("program");
    if (token_.kind != TokenKind::string) fail("the program's name in quotes");
    program_.name = unescaped(advance().text);
    program_.stage = found(find_stage, "affine, addressed or legal");
    program_.isa = found(find_isa, "an instruction set");
    expect("{");
    if (accept("params")) params();
    if (accept("tasks")) tasks();
    if (accept("scratch")) program_.scratch_bytes = integer();
    while (accept("table")) table();
    while (!accept("}")) instruction();
    if (token_.kind != TokenKind::end) fail("nothing after the program");
    return std::move(program_);
  }

 private:
  // --- tokens

  Token advance() {
    const Token token = token_;
    token_ = scanner_.next();
    return token;
  }

  [[noreturn]] void fail(std::string_view wanted) const {
    throw Mistake{token_.line, fmt::format("\"{}\" where {} should be", token_.text, wanted)};
  }

  bool accept(std::string_view text) {
    const bool is_text = token_.kind == TokenKind::word || token_.kind == TokenKind::mark;
    if (!is_text || token_.text != text) return false;
    advance();
    return true;
  }

  void expect(std::string_view text) {
    if (!accept(text)) fail(fmt::format("\"{}\"", text));
  }

  template <typename E>
  E found(std::optional<E> (*find)(std::string_view), std::string_view wanted) {
    const auto result = find(token_.text);
    if (token_.kind != TokenKind::word || !result) fail(wanted);
    advance();
    return *result;
  }

  static std::string unescaped(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      out += text[i];
    }
    return out;
  }

  // one, one, ... one
  template <typename F>
  void list(F one) {
    do one();
    while (accept(","));
  }

  int64_t integer() { return integer(accept("-")); }

  int64_t integer(bool is_negative) {
    const std::string text = (is_negative ? "-" : "") + std::string(token_.text);
    int64_t value = 0;
    if (token_.kind != TokenKind::number || !parse_number(text, value)) fail("a 64-bit integer");
    advance();
    return value;
  }

  int number() {
    const int64_t value = integer();
    if (value < 0 || value > std::numeric_limits<int>::max()) fail("a smaller number before");
    return static_cast<int>(value);
  }

  Value value() {
    Value number = no_value;
    if (token_.kind != TokenKind::value || !parse_number(token_.text, number)) fail("a value like %3");
    // Bounded so that a mistyped name does not ask for gigabytes of types.
    if (number >= (1 << 24)) fail("a smaller value number");
    advance();
    return number;
  }

  // --- head

  Param param() {
    Param param;
    param.role = found(find_role, "a parameter's role");
    if (has_number(param.role) || number_follows()) param.number = number();
    return param;
  }

  bool number_follows() const { return token_.kind == TokenKind::number; }

  void params() {
    list([&] { program_.params.push_back(param()); });
  }

  void tasks() {
    list([&] {
      if (token_.kind != TokenKind::word) fail("a task dimension's name");
      TaskDim task{std::string(advance().text), TaskDim::batch_extent};
      expect("=");
      if (accept("size"))
        task.extent = TaskDim::size_extent;
      else if (accept("outputs"))
        task.extent = TaskDim::size_outputs;
      else if (!accept("batch"))
        task.extent = integer();
      program_.tasks.push_back(std::move(task));
    });
  }

  void table() {
    if (number() != static_cast<int>(program_.tables.size())) fail("the tables in order;");
    std::vector<int64_t> values;
    expect("=");
    expect("[");
    if (!accept("]")) {
      list([&] { values.push_back(integer()); });
      expect("]");
    }
    program_.tables.push_back(std::move(values));
  }

  // --- instructions

  void instruction() {
    Inst inst;
    if (token_.kind == TokenKind::value) {
      list([&] { inst.results.push_back(value()); });
      expect("=");
    }
    inst.op = found(find_op, "an operation");
    lanes_ = {};
    operands(inst);
    if (!inst.results.empty()) {
      expect(":");
      size_t i = 0;
      list([&] {
        const Type one = type();
        if (i < inst.results.size()) define(inst.results[i], one);
        ++i;
      });
      if (i != inst.results.size()) fail("one type per result before");
    }
    if (inst.op == Op::vconst || inst.op == Op::shuffle) inst.data = lanes(inst);
    program_.insts.push_back(inst);
  }

  void define(Value name, Type type) {
    const auto index = static_cast<size_t>(name);
    if (program_.types.size() <= index) program_.types.resize(index + 1);
    program_.types[index] = type;
  }

  void operands(Inst& inst) {
    const OpRule& op = rule(inst.op);
    if (op.attribute == Attribute::predicate) inst.pred = found(find_predicate, "a predicate");
    bool more = false;  // a comma asks for one
    if (op.has_address) {
      inst.addr = address();
      more = accept(",");
    }
    if (inst.op == Op::loop) inst.args.push_back(value());
    if (inst.op == Op::loop || inst.op == Op::end) {
      if (accept("(")) {
        list([&] { inst.args.push_back(value()); });
        expect(")");
      }
      return;
    }
    while (token_.kind == TokenKind::value &&
           (more || (inst.args.empty() && !op.has_address && !op.args.empty()))) {
      inst.args.push_back(value());
      more = accept(",");
    }
    if (more && op.attribute != Attribute::bits && op.attribute != Attribute::lanes) fail("an operand");
    attribute(inst, op.attribute);
  }

  void attribute(Inst& inst, Attribute attribute) {
    switch (attribute) {
      case Attribute::slot:
        inst.imm = accept("slot") ? integer() : slot(param());
        return;
      case Attribute::integer:
      case Attribute::bits:
        inst.imm = integer();
        return;
      case Attribute::lanes:
        if (inst.op == Op::vmask)
          inst.data = mask_lanes();
        else
          lane_list();
        return;
      case Attribute::saturate:
        inst.saturate = accept("saturate");
        return;
      case Attribute::non_temporal:
        inst.non_temporal = accept("non_temporal");
        return;
      default:
        return;
    }
  }

  int64_t slot(const Param& param) const {
    const auto found = std::find(program_.params.begin(), program_.params.end(), param);
    if (found == program_.params.end()) fail("one of the program's params before");
    return found - program_.params.begin();
  }

  Address address() {
    Address address;
    expect("[");
    address.base = value();
    while (!accept("]")) {
      const bool minus = accept("-");
      if (!minus) expect("+");
      if (token_.kind == TokenKind::value) {
        if (minus) fail("an offset");
        Term term{value(), 0};
        expect("*");
        term.bytes = integer();
        address.terms.push_back(term);
      } else {
        if (address.offset != 0) fail("one offset");
        address.offset = integer(minus);
      }
    }
    return address;
  }

  Type type() {
    const std::string_view text = token_.text;
    if (token_.kind != TokenKind::word) fail("a type");
    if (accept("index")) return Type::index();
    if (accept("ptr")) return Type::ptr();
    const size_t x = text.find('x');
    const std::string_view element = text.substr(0, x);
    Type type{Type::Kind::mask, DType::u8, 0};
    bool is_known = false;
    for (const DTypeInfo& row : dtype_table) {
      const bool is_mask = fmt::format("m{}", row.bits) == element && row.cls == DTypeClass::unsigned_int;
      if (row.text != element && !is_mask) continue;
      is_known = true;
      type.dtype = row.dtype;
      if (!is_mask) type.kind = Type::Kind::vec;
    }
    if (!is_known || x == std::string_view::npos || !parse_number(text.substr(x + 1), type.lanes))
      fail("a type like f32x16");
    advance();
    return type;
  }

  // --- lane lists

  struct Lane {
    std::string text;
    int line = 0;
  };
  struct LaneList {
    std::vector<Lane> lanes;
    bool is_splat = false, is_progression = false;
  };

  Lane lane() {
    Lane lane{"", token_.line};
    if (accept("nan")) {
      expect("(");
      lane.text = fmt::format("nan({})", advance().text);
      expect(")");
      return lane;
    }
    if (accept("-")) lane.text = "-";
    if (token_.kind != TokenKind::number && token_.text != "inf") fail("a number");
    lane.text += advance().text;
    return lane;
  }

  void lane_list() {
    lanes_.is_splat = accept("splat");
    if (lanes_.is_splat) {
      expect("(");
      lanes_.lanes.push_back(lane());
      return expect(")");
    }
    expect("[");
    list([&] {
      if (accept("..."))
        lanes_.is_progression = true;
      else
        lanes_.lanes.push_back(lane());
    });
    expect("]");
    if (lanes_.is_progression && lanes_.lanes.size() != 3) fail("[first, second, ..., last] before");
  }

  // The list's values; `count` is how many a splat makes.
  std::vector<int64_t> expanded(DType dtype, int count) {
    std::vector<int64_t> values;
    for (const Lane& lane : lanes_.lanes) values.push_back(lane_value(dtype, lane));
    if (lanes_.is_splat)
      return std::vector<int64_t>(static_cast<size_t>(std::clamp(count, 0, 64)), values[0]);
    if (!lanes_.is_progression) return values;
    const auto is_large = [](int64_t lane) { return lane > INT32_MAX || lane < INT32_MIN; };
    if (std::any_of(values.begin(), values.end(), is_large)) fail("a list of smaller numbers before");
    const int64_t first = values[0], step = values[1] - first, last = values[2];
    if (step == 0 || (last - first) % step != 0 || (last - first) / step < 3 || (last - first) / step > 63)
      fail("a list with a constant step before");
    values.clear();
    for (int64_t at = first; at != last + step; at += step) values.push_back(at);
    return values;
  }

  static int64_t lane_value(DType dtype, const Lane& lane) {
    if (const auto bits = parse_lane(dtype, lane.text)) return *bits;
    throw Mistake{lane.line,
                  fmt::format("\"{}\" where a number of type {} should be", lane.text, info(dtype).text)};
  }

  // Read with the types, which follow the list, known.
  std::vector<int64_t> lanes(const Inst& inst) {
    if (inst.results.size() != 1) fail("one result before");
    const Type& type = program_.type(inst.results[0]);
    return expanded(inst.op == Op::shuffle ? DType::i64 : type.dtype, type.lanes);
  }

  std::vector<int64_t> mask_lanes() {
    const std::string_view text = token_.text;
    if (token_.kind != TokenKind::number || text.find_first_not_of("01") != std::string_view::npos)
      fail("a 0 or 1 per lane");
    std::vector<int64_t> lanes;
    for (char digit : text) lanes.push_back(digit - '0');
    advance();
    return lanes;
  }

  Scanner scanner_;
  Token token_;
  Program program_;
  LaneList lanes_;  // of the instruction being read
};

}  // namespace

Result<Program> parse_program(std::string_view text) {
  try {
    return Parser(text).program();
  } catch (const Mistake& mistake) {
    return invalid("program.text", fmt::format("line {}: {}", mistake.line, mistake.message));
  }
}

}  // namespace pooljit::ir
