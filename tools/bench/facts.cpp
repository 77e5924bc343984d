#include "tools/bench/facts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "runtime/cpu_features.h"
#include "runtime/machine.h"
#include "runtime/options.h"
#include "tools/bench/cache_probe.h"
#include "tools/load.h"

namespace pooljit::tools {
namespace {

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line.empty() ? "not known" : line;
}

std::string isas() {
  std::string text;
  for (const ir::IsaInfo& isa : ir::isa_table)
    if (runtime::can_run(isa.isa)) text += fmt::format("{}{}", text.empty() ? "" : ", ", isa.text);
  return text.empty() ? "none of ours" : text;
}

std::string in_quotes(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=/.,:+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// A check of what a virtual machine tells, and all there is where it tells nothing.
std::string caches_by_time() {
  const auto bytes = caches_of_loads(measure_loads()).bytes;
  const auto about = [](int64_t size) {
    return size > 0 ? fmt::format("about {}K", size >> 10) : "no step seen";
  };
  return fmt::format("{}, {}", about(bytes[0]), about(bytes[1]));
}

}  // namespace

std::string system_name() {
  utsname name = {};
  if (::uname(&name) != 0) return "not known";
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

std::string compiler_name() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

std::vector<Fact> machine_facts() {
  const runtime::ThisMachine& machine = runtime::machine();
  return {{"processor", machine.cpu},
          {"caches L1, L2, L3",
           fmt::format("{} (source: {})", runtime::print(machine.caches), machine.caches_source)},
          {"L1 and L2 by the time that loads take", caches_by_time()},
          {"instruction sets", isas()},
          {"processors that this process may use", std::to_string(runtime::thread_count({.threads = 0}))},
          {"frequency governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
          {"load of the minute before", print(load_of_minute())},
          {"system", system_name()},
          {"compiler of pooljit", compiler_name()}};
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text, word;
  while (std::getline(file, word, '\0')) text += (text.empty() ? "" : " ") + in_quotes(word);
  return text;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace pooljit::tools
