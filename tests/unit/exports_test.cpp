// libpooljit.so exports its two interfaces and nothing else: asked of `nm`.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <regex>
#include <set>
#include <string>

namespace {

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("LC_ALL=C " + command).c_str(), "r"), pclose);
  std::string text;
  char part[4096];
  while (pipe && std::fgets(part, sizeof part, pipe.get())) text += part;
  return text;
}

// Demangled names of what the library defines; all have its version.
std::set<std::string> exported() {
  std::set<std::string> names;
  const std::string text = output_of("nm -D -C --defined-only '" POOLJIT_LIBRARY "'"),
                    version = "@@POOLJIT_0.1";
  const std::regex line("[0-9a-f]+ [B-Zb-z] (.*)");  // A: the version itself
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
    const std::string name = (*it)[1];
    EXPECT_TRUE(name.ends_with(version)) << name;
    names.insert(name.substr(0, name.rfind(version)));
  }
  return names;
}

TEST(Exports, AreTheCFunctionsAndTheCxxInterface) {
  const std::set<std::string> c_api = {
      "pooljit_compile",        "pooljit_output_shape",  "pooljit_run",
      "pooljit_release",        "pooljit_last_error",    "pooljit_version",
      "pooljit_run_operands",   "pooljit_proof",         "pooljit_spec_read",
      "pooljit_spec_compile",   "pooljit_spec_release",  "pooljit_spec_make",
      "pooljit_spec_layer",     "pooljit_spec_info",     "pooljit_kernel_info",
      "pooljit_run_with",       "pooljit_run_part",      "pooljit_cache_info",
      "pooljit_cache_limit",    "pooljit_cache_clear",   "pooljit_schedules",
      "pooljit_schedule_count", "pooljit_schedule_get",  "pooljit_schedule_list_release",
      "pooljit_time",           "pooljit_prove",         "pooljit_explain",
      "pooljit_output_count",   "pooljit_indices_count", "pooljit_output_info",
      "pooljit_run_outputs",    "pooljit_indices_info",  "pooljit_run_outputs_part",
      "pooljit_set_measure",    "pooljit_useful_parts"};
  const std::regex cxx_api(
      R"((vtable for |typeinfo for |typeinfo name for )?pooljit::(Error|ThreadPool)(::.*)?|pooljit::(Kernel|Spec|Explanation)::.*|)"
      R"(pooljit::(cache_stats|clear_cache|limit_cache|compile|explain|parse_options|prove|schedules|set_measure|time|version)(\[abi:cxx11\])?\(.*)");
  const std::set<std::string> names = exported();
  for (const std::string& name : c_api) EXPECT_TRUE(names.contains(name)) << name;
  for (const std::string& name : names)
    EXPECT_TRUE(c_api.contains(name) || std::regex_match(name, cxx_api)) << name << " should not be exported";
}

TEST(Exports, HaveEveryMethodOfTheCxxInterface) {
  const std::set<std::string> names = exported();
  const auto has = [&](const std::string& start) {
    const auto at = names.lower_bound(start);
    return at != names.end() && at->starts_with(start);
  };
  for (const char* start :
       {"pooljit::Kernel::run(", "pooljit::Kernel::run_part(", "pooljit::cache_stats(",
        "pooljit::Kernel::output_shape()", "pooljit::Kernel::signature()", "pooljit::Kernel::code_bytes()",
        "pooljit::Spec::Spec(", "pooljit::Error::Error(", "pooljit::ThreadPool::~ThreadPool()",
        "pooljit::compile(", "pooljit::explain(", "pooljit::Explanation::text", "pooljit::parse_options(",
        "pooljit::prove", "pooljit::schedules(", "pooljit::set_measure(", "pooljit::time(",
        "pooljit::version()", "typeinfo for pooljit::Error"})
    EXPECT_TRUE(has(start)) << start;
}

// Of others only what every C++ program has: LLVM and the decoder of machine code are loaded when they are
// asked for.
TEST(Exports, TheLibraryNeedsTheStandardLibrariesAlone) {
  const std::string needed = output_of("readelf -dW '" POOLJIT_LIBRARY "' | grep NEEDED");
  const std::regex entry(R"(\[([^\]]+)\])"),
      known(R"((libstdc[+][+]|libm|libgcc_s|libc|ld-linux.*|lib[a-z]*san)[.]so[.].*)");
  EXPECT_NE(needed.find("libc.so"), std::string::npos);
  for (std::sregex_iterator it(needed.begin(), needed.end(), entry), end; it != end; ++it)
    EXPECT_TRUE(std::regex_match((*it)[1].str(), known)) << (*it)[1];
}

TEST(Exports, TheCodeIsNeverWritableAndExecutableAtOnce) {
  const std::string segments = output_of("readelf -lW '" POOLJIT_LIBRARY "'");
  EXPECT_NE(segments.find("LOAD"), std::string::npos);
  EXPECT_EQ(segments.find("RWE"), std::string::npos);
}

}  // namespace
