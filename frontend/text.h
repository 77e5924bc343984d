// The syntax that the call-like spellings share: OP(DTYPE[DIMS]:LAYOUT, VALUE, KEYWORD=VALUE, ...). Knows no
// operator and no keyword; a dialect gives them meaning. Nothing is copied: words point into the text, which
// must outlive the Call.
//
//   call     = word "(" tensor {"," argument} ")"
//   tensor   = word "[" integer {"," integer} "]" [":" word]
//   argument = [word "="] value
//   value    = integer | decimal | word | "[" integers "]" | "(" integers ")"   (a list may be empty or end
//              in a comma)
//   word     = letters, digits, "_" and "."; begins with a letter
//   integer  = ["-"] digits; fits in int64
//
// Blanks may stand between any two of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frontend/fixed_list.h"
#include "ir/error.h"

namespace pooljit::frontend {

struct Word {
  std::string_view text;
  size_t at = 0;  // character, from 1
};

using Integers = FixedList<int64_t, 16>;

struct Value {
  enum class Kind { integer, decimal, list, word };
  Kind kind = Kind::word;
  Integers integers;  // integer: one
  double decimal = 0;
  std::string_view text;  // as written
  size_t at = 0;
};

struct Argument {
  Word keyword;  // empty if positional
  Value value;
};

struct Call {
  Word name;
  Word dtype;
  Integers dims;
  Word layout;  // empty if absent
  FixedList<Argument, 16> arguments;
};

// Fills `call`, which must be new. The error, if there is one, is spec.length, spec.syntax or spec.number.
std::optional<ir::Error> parse_call(std::string_view text, Call& call);

// The candidate that `word` is most likely a misspelling of; empty if none is near.
std::string_view nearest(std::string_view word, const std::string_view* begin, const std::string_view* end);

// "'word' at character 7", for messages.
std::string quote(std::string_view text, size_t at);

}  // namespace pooljit::frontend
