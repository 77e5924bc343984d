// The tokens of a Program's text, for ir/parse.cpp.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>

namespace pooljit::ir {

enum class TokenKind : uint8_t { word, value, number, string, mark, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text = {};  // of a value, its number; of a string, with its escapes
  int line = 0;
};

inline bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  Token next() {
    skip_space();
    if (rest_.empty()) return {TokenKind::end, "the end of the text", line_};
    const char first = rest_[0];
    if (first == '"') return string();
    if (first == '%') {
      rest_.remove_prefix(1);
      return take(TokenKind::value, run(0, is_digit));
    }
    if (is_digit(first)) return take(TokenKind::number, number());
    if (is_word(first)) return take(TokenKind::word, run(0, is_word));
    return take(TokenKind::mark, rest_.starts_with("...") ? 3 : 1);
  }

 private:
  void skip_space() {
    while (!rest_.empty()) {
      if (rest_[0] == '#') rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      if (rest_.empty() || !std::isspace(static_cast<unsigned char>(rest_[0]))) return;
      line_ += rest_[0] == '\n';
      rest_.remove_prefix(1);
    }
  }

  template <typename F>
  size_t run(size_t from, F belongs) const {
    while (from < rest_.size() && belongs(rest_[from])) ++from;
    return from;
  }

  // Also 1.5, 1e-05 and 0x1f.
  size_t number() const {
    size_t size = run(0, [](char c) { return is_word(c) || c == '.'; });
    const bool has_exponent = (rest_[size - 1] == 'e' || rest_[size - 1] == 'E') && !rest_.starts_with("0x");
    if (has_exponent && size < rest_.size() && (rest_[size] == '-' || rest_[size] == '+'))
      size = run(size + 1, is_digit);
    return size;
  }

  Token string() {
    size_t size = 1;
    while (size < rest_.size() && rest_[size] != '"') size += rest_[size] == '\\' ? 2 : 1;
    rest_.remove_prefix(1);
    const Token token = take(TokenKind::string, std::min(size - 1, rest_.size()));
    rest_.remove_prefix(std::min<size_t>(1, rest_.size()));
    return token;
  }

  Token take(TokenKind kind, size_t size) {
    const Token token{kind, rest_.substr(0, size), line_};
    rest_.remove_prefix(size);
    return token;
  }

  std::string_view rest_;
  int line_ = 1;
};

}  // namespace pooljit::ir
