// Prints the generated matrix, one spec a line, for `pooljit check --file`. An argument says how many.
#include <cstdio>
#include <cstdlib>

#include "tests/matrix/specs.h"

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 6000;
  for (const std::string& text : pooljit::tests::matrix_specs(count)) std::puts(text.c_str());
}
