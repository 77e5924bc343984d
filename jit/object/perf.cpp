#include "jit/object/perf.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <vector>

#include "ir/text.h"
#include "jit/object/bytes.h"

namespace pooljit::jit {

namespace {

uint64_t address(const CodeBlob& blob) { return reinterpret_cast<uintptr_t>(blob.code.data()); }

// A file of this user's own, through no link; -1: there is none.
int open_own(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  struct stat status = {};
  if (file < 0) return -1;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid()) return file;
  close(file);
  return -1;
}

void write_all(int file, const void* bytes, size_t count) {
  const auto* from = static_cast<const uint8_t*>(bytes);
  while (count > 0) {
    const ssize_t written = write(file, from, count);
    if (written < 0 && errno != EINTR) return;
    if (written <= 0) continue;
    from += written;
    count -= static_cast<size_t>(written);
  }
}

std::string dump_folder() {
  const char* const folder = std::getenv("JITDUMPDIR");
  return folder && *folder ? folder : "/tmp";
}

// --- jitdump
enum class Record : uint32_t { code_load = 0, debug_info = 2 };
constexpr uint32_t dump_magic = 0x4a695444, dump_version = 1, header_bytes = 40;

uint64_t now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

void append_text(std::vector<uint8_t>& out, const std::string& text) {
  out.insert(out.end(), text.c_str(), text.c_str() + text.size() + 1);
}

std::vector<uint8_t> record(Record kind, const std::vector<uint8_t>& contents) {
  std::vector<uint8_t> out;
  append_number<uint32_t>(out, static_cast<uint32_t>(kind));
  append_number<uint32_t>(out, static_cast<uint32_t>(contents.size() + 16));
  append_number<uint64_t>(out, now());
  out.insert(out.end(), contents.begin(), contents.end());
  return out;
}

// The dump of this process, with its mark: perf sees a mapping of the file, and so learns of it.
class Dump {
 public:
  void add(const std::string& name, const CodeBlob& blob, const ir::Program& program) {
    const std::scoped_lock lock(mutex_);
    if (process_ != getpid()) begin();
    if (file_ < 0) return;
    const std::string source = path(fmt::format("-{}.program", code_index_));
    write_source(source, ir::print(program));
    std::vector<uint8_t> bytes = record(Record::debug_info, lines(blob, program, source));
    const std::vector<uint8_t> load = record(Record::code_load, code(name, blob));
    bytes.insert(bytes.end(), load.begin(), load.end());
    write_all(file_, bytes.data(), bytes.size());
    ++code_index_;
  }

 private:
  std::string path(const std::string& ending) const {
    return fmt::format("{}/jit-{}{}", dump_folder(), process_, ending);
  }

  void begin() {
    if (file_ >= 0) close(file_);
    process_ = getpid();
    code_index_ = 0;
    file_ = open_own(path(".dump"), O_RDWR | O_TRUNC);
    if (file_ < 0) return;
    std::vector<uint8_t> header;
    for (const uint32_t word :
         {dump_magic, dump_version, header_bytes, uint32_t{EM_X86_64}, 0U, static_cast<uint32_t>(process_)})
      append_number<uint32_t>(header, word);
    append_number<uint64_t>(header, now());
    append_number<uint64_t>(header, 0);  // flags
    write_all(file_, header.data(), header.size());
    // Stays mapped: it is how perf finds the file.
    static_cast<void>(mmap(nullptr, header_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_, 0));
  }

  static void write_source(const std::string& path, const std::string& text) {
    const int file = open_own(path, O_WRONLY | O_TRUNC);
    if (file < 0) return;
    write_all(file, text.data(), text.size());
    close(file);
  }

  static std::vector<uint8_t> lines(const CodeBlob& blob, const ir::Program& program,
                                    const std::string& source) {
    std::vector<uint8_t> out, entries;
    const std::vector<int> numbers = ir::lines(program);
    uint64_t count = 0;
    for (const CodeBlob::Line& line : blob.lines) {
      append_number<uint64_t>(entries, address(blob) + line.offset);
      append_number<uint32_t>(entries, line.inst < 0 ? 1 : static_cast<uint32_t>(numbers[size_t(line.inst)]));
      append_number<uint32_t>(entries, 0);  // discriminator
      append_text(entries, source);
      ++count;
    }
    append_number<uint64_t>(out, address(blob));
    append_number<uint64_t>(out, count);
    out.insert(out.end(), entries.begin(), entries.end());
    return out;
  }

  std::vector<uint8_t> code(const std::string& name, const CodeBlob& blob) const {
    std::vector<uint8_t> out;
    append_number<uint32_t>(out, static_cast<uint32_t>(process_));
    append_number<uint32_t>(out, static_cast<uint32_t>(gettid()));
    append_number<uint64_t>(out, address(blob));
    append_number<uint64_t>(out, address(blob));
    append_number<uint64_t>(out, blob.code.size());
    append_number<uint64_t>(out, code_index_);
    append_text(out, name);
    out.insert(out.end(), blob.code.begin(), blob.code.end());
    return out;
  }

  std::mutex mutex_;
  pid_t process_ = -1;
  int file_ = -1;
  uint64_t code_index_ = 0;
};

}  // namespace

void add_to_perf_map(const std::string& name, const CodeBlob& blob) {
  const int file = open_own(fmt::format("/tmp/perf-{}.map", getpid()), O_WRONLY | O_APPEND);
  if (file < 0) return;
  const std::string line = fmt::format("{:x} {:x} {}\n", address(blob), blob.code.size(), name);
  write_all(file, line.data(), line.size());
  close(file);
}

void add_to_jitdump(const std::string& name, const CodeBlob& blob, const ir::Program& program) {
  static Dump* const dump = new Dump;  // never destroyed: kernels are made until the very end
  dump->add(name, blob, program);
}

}  // namespace pooljit::jit
