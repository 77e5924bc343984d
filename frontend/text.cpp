// A recursive-descent parser over a cursor. The first error ends it; every step says whether to go on.
#include "frontend/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "frontend/rules.h"
#include "ir/check.h"

namespace pooljit::frontend {

namespace {

constexpr size_t longest_text = 65536;
constexpr size_t longest_quote = 40;
constexpr std::string_view too_long = "a list this long is never right, at";
constexpr size_t most_calls = 16;  // in a call of calls: more than any spec may have

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '.'; }

class Parser {
 public:
  // origin: characters before the text, in positions.
  explicit Parser(std::string_view text, Forms forms = Forms::call, size_t origin = 0)
      : text_(text), forms_(forms), origin_(origin) {}

  std::optional<ir::Error> parse(ParsedCall& call) {
    read_call(call);
    return std::move(error_);
  }

  std::optional<ir::Error> parse(ParsedCall& call, std::vector<ParsedCall>& members) {
    read_pools(call, members);
    return std::move(error_);
  }

  bool parse(ListTerms& terms) {
    const char close = accept('[') ? ']' : ')';
    return (close == ']' || expect('(')) && read_terms(terms, close);
  }

 private:
  bool read_call(ParsedCall& call) {
    if (!read_word(call.name, "an operator") || !expect('(')) return false;
    if (forms_ == Forms::call_or_module && !tensor_follows())
      if (!read_arguments(call) || !expect('(')) return false;
    if (!read_tensor(call)) return false;
    while (accept(','))
      if (!read_argument(call)) return false;
    return expect(')') && read_end();
  }

  bool read_pools(ParsedCall& call, std::vector<ParsedCall>& members) {
    if (!read_word(call.name, "an operator") || !expect('(') || !read_tensor(call)) return false;
    while (accept(',')) {
      if (follows_word('(')) {
        if (members.size() == most_calls) return fail("too many members at");
        ParsedCall& member = members.emplace_back();
        member.dtype = call.dtype, member.dims = call.dims, member.layout = call.layout;
        member.letters = call.letters;
        if (!read_word(member.name, "an operator") || !expect('(') || !read_arguments(member)) return false;
      } else if (!read_argument(call)) {
        return false;
      }
    }
    return expect(')') && read_end();
  }

  bool read_tensor(ParsedCall& call) {
    if (!read_word(call.dtype, "a dtype") || !expect('[') || !read_shape(call)) return false;
    return !accept(':') || read_word(call.layout, "a layout");
  }

  // The rest of a list of arguments, after its opening bracket.
  bool read_arguments(ParsedCall& call) {
    if (accept(')')) return true;
    do {
      if (!read_argument(call)) return false;
    } while (accept(','));
    return expect(')');
  }

  bool read_end() {
    skip_blanks();
    return next_ == text_.size() || fail("nothing more expected, but got");
  }

  bool tensor_follows() const { return follows_word('['); }

  // Whether a word and this character come next.
  bool follows_word(char c) const {
    const auto end = std::find_if_not(text_.begin() + static_cast<std::ptrdiff_t>(next_), text_.end(),
                                      [](char each) { return is_word(each) || is_blank(each); });
    return end != text_.end() && *end == c;
  }

  bool read_argument(ParsedCall& call) {
    Argument argument;
    if (!read_argument(argument)) return false;
    return push(call.arguments, argument) || fail("too many arguments at");
  }

  bool read_argument(Argument& argument) {
    skip_blanks();
    if (next_ < text_.size() && is_letter(text_[next_])) {
      Word word;
      if (!read_word(word, "a keyword")) return false;
      if (!accept('=')) {
        argument.value.text = word.text;
        argument.value.at = word.at;
        return true;
      }
      argument.keyword = word;
    }
    return read_value(argument.value);
  }

  bool read_value(ArgumentValue& value) {
    skip_blanks();
    const size_t begin = next_;
    value.at = origin_ + begin + 1;
    if (next_ < text_.size() && is_letter(text_[next_])) {
      Word word;
      if (!read_word(word, "a value")) return false;
    } else if (accept('[')) {
      if (!read_items(value, ']')) return false;
    } else if (accept('(')) {
      if (!read_items(value, ')')) return false;
    } else if (accept('"')) {
      return read_string(value, '"');
    } else if (accept('\'')) {
      return read_string(value, '\'');
    } else if (next_ == text_.size() || !(is_digit(text_[next_]) || text_[next_] == '-')) {
      return fail("a value expected, but got");
    } else if (accept_decimal(value.decimal)) {
      value.kind = ArgumentValue::Kind::decimal;
    } else {
      value.kind = ArgumentValue::Kind::integer;
      if (!read_integer(value.integers)) return false;
    }
    value.text = text_.substr(begin, next_ - begin);
    return true;
  }

  // A number that is no integer.
  bool accept_decimal(double& value) {
    const char* const begin = text_.data() + next_;
    const char* const end = text_.data() + text_.size();
    const char* const digits_end = std::find_if_not(begin + (*begin == '-'), end, is_digit);
    if (digits_end == end || (*digits_end != '.' && *digits_end != 'e')) return false;
    const auto [number_end, status] = std::from_chars(begin, end, value);
    if (status != std::errc() || (number_end != end && is_word(*number_end))) return false;
    next_ += static_cast<size_t>(number_end - begin);
    return true;
  }

  // The rest of a string, after its opening quote.
  bool read_string(ArgumentValue& value, char quote) {
    Word word;
    if (!read_word(word, "a word")) return false;
    value.text = word.text;
    return expect(quote);
  }

  // The rest of a list of integers or None, or of terms, after its opening bracket.
  bool read_items(ArgumentValue& value, char close) {
    skip_blanks();
    if (letter_follows() && !text_.substr(next_).starts_with("None")) {
      value.kind = ArgumentValue::Kind::terms;
      ListTerms terms;
      return read_terms(terms, close);
    }
    value.kind = ArgumentValue::Kind::list;
    while (!accept(close)) {
      skip_blanks();
      if (text_.substr(next_).starts_with("None")) {
        next_ += 4;
        value.nones |= 1u << value.integers.size();
        if (!push(value.integers, int64_t{0})) return fail("a list this long is never right, at");
      } else if (!read_integer(value.integers)) {
        return false;
      }
      if (accept(',')) continue;
      return expect(close);
    }
    return true;
  }

  // The rest of a list of terms, after its opening bracket.
  bool read_terms(ListTerms& terms, char close) {
    while (!accept(close)) {
      ListTerm term;
      if (!read_word(term.name, "a word")) return false;
      if (accept('(') && !read_term_arguments(term)) return false;
      if (!push(terms, term)) return fail("a list this long is never right, at");
      if (accept(',')) continue;
      return expect(close);
    }
    return true;
  }

  bool read_term_arguments(ListTerm& term) {
    if (accept(')')) return true;
    do {
      ListTerm::Argument argument;
      if (!read_term_argument(argument)) return false;
      if (!push(term.arguments, argument)) return fail("too many arguments at");
    } while (accept(','));
    return expect(')');
  }

  bool read_term_argument(ListTerm::Argument& argument) {
    skip_blanks();
    const bool is_negative = next_ < text_.size() && text_[next_] == '-';
    const std::string_view size = text_.substr(std::min(next_ + (is_negative ? 1 : 0), text_.size()));
    constexpr std::string_view infinity = "inf";
    if (size.starts_with(infinity) && (size.size() == infinity.size() || !is_word(size[infinity.size()]))) {
      argument.number = std::numeric_limits<double>::infinity() * (is_negative ? -1 : 1);
      next_ += infinity.size() + (is_negative ? 1 : 0);
      return true;
    }
    if (letter_follows()) return read_word(argument.word, "a word");
    const auto [end, status] =
        std::from_chars(text_.data() + next_, text_.data() + text_.size(), argument.number);
    const bool is_number = status == std::errc() && std::isfinite(argument.number);
    if (!is_number || (end != text_.data() + text_.size() && is_word(*end)))
      return fail("a number or a word expected, but got");
    next_ = static_cast<size_t>(end - text_.data());
    return true;
  }

  // The rest of a tensor's dims, after their opening bracket.
  bool read_shape(ParsedCall& call) {
    while (!accept(']')) {
      Word letter;
      if (!(letter_follows() ? read_word(letter, "a letter") : read_integer(call.dims))) return false;
      if (!letter.text.empty()) push(call.dims, int64_t{1});
      if (!push(call.letters, letter)) return fail(too_long);
      if (!accept(',')) return expect(']');
    }
    return true;
  }

  // The rest of a list of integers, after its opening bracket.
  bool read_integers(Integers& integers, char close) {
    while (!accept(close)) {
      if (!read_integer(integers)) return false;
      if (accept(',')) continue;
      return expect(close);
    }
    return true;
  }

  bool read_integer(Integers& integers) {
    skip_blanks();
    int64_t value = 0;
    const char* const begin = text_.data() + next_;
    const auto [end, status] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (status == std::errc::invalid_argument) return fail("an integer expected, but got", Rule::number);
    // Letters right behind a number would be read as the next token: 3.5, 1_000, 3e2, 0x10.
    if (status == std::errc::result_out_of_range || (end != text_.data() + text_.size() && is_word(*end)))
      return fail("got", Rule::number);
    if (!push(integers, value)) return fail(too_long);
    next_ += static_cast<size_t>(end - begin);
    return true;
  }

  bool read_word(Word& word, std::string_view what) {
    skip_blanks();
    size_t end = next_;
    if (end < text_.size() && is_letter(text_[end]))
      while (end < text_.size() && is_word(text_[end])) ++end;
    if (end == next_) return fail(fmt::format("{} expected, but got", what));
    word = {text_.substr(next_, end - next_), origin_ + next_ + 1};
    next_ = end;
    return true;
  }

  bool letter_follows() const { return next_ < text_.size() && is_letter(text_[next_]); }

  bool accept(char c) {
    skip_blanks();
    if (next_ == text_.size() || text_[next_] != c) return false;
    ++next_;
    return true;
  }

  bool expect(char c) { return accept(c) || fail(fmt::format("'{}' expected, but got", c)); }

  void skip_blanks() {
    while (next_ < text_.size() && is_blank(text_[next_])) ++next_;
  }

  // Ends the parse with an error about what stands at the cursor: a whole word or number, or one character.
  bool fail(std::string_view message, Rule rule = Rule::syntax) {
    if (error_) return false;
    if (next_ == text_.size()) {
      error_ = broke(rule, "{} the end of the text", message);
      return false;
    }
    size_t end = next_ + 1;
    if (is_word(text_[next_]) || text_[next_] == '-')
      while (end < text_.size() && is_word(text_[end])) ++end;
    error_ = broke(rule, "{} {}", message, quote(text_.substr(next_, end - next_), origin_ + next_ + 1));
    return false;
  }

  std::string_view text_;
  Forms forms_;
  size_t origin_;
  size_t next_ = 0;
  std::optional<ir::Error> error_;
};

// Levenshtein distance by one row of the table.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// Whether the word is some of the candidate's letters in their order, the first one among them.
bool abbreviates(std::string_view word, std::string_view candidate) {
  if (word.size() < 2 || candidate.empty() || word[0] != candidate[0]) return false;
  size_t found = 0;
  for (const char c : candidate) found += found < word.size() && word[found] == c;
  return found == word.size();
}

}  // namespace

std::optional<ir::Error> parse_call(std::string_view text, ParsedCall& call, Forms forms) {
  if (text.size() > longest_text) return broke(Rule::length, "got {}", text.size());
  return Parser(text, forms).parse(call);
}

std::optional<ir::Error> parse_pools(std::string_view text, ParsedCall& call,
                                     std::vector<ParsedCall>& members) {
  if (text.size() > longest_text) return broke(Rule::length, "got {}", text.size());
  return Parser(text).parse(call, members);
}

ListTerms terms_of(const ArgumentValue& value) {
  ListTerms terms;
  const bool is_parsed = Parser(value.text, Forms::call, value.at - 1).parse(terms);
  POOLJIT_CHECK(is_parsed, value.text);
  return terms;
}

std::string_view nearest(std::string_view word, const std::string_view* begin, const std::string_view* end) {
  std::string_view best;
  if (word.size() > longest_quote) return best;
  // An abbreviation before a misspelling: pad and pads are padding, f32 is float32. The shortest word wins.
  std::string_view stem = word;
  if (stem.ends_with('s')) stem.remove_suffix(1);
  for (const std::string_view* candidate = begin; candidate != end; ++candidate)
    if ((abbreviates(word, *candidate) || abbreviates(stem, *candidate)) &&
        (best.empty() || candidate->size() < best.size()))
      best = *candidate;
  if (!best.empty()) return best;
  // Further away it is another word, not a misspelling.
  size_t best_distance = std::min<size_t>(4, word.size() / 2 + 1);
  for (const std::string_view* candidate = begin; candidate != end; ++candidate) {
    const size_t d = distance(word, *candidate);
    if (d < std::min(best_distance, candidate->size())) {
      best = *candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string quote(std::string_view text, size_t at) {
  std::string shown;
  for (char c : text.substr(0, longest_quote)) shown += c >= ' ' && c <= '~' ? c : '?';
  return fmt::format("'{}{}' at character {}", shown, text.size() > longest_quote ? "..." : "", at);
}

}  // namespace pooljit::frontend
