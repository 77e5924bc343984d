#include "runtime/tuning/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "ir/parse_number.h"
#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "ir/split.h"
#include "runtime/limits.h"

namespace pooljit::runtime {
namespace {

// Far beyond what tuning makes: a spec has at most 64 KiB, and a file of a thousand networks is a few MiB.
constexpr int64_t most_file_bytes = int64_t{64} << 20;
constexpr size_t most_line_bytes = size_t{128} << 10;
constexpr size_t most_reasons = 1000;

tl::unexpected<ir::Error> bad_entry(std::string what) {
  return ir::invalid("tune.entry", std::move(what), "the line is ignored; `pooljit tune` writes it anew");
}

tl::unexpected<ir::Error> unreadable(const std::string& what, const std::string& path) {
  return ir::system_error("tune.open", fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)),
                          "`pooljit tune --db FILE` makes one");
}

bool parse_time(std::string_view text, double& seconds) {
  constexpr double most = 1e6;
  return ir::parse_number(text, seconds) && std::isfinite(seconds) && seconds >= 0 && seconds < most;
}

bool is_plain_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Takes lines off a text.
std::string_view take_line(std::string_view& text) {
  const size_t length = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return line;
}

ir::Result<std::string> read_descriptor(int file, const std::string& path) {
  struct stat status = {};
  if (::fstat(file, &status) != 0) return unreadable("read", path);
  if (!S_ISREG(status.st_mode) || status.st_size > most_file_bytes)
    return ir::invalid("tune.format",
                       fmt::format("{} is no tuning database: it is no regular file of at most "
                                   "{} MiB",
                                   path, most_file_bytes >> 20));
  std::string text(static_cast<size_t>(status.st_size), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t some = ::read(file, text.data() + filled, text.size() - filled);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return unreadable("read", path);
    if (some == 0) break;
    filled += static_cast<size_t>(some);
  }
  text.resize(filled);
  return text;
}

ir::Result<std::string> read_text(const std::string& path) {
  // Without O_NONBLOCK a pipe of that name would be waited for.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return unreadable("open", path);
  auto text = read_descriptor(file, path);
  ::close(file);
  return text;
}

// A state of a file, to tell it from the next: databases are replaced, not written into.
struct FileState {
  dev_t device = 0;
  ino_t inode = 0;
  off_t bytes = 0;
  int64_t seconds = 0, nanoseconds = 0;
  bool operator==(const FileState&) const = default;
};

ir::Result<FileState> state_of(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return unreadable("open", path);
  return FileState{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                   status.st_mtim.tv_nsec};
}

}  // namespace

bool TuneEntry::has_key_of(const TuneEntry& other) const {
  return signature == other.signature && cpu == other.cpu && caches == other.caches &&
         threads == other.threads && isa == other.isa && backend == other.backend;
}

std::string print(const TuneEntry& entry) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.6g}\t{:.3g}\t{:.6g}\t{}\t{}", entry.signature, entry.cpu,
                     entry.caches, entry.threads, entry.isa, entry.backend, entry.schedule, entry.seconds,
                     entry.spread, entry.default_seconds, entry.proof, entry.version);
}

ir::Result<TuneEntry> parse_tune_entry(std::string_view line) {
  constexpr size_t field_count = 12;
  if (line.size() > most_line_bytes) return bad_entry("the line is too long");
  const std::vector<std::string_view> fields = ir::split(line, '\t');
  if (fields.size() != field_count)
    return bad_entry(fmt::format("it has {} fields instead of {}", fields.size(), field_count));
  for (const std::string_view field : fields)
    if (field.empty() || !is_plain_text(field)) return bad_entry("a field is empty or no printable text");
  TuneEntry entry;
  const std::pair<size_t, std::string*> texts[] = {
      {0, &entry.signature}, {1, &entry.cpu},      {2, &entry.caches}, {4, &entry.isa},
      {5, &entry.backend},   {6, &entry.schedule}, {10, &entry.proof}, {11, &entry.version}};
  for (const auto& [number, text] : texts) *text = fields[number];
  if (!ir::parse_number(fields[3], entry.threads) || entry.threads < 1 || entry.threads > max_threads)
    return bad_entry(fmt::format("threads '{}' is no number from 1 to {}", fields[3], max_threads));
  const std::pair<size_t, double*> times[] = {
      {7, &entry.seconds}, {8, &entry.spread}, {9, &entry.default_seconds}};
  for (const auto& [number, time] : times)
    if (!parse_time(fields[number], *time))
      return bad_entry(fmt::format("'{}' is no number of seconds or spread", fields[number]));
  if (const auto schedule = ir::parse_schedule(entry.schedule); !schedule)
    return bad_entry("unknown schedule: " + schedule.error().message);
  if (std::find(std::begin(tune_proofs), std::end(tune_proofs), entry.proof) == std::end(tune_proofs))
    return bad_entry(fmt::format("'{}' is no kind of proof", entry.proof));
  return entry;
}

std::string print(const TuneDatabase& database) {
  std::string text(tune_header);
  text += '\n';
  for (const TuneEntry& entry : database.entries) text += print(entry) + '\n';
  return text;
}

ir::Result<TuneDatabase> parse_tune_database(std::string_view text) {
  if (take_line(text) != tune_header)
    return ir::invalid("tune.format", fmt::format("its first line is not '{}'", tune_header),
                       "name the file that `pooljit tune` wrote, or a new one");
  TuneDatabase database;
  std::map<std::string, size_t> places;  // by key
  for (int line = 2; !text.empty(); ++line) {
    const bool is_complete = text.find('\n') != std::string_view::npos;
    const std::string_view content = take_line(text);
    auto entry = is_complete ? parse_tune_entry(content) : bad_entry("the line is cut off");
    if (!entry) {
      if (database.ignored.size() < most_reasons) database.ignored.push_back({line, entry.error().message});
      continue;
    }
    const std::string key = fmt::format("{}\t{}\t{}\t{}\t{}\t{}", entry->signature, entry->cpu, entry->caches,
                                        entry->threads, entry->isa, entry->backend);
    const auto [place, is_new] = places.try_emplace(key, database.entries.size());
    if (is_new)
      database.entries.push_back(std::move(*entry));
    else
      database.entries[place->second] = std::move(*entry);
  }
  return database;
}

ir::Result<TuneDatabase> read_tune_database(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return tl::unexpected(text.error());
  auto database = parse_tune_database(*text);
  if (!database)
    return ir::invalid("tune.format",
                       fmt::format("{} is no tuning database: {}", path, database.error().message),
                       database.error().hint);
  return database;
}

ir::Result<std::shared_ptr<const TuneDatabase>> shared_tune_database(const std::string& path) {
  struct Known {
    FileState state;
    std::shared_ptr<const TuneDatabase> database;
  };
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<std::string, Known>;  // a process uses one or two
  // Asked before reading: a file that is replaced in between is read again the next time.
  const auto state = state_of(path);
  if (!state) return tl::unexpected(state.error());
  const std::scoped_lock lock(mutex);
  const auto found = known.find(path);
  if (found != known.end() && found->second.state == *state) return found->second.database;
  auto database = read_tune_database(path);
  if (!database) return tl::unexpected(database.error());
  auto shared = std::make_shared<const TuneDatabase>(std::move(*database));
  known[path] = {*state, shared};
  return shared;
}

TuneLookup look_up(const TuneDatabase& database, const TuneEntry& key) {
  // The nearest miss is the reason.
  std::string reason = "no entry for this spec";
  int nearest = 0;
  const auto miss = [&](int nearness, std::string why) {
    if (nearness > nearest) {
      nearest = nearness;
      reason = std::move(why);
    }
  };
  for (const TuneEntry& entry : database.entries) {
    if (entry.signature != key.signature) continue;
    if (entry.cpu != key.cpu || entry.caches != key.caches)
      miss(1, fmt::format("measured on another machine: {}, caches {}", entry.cpu, entry.caches));
    else if (entry.isa != key.isa || entry.backend != key.backend)
      miss(2, fmt::format("measured for {} {}", entry.backend, entry.isa));
    else if (entry.threads != key.threads)
      miss(3, fmt::format("measured with {} threads", entry.threads));
    else if (entry.version != key.version)
      miss(4, fmt::format("measured by pooljit {}", entry.version));
    else
      return {&entry, ""};
  }
  return {nullptr, reason};
}

}  // namespace pooljit::runtime
