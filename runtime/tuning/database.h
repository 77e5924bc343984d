// The tuning database: a text file of schedules that were measured to be the fastest. This file reads it; the
// command `pooljit tune` writes it (runtime/tuning/store.h). docs/tuning.md has the format.
//
// Whatever the file holds, reading it gives entries and reasons, never a crash: a file that is no database is
// an error, a line that is no entry is passed over with a reason. An entry is not trusted either: its
// schedule is checked against the spec before it is used.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"

namespace pooljit::runtime {

struct TuneEntry {
  // The key.
  std::string signature;  // of the spec: its canonical text without the batch
  std::string cpu;        // ThisMachine::cpu
  std::string caches;     // print(ThisMachine::caches)
  int threads = 1;
  std::string isa, backend;
  // The result.
  std::string schedule;
  double seconds = 0, spread = 0;  // median, and half the distance of the quartiles as a share of it
  double default_seconds = 0;      // the default schedule's median, in the same run
  std::string proof;               // a word of tune_proofs
  std::string version;             // of pooljit

  bool has_key_of(const TuneEntry& other) const;
};

// How it is known that the schedule's code is right.
inline constexpr std::string_view tune_proofs[] = {
    "verify",    // proved for every input
    "check",     // verify has no proof for such a spec: all engines agreed on data
    "default",   // it is the default schedule: nothing was replaced
    "measured",  // timed when it was first compiled, and compared with the default on data
};
inline constexpr std::string_view measured_proof = tune_proofs[3];

// One line, without its end.
std::string print(const TuneEntry& entry);
// Errors: "tune.entry", with the field that is wrong.
ir::Result<TuneEntry> parse_tune_entry(std::string_view line);

struct TuneDatabase {
  struct Ignored {
    int line = 0;
    std::string reason;
  };
  std::vector<TuneEntry> entries;  // each key once: the last line with it
  std::vector<Ignored> ignored;    // lines that are no entry
};

// The first line of every database.
inline constexpr std::string_view tune_header = "pooljit tuning database 1";

std::string print(const TuneDatabase& database);
// Errors: "tune.format": no database, or of another format.
ir::Result<TuneDatabase> parse_tune_database(std::string_view text);

// Errors: "tune.open", "tune.format".
ir::Result<TuneDatabase> read_tune_database(const std::string& path);
// The same, read again only if the file has changed since.
ir::Result<std::shared_ptr<const TuneDatabase>> shared_tune_database(const std::string& path);

// Looks up an entry: `key` has the fields by which entries are found.
struct TuneLookup {
  const TuneEntry* entry = nullptr;
  std::string reason;  // why there is none that can be used
};
TuneLookup look_up(const TuneDatabase& database, const TuneEntry& key);

}  // namespace pooljit::runtime
