#include "jit/code_image.h"

#include <memory>
#include <mutex>
#include <utility>

#include "jit/code_memory.h"
#include "jit/fork_gate.h"
#include "jit/object/bytes.h"
#include "jit/object/call_frames.h"

// The unwinder's own, which no header has. Unlike __register_frame they allocate nothing: what that would do
// where there is no memory is a crash.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier)
void __register_frame_info(const void* eh_frame, void* object);
void* __deregister_frame_info(const void* eh_frame);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace pooljit::jit {

namespace {

// Memory that the unwinder knows the table of.
class Registered {
 public:
  Registered(std::shared_ptr<void> memory, const uint8_t* table) : memory_(std::move(memory)), table_(table) {
    const std::scoped_lock lock(unwinder_mutex());
    __register_frame_info(table_, &object_);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() {
    const std::scoped_lock lock(unwinder_mutex());
    __deregister_frame_info(table_);
  }

 private:
  const std::shared_ptr<void> memory_;
  const uint8_t* const table_;
  void* object_[8] = {};  // libgcc's struct object, of 6 words
};

struct WithTable {
  std::vector<uint8_t> bytes;
  size_t table = 0;
};

// The image with the table behind it, so that one mapping holds both.
WithTable with_table(const CodeImage& image) {
  const size_t code_bytes = image.bytes.size() - image.code_offset;
  const FrameOfFunction function{0, code_bytes, image.frame};
  FrameTable table = frame_table({&function, 1});
  append_number<uint32_t>(table.bytes, 0);  // the end of the section
  WithTable result{{image.bytes.begin(), image.bytes.end()}, align_up(image.bytes.size(), 8)};
  const size_t from = result.table + table.begins[0];
  put_number<int32_t>(
      table.bytes, table.begins[0],
      static_cast<int32_t>(static_cast<int64_t>(image.code_offset) - static_cast<int64_t>(from)));
  result.bytes.resize(result.table);
  result.bytes.insert(result.bytes.end(), table.bytes.begin(), table.bytes.end());
  return result;
}

}  // namespace

ir::Result<CodeBlob> publish(CodeImage image) {
  const WithTable whole = with_table(image);
  ir::Result<CodeMemory> memory = make_executable(whole.bytes);
  if (!memory) return tl::unexpected(memory.error());
  CodeBlob blob;
  blob.image = {memory->bytes, image.bytes.size()};
  blob.bytes = blob.image.size();
  blob.code = blob.image.subspan(image.code_offset);
  blob.entry = reinterpret_cast<KernelFunction>(reinterpret_cast<uintptr_t>(blob.code.data()));
  blob.lines = std::move(image.lines);
  blob.frame = std::move(image.frame);
  blob.owner = std::make_shared<Registered>(std::move(memory->owner), memory->bytes + whole.table);
  return blob;
}

}  // namespace pooljit::jit
