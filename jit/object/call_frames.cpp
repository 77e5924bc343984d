#include "jit/object/call_frames.h"

#include <algorithm>
#include <iterator>

#include "ir/check.h"
#include "jit/object/bytes.h"

namespace pooljit::jit {

namespace {

// DWARF's names, in small letters.
constexpr uint8_t cfa_advance_loc = 0x40, cfa_offset = 0x80;  // with an operand in the low six bits
constexpr uint8_t cfa_advance_loc1 = 0x02, cfa_advance_loc2 = 0x03, cfa_advance_loc4 = 0x04;
constexpr uint8_t cfa_def_cfa = 0x0c, cfa_def_cfa_register = 0x0d, cfa_def_cfa_offset = 0x0e, cfa_nop = 0x00;
constexpr uint8_t pointer_relative_4 = 0x1b;  // DW_EH_PE_pcrel | DW_EH_PE_sdata4
constexpr int64_t data_factor = 8;            // written as -8
constexpr uint8_t stack_pointer = 7, return_address = 16;
constexpr size_t alignment = 8;

// The bytes of the common entry between its length and its padding.
constexpr uint8_t common[] = {
    0,
    0,
    0,
    0,  // it is the common entry
    1,  // version
    'z',
    'R',
    0,  // what the augmentation says: where functions begin
    1,
    0x78,
    return_address,  // code factor, data factor -8 (a signed LEB128)
    1,
    pointer_relative_4,  // augmentation
    cfa_def_cfa,
    stack_pointer,
    8,  //
    cfa_offset | return_address,
    1,  // at CFA - 8
};

// DWARF numbers the first eight registers in an order of its own.
uint8_t dwarf_register(int reg) {
  constexpr uint8_t first[] = {0, 2, 1, 3, 7, 6, 4, 5};
  return reg < 8 ? first[reg] : static_cast<uint8_t>(reg);
}

// A record: its length, its contents, and nops up to the alignment.
void append_record(std::vector<uint8_t>& out, std::span<const uint8_t> contents) {
  const size_t padded = (contents.size() + 4 + alignment - 1) / alignment * alignment - 4;
  append_number<uint32_t>(out, static_cast<uint32_t>(padded));
  out.insert(out.end(), contents.begin(), contents.end());
  out.insert(out.end(), padded - contents.size(), cfa_nop);
}

}  // namespace

void FrameWriter::advance(size_t offset) {
  const size_t by = offset - at_;
  at_ = offset;
  if (by == 0) return;
  if (by < 0x40) {
    instructions_.push_back(static_cast<uint8_t>(cfa_advance_loc | by));
  } else if (by <= 0xff) {
    instructions_.push_back(cfa_advance_loc1);
    append_number<uint8_t>(instructions_, static_cast<uint8_t>(by));
  } else if (by <= 0xffff) {
    instructions_.push_back(cfa_advance_loc2);
    append_number<uint16_t>(instructions_, static_cast<uint16_t>(by));
  } else {
    instructions_.push_back(cfa_advance_loc4);
    append_number<uint32_t>(instructions_, static_cast<uint32_t>(by));
  }
}

void FrameWriter::adjust(size_t offset, int64_t bytes) {
  advance(offset);
  depth_ += bytes;
  if (has_base_) return;
  instructions_.push_back(cfa_def_cfa_offset);
  append_leb128(instructions_, static_cast<uint64_t>(depth_));
}

void FrameWriter::push(size_t offset, int reg) {
  adjust(offset, 8);
  instructions_.push_back(static_cast<uint8_t>(cfa_offset | dwarf_register(reg)));
  append_leb128(instructions_, static_cast<uint64_t>(depth_ / data_factor));
}

void FrameWriter::set_base(size_t offset, int reg) {
  advance(offset);
  has_base_ = true;
  instructions_.insert(instructions_.end(), {cfa_def_cfa_register, dwarf_register(reg)});
}

void FrameWriter::reset(size_t offset) {
  advance(offset);
  has_base_ = false;
  depth_ = 8;
  instructions_.insert(instructions_.end(), {cfa_def_cfa, stack_pointer, 8});
}

FrameTable frame_table(std::span<const FrameOfFunction> functions) {
  FrameTable table;
  append_record(table.bytes, common);
  for (const FrameOfFunction& function : functions) {
    std::vector<uint8_t> record;
    // Back from here to the common entry.
    append_number<uint32_t>(record, static_cast<uint32_t>(table.bytes.size() + 4));
    table.begins.push_back(table.bytes.size() + 4 + record.size());
    append_number<uint32_t>(record, 0);
    append_number<uint32_t>(record, static_cast<uint32_t>(function.bytes));
    record.push_back(0);  // of augmentation
    record.insert(record.end(), function.instructions.begin(), function.instructions.end());
    append_record(table.bytes, record);
  }
  return table;
}

std::span<const uint8_t> only_frame(std::span<const uint8_t> eh_frame) {
  const auto record = [&](size_t at) -> std::span<const uint8_t> {
    if (at + 4 > eh_frame.size()) return {};
    const uint32_t bytes = number_at<uint32_t>(eh_frame, at);
    return bytes == 0 || bytes > eh_frame.size() - at - 4 ? std::span<const uint8_t>()
                                                          : eh_frame.subspan(at + 4, bytes);
  };
  const std::span<const uint8_t> first = record(0);
  if (first.size() < sizeof common || !std::equal(std::begin(common), std::end(common), first.begin()))
    return {};
  const std::span<const uint8_t> function = record(first.size() + 4);
  constexpr size_t before_instructions = 4 + 4 + 4 + 1;
  return function.size() < before_instructions ? std::span<const uint8_t>()
                                               : function.subspan(before_instructions);
}

}  // namespace pooljit::jit
