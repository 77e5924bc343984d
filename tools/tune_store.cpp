#include "tools/tune_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>

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
  File(const std::string& path, int flags, mode_t mode = 0666)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
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
  // Those of another file. Who may not give files away keeps them.
  bool take_owner_and_mode(const struct stat& other) const {
    const bool is_given = ::fchown(descriptor_, uid_t(-1), other.st_gid) == 0 &&
                          ::fchown(descriptor_, other.st_uid, gid_t(-1)) == 0;
    return (is_given || errno == EPERM || errno == EINVAL) &&
           ::fchmod(descriptor_, other.st_mode & 0777) == 0;
  }

 private:
  int descriptor_;
};

// The file behind links, also where it is not there yet: a link stays one.
std::string resolved(const std::string& path) {
  constexpr int most_links = 40;  // as many as the system follows
  std::error_code error;
  fs::path target = fs::absolute(path, error);
  for (int links = 0; links < most_links && fs::is_symlink(target, error); ++links)
    target = target.parent_path() / fs::read_symlink(target, error);
  fs::path whole = fs::weakly_canonical(target, error);
  return error ? target.string() : whole.string();
}

// What is written aside and then renamed. One name: the lock is held, and what a dead one left goes.
class Aside {
 public:
  static ir::Result<Aside> create(const std::string& target) {
    struct stat old = {};
    const bool replaces = ::stat(target.c_str(), &old) == 0;
    Aside made(target);
    ::unlink(made.path_.c_str());  // not opened: a link or a pipe of that name leads elsewhere
    made.file_ =
        std::make_unique<File>(made.path_, O_WRONLY | O_CREAT | O_EXCL, replaces ? old.st_mode & 0777 : 0666);
    if (!made.file_->is_open() || (replaces && !made.file_->take_owner_and_mode(old)))
      return refused("file.create", "create", made.path_);
    return made;
  }
  Aside(Aside&&) = default;
  ~Aside() {
    if (file_ && file_->is_open()) ::unlink(path_.c_str());
  }

  ir::Result<void> put_in_place(const std::string& text) {
    if (!file_->write(text) || !file_->flush()) return refused("file.write", "write", path_);
    if (::rename(path_.c_str(), target_.c_str()) != 0) return refused("file.rename", "rename to", target_);
    file_.reset();
    const File folder(fs::path(target_).parent_path().string(), O_RDONLY | O_DIRECTORY);
    if (folder.is_open()) (void)folder.flush();  // some file systems have no such thing
    return {};
  }

 private:
  explicit Aside(const std::string& target) : target_(target), path_(target + ".new") {}

  std::string target_, path_;
  std::unique_ptr<File> file_;
};

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

namespace {

using Work = std::function<ir::Result<void>(runtime::TuneDatabase& database, Aside& aside)>;

ir::Result<void> under_lock(const std::string& path, const Work& work) {
  const std::string target = resolved(path);
  // Before the lock: what is no database gets none beside it.
  if (const auto known = load_entries(target); !known) return tl::unexpected(known.error());
  if (::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0 && errno != ENOENT && errno != ENOTDIR)
    return refused("file.write", "write", target);
  const File lock(target + ".lock", O_RDWR | O_CREAT);
  if (!lock.is_open() || !lock.lock()) return refused("file.create", "lock", target + ".lock");
  auto aside = Aside::create(target);
  if (!aside) return tl::unexpected(aside.error());
  auto database = load_entries(target);
  if (!database) return tl::unexpected(database.error());
  return work(*database, *aside);
}

}  // namespace

ir::Result<void> check_storable(const std::string& path) {
  return under_lock(path, [](auto&, auto&) { return ir::Result<void>(); });
}

ir::Result<void> store_entries(const std::string& path, const std::vector<runtime::TuneEntry>& entries) {
  return under_lock(path, [&](runtime::TuneDatabase& database, Aside& aside) {
    for (const runtime::TuneEntry& entry : entries) put(database, entry);
    return aside.put_in_place(print(database));
  });
}

}  // namespace pooljit::tools
