// How much of what can be drawn was drawn and compared: each setting of the axes, and each pair of settings.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tools/fuzz/random_spec.h"

namespace pooljit::fuzz {

class Coverage {
 public:
  // True if the case compares a pair of settings that none before it did.
  bool take(const Combination& settings, bool is_compared);
  void merge(const Coverage& other);

  // A line for each axis: how often each setting was drawn and compared, and what never was; then the pairs.
  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  friend void to_json(nlohmann::json& json, const Coverage& coverage);
  friend void from_json(const nlohmann::json& json, Coverage& coverage);
  struct Pairs {
    int64_t compared = 0, possible = 0;
  };
  Pairs pairs() const;

  // By the setting's number, the axes' one after the other.
  std::vector<int64_t> drawn_, compared_;
  std::set<int64_t> pairs_;  // the smaller number times the count of settings, plus the larger
};

}  // namespace pooljit::fuzz
