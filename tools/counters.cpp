#include "tools/counters.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace pooljit::tools {
namespace {

struct Row {
  const char* name;
  uint64_t event;
};
constexpr Row rows[] = {{"cycles", PERF_COUNT_HW_CPU_CYCLES},
                        {"instructions", PERF_COUNT_HW_INSTRUCTIONS},
                        {"cache_misses", PERF_COUNT_HW_CACHE_MISSES},
                        {"branch_misses", PERF_COUNT_HW_BRANCH_MISSES}};

int open_counter(uint64_t event, int leader) {
  perf_event_attr wanted = {};
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.size = sizeof wanted;
  wanted.config = event;
  wanted.disabled = leader < 0 ? 1 : 0;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  return static_cast<int>(::syscall(SYS_perf_event_open, &wanted, 0, -1, leader, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

Counters::Counters() {
  for (const Row& row : rows) {
    const int file = open_counter(row.event, files_.empty() ? -1 : files_.front());
    if (file < 0) continue;
    files_.push_back(file);
    names_.push_back(row.name);
  }
}

Counters::~Counters() {
  for (const int file : files_) ::close(file);
}

void Counters::start() const {
  if (files_.empty()) return;
  ::ioctl(files_.front(), PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
  ::ioctl(files_.front(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

nlohmann::ordered_json Counters::stop() const {
  if (files_.empty()) return nullptr;
  ::ioctl(files_.front(), PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
  nlohmann::ordered_json counts;
  for (size_t i = 0; i < files_.size(); ++i) {
    uint64_t count = 0;
    if (::read(files_[i], &count, sizeof count) == sizeof count) counts[names_[i]] = count;
  }
  return counts;
}

}  // namespace pooljit::tools
