// The syntax that the call-like spellings share: OP(DTYPE[DIMS]:LAYOUT, VALUE, KEYWORD=VALUE, ...), and, for
// dialects with modules, OP(VALUE, ...)(DTYPE[DIMS], ...). Knows no operator and no keyword; a dialect gives
// them meaning. Nothing is copied: words point into the text, which must outlive the ParsedCall.
//
//   call     = word "(" tensor {"," argument} ")"
//   pools    = word "(" tensor {"," (argument | word "(" [argument {"," argument}] ")")} ")"
//   module   = word "(" [argument {"," argument}] ")" "(" tensor {"," argument} ")"
//   tensor   = word "[" (word | integer) {"," (word | integer)} "]" [":" word]
//   argument = [word "="] value
//   value    = integer | decimal | word | string | "[" items "]" | "(" items ")"
//   items    = integers or None, with commas; may be empty or end in a comma; or terms with commas
//   term     = word ["(" [number or word {"," number or word}] ")"]
//   word     = letters, digits, "_" and "."; begins with a letter
//   string   = a word in single or double quotes
//   integer  = ["-"] digits; fits in int64
//
// Blanks may stand between any two of them.
#pragma once

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"

namespace pooljit::frontend {

// A list without the heap: parsing a spec must cost less than an allocation does.
template <typename T, size_t capacity>
using FixedList = boost::container::static_vector<T, capacity>;

// Appends an item; false if the list is full.
template <typename T, size_t capacity>
bool push(FixedList<T, capacity>& list, const T& item) {
  if (list.size() == capacity) return false;
  list.push_back(item);
  return true;
}

struct Word {
  std::string_view text;
  size_t at = 0;  // character, from 1
};
// False: the word does not begin so.
inline bool drop_prefix(Word& word, std::string_view prefix) {
  if (!word.text.starts_with(prefix)) return false;
  word.text.remove_prefix(prefix.size());
  word.at += prefix.size();
  return true;
}

using Integers = FixedList<int64_t, 16>;

struct ArgumentValue {
  enum class Kind { integer, decimal, list, word, terms };
  Kind kind = Kind::word;
  Integers integers;   // integer: one
  uint32_t nones = 0;  // list: one bit per item that is None, and 0 in `integers`
  double decimal = 0;
  std::string_view text;  // as written
  size_t at = 0;
};

// An item of a list that is no list of integers: a word, with arguments that are numbers (inf is one) or
// words.
struct ListTerm {
  struct Argument {
    Word word;  // empty: a number
    double number = 0;
  };
  Word name;
  FixedList<Argument, 4> arguments;
};
using ListTerms = FixedList<ListTerm, 8>;

struct Argument {
  Word keyword;  // empty if positional
  ArgumentValue value;
};

inline constexpr size_t most_arguments = 32;  // of one call: dialects have fewer keywords

struct ParsedCall {
  Word name;
  Word dtype;
  Integers dims;
  FixedList<Word, 16> letters;  // of each dim: N of a free one, which is 1 in `dims`; empty: it is a number
  Word layout;                  // empty if absent
  FixedList<Argument, most_arguments> arguments;
};

enum class Forms : uint8_t { call, call_or_module };

// Fills `call`, which must be new. The error, if there is one, is spec.length, spec.syntax or spec.number.
std::optional<ir::Error> parse_call(std::string_view text, ParsedCall& call, Forms forms = Forms::call);

// The same of a call of calls: `members` have the tensor of `call`.
std::optional<ir::Error> parse_pools(std::string_view text, ParsedCall& call,
                                     std::vector<ParsedCall>& members);

// The terms of a parsed value of kind terms.
ListTerms terms_of(const ArgumentValue& value);

// The candidate that `word` is most likely a misspelling of; empty if none is near.
std::string_view nearest(std::string_view word, const std::string_view* begin, const std::string_view* end);

// "'word' at character 7", for messages.
std::string quote(std::string_view text, size_t at);

}  // namespace pooljit::frontend
