// Options: how to compile a kernel, as its users say it. options.h reads them.
#pragma once

#include <string>

namespace pooljit::runtime {

// The fields of pooljit_options, whose manual is include/pooljit.h. An empty field is not given.
struct Options {
  std::string backend = "auto";
  std::string isa = "auto";
  std::string schedule = {};
  int threads = 0;
  bool verify = false;
  std::string tune_db = {};
  std::string measure = {};
  std::string names = {};
  std::string fallback = "reference";
  std::string label = {};
  int sizes = 0;
  int exact_after = 0;
};

}  // namespace pooljit::runtime
