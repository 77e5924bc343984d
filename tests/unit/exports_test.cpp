// libpooljit.so exports its C interface and nothing else: asked of `nm`.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
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

// What the public headers declare with POOLJIT_API.
std::set<std::string> declared() {
  std::set<std::string> names;
  for (const char* header :
       {"/include/pooljit.h", "/include/pooljit_linked.h", "/include/pooljit_tuning.h"}) {
    std::ifstream file(std::string(POOLJIT_SOURCE_DIR) + header);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::regex function(R"(POOLJIT_API [a-z_ *]*?(pooljit_[a-z_]+)\()");
    for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it)
      names.insert((*it)[1]);
  }
  return names;
}

TEST(Exports, AreTheCFunctions) {
  const std::set<std::string> names = declared();
  EXPECT_TRUE(names.contains("pooljit_compile") && names.contains("pooljit_text_release"));
  EXPECT_EQ(exported(), names);
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

// What is static has no destructor: threads may be in the library when the process ends (unit.exit).
TEST(Exports, NothingOfTheLibraryEndsBeforeTheProcess) {
#ifndef POOLJIT_OPTIMIZED
  GTEST_SKIP() << "Xbyak's names of registers are objects until they are optimised away";
#endif
  const std::string imported = output_of("nm -D --undefined-only '" POOLJIT_LIBRARY "'");
  EXPECT_NE(imported.find("__register_atfork"), std::string::npos) << imported;
  EXPECT_EQ(imported.find("__cxa_atexit"), std::string::npos);
}

TEST(Exports, TheCodeIsNeverWritableAndExecutableAtOnce) {
  const std::string segments = output_of("readelf -lW '" POOLJIT_LIBRARY "'");
  EXPECT_NE(segments.find("LOAD"), std::string::npos);
  EXPECT_EQ(segments.find("RWE"), std::string::npos);
}

}  // namespace
