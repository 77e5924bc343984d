// A campaign that is kept in a folder and continued:
//
//   campaign.json   its seed, the number of the next case, and which settings were compared
//   cases.jsonl     the cases that first compared a pair of settings, and those that found something, one a
//                   line: tried again before new ones are drawn
//   findings/       what was found (tools/fuzz/saved.h)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/fuzz/campaign.h"

namespace pooljit::fuzz {

class Corpus {
 public:
  // What the folder holds; nothing if it is not there. Errors: "fuzz.corpus" (a file in it is not readable).
  static ir::Result<Corpus> open(const std::string& folder);

  // Absent: it is new.
  std::optional<uint64_t> seed() const { return seed_; }
  // Continues: first case, cases to be tried again, what was covered. With another seed than the folder's the
  // numbers begin anew.
  void continue_in(CampaignOptions& options);
  // Writes the state of the campaign; makes the folder. Errors: "file.create", "file.write", "file.rename".
  ir::Result<void> keep(const CampaignOptions& options, const CampaignReport& report) const;

  std::string findings() const { return folder_ + "/findings"; }

 private:
  std::string folder_;
  std::optional<uint64_t> seed_;
  int64_t next_ = 0;
  Coverage covered_;
  std::vector<FuzzCase> cases_;
};

}  // namespace pooljit::fuzz
