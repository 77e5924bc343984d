// Code for all sizes that a program was linked with: how an object of `pooljit export` holds it
// (export/linked.h writes it), and its kernel. No code is made for such a kernel, whatever the size.
#pragma once

#include <cstdint>

#include "ir/error.h"
#include "pooljit_linked.h"
#include "runtime/free_kernel.h"

namespace pooljit::runtime {

// ir::Param.
struct LinkedParam {
  int64_t role = 0, number = 0;
};

// A table of the Program's.
struct LinkedTable {
  const int64_t* words = nullptr;
  int64_t count = 0;
};

// The code for one ISA. tasks: ir::TaskDim::extent.
struct LinkedBody {
  const char *isa = nullptr, *schedule = nullptr, *proof = nullptr;
  void (*entry)(const uint64_t* args) = nullptr;
  int64_t code_bytes = 0, scratch_bytes = 0;
  const LinkedParam* params = nullptr;
  int64_t param_count = 0;
  const int64_t* tasks = nullptr;
  int64_t task_count = 0;
  const LinkedTable* tables = nullptr;
  int64_t table_count = 0;
};

}  // namespace pooljit::runtime

// NAME_code of the generated headers, to which it has no members. Code reads the words of a size where its
// version of the library puts them, so the version has to be this library's, and the words as many.
struct pooljit_linked_code {
  const char *version = nullptr, *spec = nullptr, *backend = nullptr;
  const pooljit::runtime::LinkedBody* bodies = nullptr;  // in the order of ir/isa.def
  int64_t body_count = 0;
  const int64_t* word_counts = nullptr;  // of each pool: ir::size_word_count()
  int64_t pool_count = 0;
  // Once there is a kernel, its address. It is kept for as long as the process lives.
  const pooljit::runtime::FreeKernelPtr** kernel = nullptr;
};

namespace pooljit::runtime {

// Its kernel, the same at each call; takes no lock once there is one. Errors: "link.version", "link.isa".
ir::Result<FreeKernelPtr> linked_kernel(const pooljit_linked_code& code);

}  // namespace pooljit::runtime
