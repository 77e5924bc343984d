// The C interface with options as words, as tests write them; and runs of the C++ interface with lists.
#pragma once

#include <cstring>
#include <vector>

#include "pooljit.h"
#include "pooljit.hpp"

namespace pooljit::tests {

// The options that the words say, for one call; null words: none.
class Words {
 public:
  explicit Words(const char* words) : room_(words ? std::strlen(words) + 1 : 0) {
    options_.size = sizeof options_;
    if (words) code_ = pooljit_options_read(words, &options_, room_.data(), room_.size());
    has_words_ = words != nullptr;
  }
  int code() const { return code_; }
  const pooljit_options* get() const { return has_words_ ? &options_ : nullptr; }

 private:
  std::vector<char> room_;
  pooljit_options options_ = {};
  int code_ = POOLJIT_OK;
  bool has_words_ = false;
};

// pooljit_compile, pooljit_spec_read and pooljit_spec_make of a text or struct.
inline int compile_words(const char* spec, const char* words, pooljit_kernel** kernel) {
  if (kernel) *kernel = nullptr;
  const Words options(words);
  return options.code() != POOLJIT_OK ? options.code() : pooljit_compile(spec, options.get(), kernel);
}
inline int read_words(const char* spec, const char* words, pooljit_spec** object) {
  if (object) *object = nullptr;
  const Words options(words);
  return options.code() != POOLJIT_OK ? options.code() : pooljit_spec_read(spec, options.get(), object);
}

// What a run is told beside its input.
struct Lists {
  std::vector<void*> outputs, indices = {};
  std::vector<const void*> operands = {};
  int64_t batch = -1;  // the spec's
  int part = 0, parts = 0;
};

inline Args args_of(const void* input, const Lists& lists) {
  Args args;
  args.input = input;
  args.set_outputs(lists.outputs);
  args.set_indices(lists.indices);
  args.set_operands(lists.operands);
  if (lists.batch >= 0) args.set_batch(lists.batch);
  args.part = lists.part, args.parts = lists.parts;
  return args;
}

Args args_of(const void* input, const Lists&& lists) = delete;  // it points into the lists

inline void run(const Kernel& kernel, const void* input, const Lists& lists) {
  kernel.run_with(args_of(input, lists));
}

}  // namespace pooljit::tests
