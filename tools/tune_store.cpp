#include "tools/tune_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace pooljit::tools {
namespace {

namespace fs = std::filesystem;

tl::unexpected<ir::Error> refused(const char* id, const char* what, const std::string& path) {
  return tl::unexpected(ir::Error{ir::ErrorKind::system, id,
                                  fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)), ""});
}

// A descriptor that is closed; a lock on it goes with it.
class File {
 public:
  File(const std::string& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_open() const { return descriptor_ >= 0; }

  bool lock() const {
    while (::flock(descriptor_, LOCK_EX) != 0)
      if (errno != EINTR) return false;
    return true;
  }
  bool write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t some = ::write(descriptor_, text.data(), text.size());
      if (some < 0 && errno != EINTR) return false;
      if (some > 0) text.remove_prefix(static_cast<size_t>(some));
    }
    return true;
  }
  bool flush() const { return ::fsync(descriptor_) == 0; }

 private:
  int descriptor_;
};

// The file behind links: a link stays one.
std::string resolved(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? path : target.string();
}

ir::Result<void> replace(const std::string& path, const std::string& text) {
  const std::string aside =
      path + ".new";  // one name: the lock is held, and what a dead one left is overwritten
  {
    const File file(aside, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.is_open()) return refused("file.create", "create", aside);
    if (!file.write(text) || !file.flush()) {
      auto error = refused("file.write", "write", aside);
      ::unlink(aside.c_str());
      return error;
    }
  }
  if (::rename(aside.c_str(), path.c_str()) != 0) return refused("file.rename", "rename to", path);
  const File folder(fs::path(path).parent_path().string(), O_RDONLY | O_DIRECTORY);
  if (folder.is_open()) (void)folder.flush();  // some file systems have no such thing
  return {};
}

void put(runtime::TuneDatabase& database, const runtime::TuneEntry& entry) {
  const auto same = std::find_if(database.entries.begin(), database.entries.end(),
                                 [&](const runtime::TuneEntry& old) { return old.has_key_of(entry); });
  if (same == database.entries.end())
    database.entries.push_back(entry);
  else
    *same = entry;
}

}  // namespace

ir::Result<runtime::TuneDatabase> load_entries(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error) && !error) return runtime::TuneDatabase();
  return runtime::read_tune_database(path);
}

ir::Result<void> store_entries(const std::string& path, const std::vector<runtime::TuneEntry>& entries) {
  const std::string target = resolved(path);
  const File lock(target + ".lock", O_RDWR | O_CREAT);
  if (!lock.is_open() || !lock.lock()) return refused("file.create", "lock", target + ".lock");
  auto database = load_entries(target);
  if (!database) return tl::unexpected(database.error());
  for (const runtime::TuneEntry& entry : entries) put(*database, entry);
  return replace(target, print(*database));
}

}  // namespace pooljit::tools
