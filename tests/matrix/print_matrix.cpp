// Prints the generated matrix and the specs of long rows, one a line, for `pooljit check --file`. With an
// argument, so many of the matrix only.
#include <cstdio>
#include <cstdlib>

#include "tests/matrix/specs.h"

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 6000;
  for (const std::string& text : pooljit::tests::matrix_specs(count)) std::puts(text.c_str());
  if (argc < 2)
    for (const std::string& text : pooljit::tests::long_row_specs()) std::puts(text.c_str());
}
