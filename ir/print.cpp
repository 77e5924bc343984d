// print of ir/text.h.
#include <fmt/format.h>

#include <algorithm>

#include "ir/append.h"
#include "ir/lane_text.h"
#include "ir/op_rules.h"
#include "ir/text.h"

namespace pooljit::ir {
namespace {

constexpr size_t table_row = 16;  // values in a line of a long table

template <typename Range, typename F>
std::string joined(const Range& range, F&& to_text) {
  std::string out;
  for (const auto& element : range) {
    if (!out.empty()) out += ", ";
    out += to_text(element);
  }
  return out;
}

std::string value_text(Value value) { return fmt::format("%{}", value); }

std::string values_text(const Values& values) { return joined(values, value_text); }

// For errors, Programs that are not valid must print too.
Type type_of(const Program& program, Value value) {
  const bool is_known = value >= 0 && value < std::ssize(program.types);
  return is_known ? program.type(value) : Type::vec(DType::i64, 0);
}

DType lane_dtype(const Program& program, const Inst& inst) {
  const bool is_constant = inst.op == Op::vconst && !inst.results.empty();
  return is_constant ? type_of(program, inst.results[0]).dtype : DType::i64;
}

// A constant step other than 0, of lanes that are small enough for it to be computed.
bool is_progression(const std::vector<int64_t>& lanes) {
  if (lanes.size() < 4 || lanes[0] == lanes[1]) return false;
  const auto is_large = [](int64_t lane) { return lane > INT32_MAX || lane < INT32_MIN; };
  if (std::any_of(lanes.begin(), lanes.end(), is_large)) return false;
  const int64_t step = lanes[1] - lanes[0];
  for (size_t i = 1; i < lanes.size(); ++i)
    if (lanes[i] - lanes[i - 1] != step) return false;
  return true;
}

std::string lanes_text(const std::vector<int64_t>& lanes, DType dtype) {
  // A Program that is not canonical is not valid, and the text shows it.
  const auto one = [&](int64_t lane) {
    return lane == lane_bits(dtype, lane) ? print_lane(dtype, lane) : fmt::format("{}", lane);
  };
  if (lanes.size() > 1 && std::count(lanes.begin(), lanes.end(), lanes[0]) == std::ssize(lanes))
    return fmt::format("splat({})", one(lanes[0]));
  if (!is_float(dtype) && is_progression(lanes))
    return fmt::format("[{}, {}, ..., {}]", one(lanes[0]), one(lanes[1]), one(lanes.back()));
  return fmt::format("[{}]", joined(lanes, one));
}

std::string mask_text(const std::vector<int64_t>& lanes) {
  std::string out;
  for (int64_t lane : lanes) out += lane ? '1' : '0';
  return out;
}

std::string param_text(const Param& param) {
  return has_number(param.role) || param.number != 0 ? fmt::format("{} {}", text(param.role), param.number)
                                                     : std::string(text(param.role));
}

// A slot by its role; by its number where the role does not tell.
std::string slot_text(const Program& program, int64_t slot) {
  const auto& params = program.params;
  if (slot < 0 || slot >= std::ssize(params)) return fmt::format("slot {}", slot);
  const auto here = params.begin() + slot;
  return std::find(params.begin(), params.end(), *here) == here ? param_text(*here)
                                                                : fmt::format("slot {}", slot);
}

std::string address_text(const Address& address) {
  std::string out = "[" + value_text(address.base);
  for (const Term& term : address.terms) append(out, " + %{}*{}", term.iv, term.bytes);
  if (address.offset > 0) append(out, " + {}", address.offset);
  if (address.offset < 0) append(out, " - {}", -static_cast<uint64_t>(address.offset));
  return out + "]";
}

// What stands between the op's name and its types, part by part.
std::vector<std::string> parts(const Program& program, const Inst& inst) {
  const OpRule& op = rule(inst.op);
  std::vector<std::string> parts;
  if (op.has_address) parts.push_back(address_text(inst.addr));
  for (Value arg : inst.args) parts.push_back(value_text(arg));
  switch (op.attribute) {
    case Attribute::slot:
      parts.push_back(slot_text(program, inst.imm));
      break;
    case Attribute::integer:
    case Attribute::bits:
      parts.push_back(fmt::format("{}", inst.imm));
      break;
    case Attribute::lanes:
      if (inst.op == Op::vmask)
        parts.push_back(mask_text(inst.data));
      else
        parts.push_back(lanes_text(inst.data, lane_dtype(program, inst)));
      break;
    default:
      break;
  }
  return parts;
}

std::string operands_text(const Program& program, const Inst& inst) {
  if (inst.op == Op::loop && !inst.args.empty()) {
    const Values init(inst.args.begin() + 1, inst.args.end());
    const std::string trip = " " + value_text(inst.args[0]);
    return init.empty() ? trip : fmt::format("{} ({})", trip, values_text(init));
  }
  if (inst.op == Op::end) return inst.args.empty() ? "" : fmt::format(" ({})", values_text(inst.args));
  std::string out = inst.op == Op::cmp ? fmt::format(" {}", text(inst.pred)) : "";
  const auto all = parts(program, inst);
  if (!all.empty()) out += " " + joined(all, [](const std::string& part) { return part; });
  if (inst.saturate) out += " saturate";
  if (inst.non_temporal) out += " non_temporal";
  return out;
}

std::string quoted(const std::string& name) {
  std::string out = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string task_text(const TaskDim& task) {
  if (task.extent == TaskDim::batch_extent) return task.name + "=batch";
  if (task.extent == TaskDim::size_extent) return task.name + "=size";
  if (task.extent == TaskDim::size_outputs) return task.name + "=outputs";
  return fmt::format("{}={}", task.name, task.extent);
}

std::string table_text(size_t number, const std::vector<int64_t>& table, const PrintOptions& options) {
  const size_t shown = std::min(table.size(), options.table_limit);
  const std::string_view rest = shown < table.size() ? ", ..." : "";
  const auto row = [&](size_t begin) {
    const auto first = table.begin() + static_cast<std::ptrdiff_t>(begin);
    const std::vector<int64_t> values(
        first, first + static_cast<std::ptrdiff_t>(std::min(table_row, shown - begin)));
    return joined(values, [](int64_t value) { return fmt::format("{}", value); });
  };
  std::string out = fmt::format("  table {} = [", number);
  if (shown <= table_row) {
    out += (shown ? row(0) : "") + std::string(rest) + "]";
  } else {
    for (size_t begin = 0; begin < shown; begin += table_row)
      append(out, "\n    {}{}", row(begin), begin + table_row < shown ? "," : rest);
    out += "\n  ]";
  }
  if (!rest.empty()) append(out, "  # {} values", table.size());
  return out + "\n";
}

std::string head(const Program& program, const PrintOptions& options) {
  std::string out =
      fmt::format("program {} {} {} {{\n", quoted(program.name), text(program.stage), info(program.isa).text);
  if (!program.params.empty()) append(out, "  params {}\n", joined(program.params, param_text));
  if (!program.tasks.empty()) append(out, "  tasks {}\n", joined(program.tasks, task_text));
  if (program.scratch_bytes != 0) append(out, "  scratch {}\n", program.scratch_bytes);
  for (size_t i = 0; i < program.tables.size(); ++i) out += table_text(i, program.tables[i], options);
  return out;
}

}  // namespace

std::string print(const Type& type) {
  switch (type.kind) {
    case Type::Kind::index:
      return "index";
    case Type::Kind::ptr:
      return "ptr";
    case Type::Kind::mask:
      return fmt::format("m{}x{}", info(type.dtype).bits, type.lanes);
    default:
      return fmt::format("{}x{}", info(type.dtype).text, type.lanes);
  }
}

std::string print(const Program& program, const Inst& inst) {
  std::string out;
  if (!inst.results.empty()) out = values_text(inst.results) + " = ";
  out += info(inst.op).text;
  out += operands_text(program, inst);
  if (!inst.results.empty())
    out += " : " + joined(inst.results, [&](Value value) { return print(type_of(program, value)); });
  return out;
}

std::string print(const Program& program, const PrintOptions& options) {
  std::string out = head(program, options);
  size_t depth = 1;
  for (const Inst& inst : program.insts) {
    if (inst.op == Op::end && depth > 1) --depth;
    out += std::string(2 * depth, ' ') + print(program, inst) + "\n";
    if (inst.op == Op::loop) ++depth;
  }
  return out + "}\n";
}

std::vector<int> lines(const Program& program, const PrintOptions& options) {
  const std::string before = head(program, options);
  const auto first = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
  std::vector<int> lines(program.insts.size());
  for (size_t i = 0; i < lines.size(); ++i) lines[i] = first + static_cast<int>(i);
  return lines;
}

}  // namespace pooljit::ir
