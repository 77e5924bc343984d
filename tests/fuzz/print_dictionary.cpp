// Prints a dictionary for libFuzzer and others: every word that a spec can hold, in any dialect. Made from
// the tables: the words of the generated matrix as each dialect prints it, operators and keywords.
#include <cctype>
#include <cstdio>
#include <set>
#include <string>

#include "frontend/dialects.h"
#include "frontend/operators.h"
#include "tests/matrix/specs.h"

namespace {

using namespace pooljit;

// Names, with the dots and colons in them.
void add_words(std::set<std::string>& words, const std::string& text) {
  std::string word;
  for (const char c : text + " ") {
    const bool belongs = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':';
    if (belongs) {
      word += c;
    } else {
      if (!word.empty() && !std::isdigit(static_cast<unsigned char>(word.front()))) words.insert(word);
      word.clear();
    }
  }
}

}  // namespace

int main() {
  std::set<std::string> words;
  for (const frontend::Keyword& keyword : frontend::keywords()) words.insert(std::string(keyword.name) + "=");
  for (const frontend::Operator& op : frontend::operators())
    for (size_t rank = 1; rank <= frontend::max_rank; ++rank) words.insert(name_of(op, rank));
  for (const frontend::Dialect& dialect : frontend::dialects())
    for (const std::string_view beginning : dialect.beginnings) words.insert(std::string(beginning));
  for (const tests::MatrixSpec& one : tests::matrix()) {
    add_words(words, print(one.spec));
    for (const frontend::Dialect& dialect : frontend::dialects())
      if (const auto text = print_as(dialect, one.spec)) add_words(words, *text);
  }
  for (const std::string& word : words) {
    std::string quoted;
    for (const char c : word) quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    std::printf("\"%s\"\n", quoted.c_str());
  }
}
