#include "runtime/tuning/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <span>

#include "runtime/written_aside.h"

namespace pooljit::runtime {
namespace {

namespace fs = std::filesystem;

bool lock(const Descriptor& file) {
  while (::flock(file.number(), LOCK_EX) != 0)
    if (errno != EINTR) return false;
  return true;
}

void put(TuneDatabase& database, const TuneEntry& entry) {
  const auto same = std::find_if(database.entries.begin(), database.entries.end(),
                                 [&](const TuneEntry& old) { return old.has_key_of(entry); });
  if (same == database.entries.end())
    database.entries.push_back(entry);
  else
    *same = entry;
}

}  // namespace

bool is_there(const std::string& path) {
  std::error_code error;
  return !path.empty() && (fs::exists(path, error) || error);
}

ir::Result<TuneDatabase> load_entries(const std::string& path) {
  if (!is_there(path)) return TuneDatabase();
  return read_tune_database(path);
}

namespace {

using Work = std::function<ir::Result<void>(TuneDatabase& database, WrittenAside& aside)>;

ir::Result<void> under_lock(const std::string& path, const Work& work) {
  const std::string target = resolved(path);
  // Before the lock: what is no database gets none beside it.
  if (const auto known = load_entries(target); !known) return tl::unexpected(known.error());
  if (::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0 && errno != ENOENT && errno != ENOTDIR)
    return ir::system_error("file.write", cannot("write", target));
  const Descriptor lock_file(target + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW);
  if (!lock_file.is_open() || !lock(lock_file))
    return ir::system_error("file.create", cannot("lock", target + ".lock"));
  auto aside = WrittenAside::create(target, WrittenAside::Name::one);
  if (!aside) return tl::unexpected(aside.error());
  auto database = load_entries(target);
  if (!database) return tl::unexpected(database.error());
  return work(*database, *aside);
}

}  // namespace

ir::Result<void> check_storable(const std::string& path) {
  return under_lock(path, [](auto&, auto&) { return ir::Result<void>(); });
}

ir::Result<void> store_entries(const std::string& path, const std::vector<TuneEntry>& entries) {
  return under_lock(path, [&](TuneDatabase& database, WrittenAside& aside) {
    for (const TuneEntry& entry : entries) put(database, entry);
    const std::string text = print(database);
    return aside.write(std::as_bytes(std::span(text)))
        .and_then([&] { return aside.complete(); })
        .and_then([&] { return aside.put_in_place(); });
  });
}

}  // namespace pooljit::runtime
