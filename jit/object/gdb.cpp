#include "jit/object/gdb.h"

#include <mutex>
#include <vector>

#include "jit/fork_gate.h"
#include "jit/object/bytes.h"
#include "jit/object/call_frames.h"
#include "jit/object/elf_object.h"

// gdb's JIT interface, found by these names: a function where it has a breakpoint of its own, and a list.
// Others in the process may have theirs (LLVM): each library its own, so nobody's else is called or changed.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,modernize-use-using): gdb's names
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;  // 0: none, 1: registered, 2: unregistered
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
[[gnu::used, gnu::visibility("hidden")]] jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
[[gnu::used, gnu::noinline, gnu::visibility("hidden")]] void __jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
// NOLINTEND(bugprone-reserved-identifier,modernize-use-using)
}

namespace pooljit::jit {

namespace {

std::vector<uint8_t> object_of(const std::string& name, const CodeBlob& blob) {
  ElfObject object;
  const auto code_address = reinterpret_cast<uintptr_t>(blob.code.data());
  object.append(SectionId::text, blob.code.data(), blob.code.size(), 1);
  object.section(SectionId::text).address = code_address;
  object.add_symbol({name, SectionId::text, 0, blob.code.size(), true});
  const FrameOfFunction function{0, blob.code.size(), blob.frame};
  FrameTable table = frame_table({&function, 1});
  const uint64_t table_address = align_up(code_address + blob.code.size(), 8);
  put_number<int32_t>(table.bytes, table.begins[0],
                      static_cast<int32_t>(code_address - (table_address + table.begins[0])));
  object.append(SectionId::eh_frame, table.bytes.data(), table.bytes.size(), 8);
  object.section(SectionId::eh_frame).address = table_address;
  return object.write();
}

class GdbEntry {
 public:
  GdbEntry(const std::string& name, const CodeBlob& blob)
      : object_(object_of(name, blob)), code_(blob.owner) {
    entry_.symfile_addr = reinterpret_cast<const char*>(object_.data());
    entry_.symfile_size = object_.size();
    const std::scoped_lock lock(gdb_mutex());
    entry_.next_entry = __jit_debug_descriptor.first_entry;
    if (entry_.next_entry) entry_.next_entry->prev_entry = &entry_;
    __jit_debug_descriptor.first_entry = &entry_;
    tell(1);
  }
  GdbEntry(const GdbEntry&) = delete;
  GdbEntry& operator=(const GdbEntry&) = delete;
  ~GdbEntry() {
    const std::scoped_lock lock(gdb_mutex());
    (entry_.prev_entry ? entry_.prev_entry->next_entry : __jit_debug_descriptor.first_entry) =
        entry_.next_entry;
    if (entry_.next_entry) entry_.next_entry->prev_entry = entry_.prev_entry;
    tell(2);
  }

 private:
  void tell(uint32_t action) {
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_descriptor.relevant_entry = &entry_;
    __jit_debug_register_code();
  }

  const std::vector<uint8_t> object_;
  const std::shared_ptr<void> code_;
  jit_code_entry entry_ = {};
};

}  // namespace

std::shared_ptr<void> register_with_gdb(const std::string& name, const CodeBlob& blob) {
  return std::make_shared<GdbEntry>(name, blob);
}

}  // namespace pooljit::jit
