#include "jit/xbyak/entry_code.h"

#include <xbyak/xbyak.h>

#include <algorithm>
#include <memory>

#include "ir/check.h"
#include "jit/object/bytes.h"
#include "jit/xbyak/entry_parts.h"

namespace pooljit::jit {

namespace {
using Xbyak::Label;
using Xbyak::Reg64;

constexpr size_t room = 256 * 1024;

int aligned(int bytes, int alignment) { return (bytes + alignment - 1) / alignment * alignment; }

// The call as its entries write it down, a word each.
struct Slots {
  int indices, operands, batch = -1, part = 0, parts = 0, scratch = 0, count = 0;
  static constexpr int input = 0, output = 1;
  explicit Slots(const ExportedFunction& function)
      : indices(output + function.outputs), operands(indices + function.indices) {
    int next = operands + function.operands;
    if (function.has_batch) batch = next++;
    part = next++;
    parts = next++;
    scratch = next++;
    count = next;
  }
  // Those that are pointers, input, outputs, indices and operands, come first.
  int pointers(const ExportedFunction& function) const { return operands + function.operands; }
};

class Writer : private Xbyak::CodeGenerator {
 public:
  Writer(ElfObject& object, size_t isa_word, uint8_t* buffer, const ExportedFunction& function,
         std::vector<CodeFrame>& frames)
      : CodeGenerator(room, buffer),
        object_(object),
        isa_word_(isa_word),
        function_(function),
        slots_(function),
        frames_(frames),
        base_(align_up(object.section(SectionId::text).bytes.size(), 16)) {}

  // detect: where that function lies in .text; SIZE_MAX: to be written.
  void write(size_t& detect) {
    if (detect == SIZE_MAX) {
      detect = base_;
      write_detect();
    }
    Label dispatch;
    write_dispatch(dispatch, detect);
    for (const ExportedIsa& isa : function_.isas) write_run(isa);
    write_entry(function_.name, Share::all, dispatch);
    write_entry(function_.name + "_part", Share::part, dispatch);
    write_entry(function_.name + "_part_with", Share::part_with, dispatch);
    for (size_t i = 0; i < function_.isas.size(); ++i)
      write_entry(function_.name + "_part_with_" + std::string(info(function_.isas[i].isa).text),
                  Share::part_with, *runs_[i]);
    const size_t at = object_.append(SectionId::text, getCode(), getSize(), 16);
    POOLJIT_CHECK(at == base_, "the entries lie elsewhere than thought");
  }

 private:
  enum class Share : uint8_t { all, part, part_with };

  // --- functions and what they refer to
  void begin(const std::string& name, bool is_global) {
    align(16);
    begin_ = getSize();
    name_ = name;
    is_global_ = is_global;
    frame_ = {};
    endbr64();
  }
  size_t here() const { return getSize() - begin_; }
  void end() {
    object_.add_symbol({name_, SectionId::text, base_ + begin_, here(), is_global_});
    frames_.push_back({base_ + begin_, here(), frame_.take()});
  }
  // After an instruction that ends with the distance to something in another section.
  void refer(SectionId section, size_t offset) {
    object_.relocate(SectionId::text, {base_ + getSize() - 4, ElfObject::RelocationKind::relative_4, section,
                                       static_cast<int64_t>(offset) - 4});
  }
  void call_text(size_t offset) {
    db(0xe8);
    const auto next = static_cast<int64_t>(base_ + getSize() + 4);
    dd(static_cast<uint32_t>(static_cast<int64_t>(offset) - next));
  }
  void push_saved(const Reg64& reg) {
    push(reg);
    frame_.push(here(), reg.getIdx());
  }
  void begin_frame() {
    push_saved(rbp);
    mov(rbp, rsp);
    frame_.set_base(here(), rbp.getIdx());
  }
  void end_frame() {
    leave();
    frame_.reset(here());
    ret();
  }

  // --- the processor
  // eax: the level. Keeps rdi.
  void write_detect() {
    begin("pooljit_detect_isa", false);
    push_saved(rbx);
    write_isa_level(*this);
    mov(dword[rip + 0], eax);  // whoever else is here writes the same
    refer(SectionId::bss, isa_word_);
    pop(rbx);
    frame_.adjust(here(), -8);
    ret();
    end();
  }
  // rdi: the words. Jumps to the best body.
  void write_dispatch(Label& dispatch, size_t detect) {
    begin(function_.name + ".choose", false);
    Label known;
    L(dispatch);
    mov(eax, dword[rip + 0]);
    refer(SectionId::bss, isa_word_);
    test(eax, eax);
    jnz(known);
    call_text(detect);
    L(known);
    for (size_t i = 0; i < function_.isas.size(); ++i) runs_.push_back(std::make_unique<Label>());
    for (size_t i = function_.isas.size(); i-- > 0;) {
      cmp(eax, level_of(function_.isas[i].isa));
      jae(*runs_[i], T_NEAR);
    }
    mov(eax, static_cast<int>(EntryCode::no_isa));
    ret();
    end();
  }

  // --- entries
  void write_entry(const std::string& name, Share share, const Label& target) {
    begin(name, true);
    begin_frame();
    const int block = aligned(8 * slots_.count, 16);
    sub(rsp, block);
    const auto word = [&](int slot) { return qword[rbp - block + 8 * slot]; };
    int number = 0;
    const auto take = [&](int slot, bool is_int) {
      const Reg64 registers[] = {rdi, rsi, rdx, rcx, r8, r9};
      if (number < 6 && !is_int) {
        mov(word(slot), registers[number++]);
        return;
      }
      const int place = 16 + 8 * (number - 6);
      if (number < 6)
        movsxd(rax, registers[number].cvt32());
      else if (is_int)
        movsxd(rax, dword[rbp + place]);
      else
        mov(rax, qword[rbp + place]);
      mov(word(slot), rax);
      ++number;
    };
    for (int slot = 0; slot < slots_.part; ++slot) take(slot, false);
    if (share == Share::all) {
      mov(word(slots_.part), 0);
      mov(word(slots_.parts), 1);
    } else {
      take(slots_.part, true);
      take(slots_.parts, true);
    }
    if (share == Share::part_with)
      take(slots_.scratch, false);
    else if (function_.scratch_bytes > 0)
      write_scratch_on_stack(*this, function_.scratch_bytes, word(slots_.scratch));
    lea(rdi, ptr[rbp - block]);
    call(target);
    end_frame();
    end();
  }

  // --- one ISA
  // Offsets from rsp in write_run().
  struct Locals {
    int ranges, mxcsr, bytes;
    Locals(const ExportedIsa& isa) {
      size_t params = 0;
      for (const ExportedBody& body : isa.bodies) params = std::max(params, body.params.size());
      ranges = static_cast<int>(8 * params);
      mxcsr = ranges + static_cast<int>(16 * isa.tasks.size());
      bytes = aligned(mxcsr + 8, 16) + 8;  // five registers lie above
    }
    int begin(size_t task) const { return ranges + static_cast<int>(16 * task); }
    int count(size_t task) const { return begin(task) + 8; }
  };

  Xbyak::Address word(int slot) { return qword[rbx + 8 * slot]; }
  Xbyak::Address local(int offset) { return qword[rsp + offset]; }

  // rdi: the words.
  void write_run(const ExportedIsa& isa) {
    begin(function_.name + "." + std::string(info(isa.isa).text), false);
    const size_t number = static_cast<size_t>(&isa - function_.isas.data());
    L(*runs_[number]);
    begin_frame();
    for (const Reg64& reg : {rbx, r12, r13, r14, r15}) push_saved(reg);
    const Locals locals(isa);
    sub(rsp, locals.bytes);
    mov(rbx, rdi);
    Label invalid, ok, out;
    check_call(isa, invalid, ok);
    write_share(isa, locals, ok);
    write_mxcsr_saved(*this, locals.mxcsr);
    Label called;
    for (const ExportedBody& body : isa.bodies) enter(isa, body, locals, called);
    L(called);
    write_mxcsr_restored(*this, locals.mxcsr);
    L(ok);
    xor_(eax, eax);
    jmp(out);
    L(invalid);
    mov(eax, static_cast<int>(EntryCode::invalid));
    L(out);
    add(rsp, locals.bytes);
    for (const Reg64& reg : {r15, r14, r13, r12, rbx}) pop(reg);
    pop(rbp);
    frame_.reset(here());
    ret();
    end();
  }

  // r12: the part, r13: the parts.
  void check_call(const ExportedIsa& isa, Label& invalid, Label& ok) {
    mov(r12, word(slots_.part));
    mov(r13, word(slots_.parts));
    test(r12, r12);
    js(invalid, T_NEAR);
    cmp(r12, r13);
    jge(invalid, T_NEAR);
    if (slots_.batch >= 0) {
      write_batch_check(*this, word(slots_.batch), function_.largest_batch, invalid, ok);
    }
    for (int slot = 0; slot < slots_.pointers(function_); ++slot) {
      cmp(word(slot), 0);
      je(invalid, T_NEAR);
    }
    if (isa.scratch_bytes == 0) return;
    mov(rax, word(slots_.scratch));
    test(rax, rax);
    jz(invalid, T_NEAR);
    test(rax, static_cast<int>(ir::scratch_alignment) - 1);
    jnz(invalid, T_NEAR);
  }

  bool is_one(const ir::TaskDim& task) const {
    return task.extent == 1 || (task.extent == ir::TaskDim::batch_extent && !function_.has_batch);
  }
  void load_extent(const Reg64& to, const ir::TaskDim& task) {
    if (task.extent == ir::TaskDim::batch_extent)
      mov(to, word(slots_.batch));
    else
      mov(to, task.extent);
  }

  // The ranges of tasks of the part: each dimension is cut among the parts, from the outermost on, if that
  // keeps them equally busy; else as far as it can be shared out evenly, and the next one among the rest.
  void write_share(const ExportedIsa& isa, const Locals& locals, Label& ok) {
    size_t last = 0;
    for (size_t d = 0; d < isa.tasks.size(); ++d)
      if (!is_one(isa.tasks[d])) last = d;
    Label split, done;
    cmp(r13, 1);
    jne(split, T_NEAR);
    for (size_t d = 0; d < isa.tasks.size(); ++d) {
      mov(local(locals.begin(d)), 0);
      if (is_one(isa.tasks[d])) {
        mov(local(locals.count(d)), 1);
      } else {
        load_extent(rax, isa.tasks[d]);
        mov(local(locals.count(d)), rax);
      }
    }
    jmp(done, T_NEAR);
    L(split);
    for (size_t d = 0; d < isa.tasks.size(); ++d) {
      if (is_one(isa.tasks[d]) && d != last) {
        mov(local(locals.begin(d)), 0);
        mov(local(locals.count(d)), 1);
        continue;
      }
      if (is_one(isa.tasks[d]))
        mov(r14, 1);
      else
        load_extent(r14, isa.tasks[d]);
      if (d == last)
        write_last_cut(*this, ok);
      else
        write_cut(*this);
      write_range(*this, locals.begin(d), locals.count(d));
    }
    L(done);
  }

  // --- a body
  void enter(const ExportedIsa& isa, const ExportedBody& body, const Locals& locals, Label& called) {
    Label next;
    if (body.output_alignment > 1) {
      test(word(Slots::output), static_cast<uint32_t>(body.output_alignment - 1));
      jnz(next, T_NEAR);
    }
    for (size_t i = 0; i < body.params.size(); ++i) {
      load_argument(body, body.params[i], locals);
      mov(local(static_cast<int>(8 * i)), rax);
    }
    mov(rdi, rsp);
    call_text(body.text_offset);
    if (&body != &isa.bodies.back()) jmp(called, T_NEAR);
    L(next);
  }
  void load_output(int number) {
    const ExportedFunction::Written& written = function_.written[static_cast<size_t>(number)];
    mov(rax, word(Slots::output + written.output));
    if (written.output_bytes == 0) return;
    mov(rcx, written.output_bytes);
    add(rax, rcx);
  }
  void load_argument(const ExportedBody& body, const ir::Param& param, const Locals& locals) {
    using Role = ir::Param::Role;
    const auto number = static_cast<size_t>(param.number);
    switch (param.role) {
      case Role::input:
        return mov(rax, word(Slots::input));
      case Role::output:
        return load_output(param.number);
      case Role::indices:
        return mov(rax, word(slots_.indices + function_.written[number].indices));
      case Role::scratch:
        return mov(rax, word(slots_.scratch));
      case Role::operand:
        return mov(rax, word(slots_.operands + param.number));
      case Role::begin:
        return mov(rax, local(locals.begin(number)));
      case Role::count:
        return mov(rax, local(locals.count(number)));
      case Role::table:
        lea(rax, ptr[rip + 0]);
        return refer(SectionId::rodata, body.tables[number]);
      case Role::size:
        POOLJIT_CHECK(false, "an exported function has one size");
    }
  }

  ElfObject& object_;
  const size_t isa_word_;
  const ExportedFunction& function_;
  const Slots slots_;
  std::vector<CodeFrame>& frames_;
  const size_t base_;  // of what is written here, in .text
  std::vector<std::unique_ptr<Label>> runs_;
  size_t begin_ = 0;
  std::string name_;
  bool is_global_ = false;
  FrameWriter frame_;
};

}  // namespace

EntryWriter::EntryWriter(ElfObject& object) : object_(object) {
  constexpr uint8_t zeros[4] = {};
  isa_word_ = object.append(SectionId::bss, zeros, sizeof zeros, sizeof zeros);
}

void EntryWriter::add(const ExportedFunction& function, std::vector<CodeFrame>& frames) {
  const std::unique_ptr<uint8_t[]> buffer(new uint8_t[room + 16]);
  Writer writer(object_, isa_word_, Xbyak::CodeArray::getAlignedAddress(buffer.get(), 16), function, frames);
  writer.write(detect_);
}

}  // namespace pooljit::jit
