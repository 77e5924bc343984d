#include "export/linked.h"

#include <cstddef>
#include <vector>

#include "export/pointers.h"
#include "ir/check.h"
#include "ir/general/size_words.h"
#include "ir/pools.h"
#include "runtime/linked_code.h"

namespace pooljit::runtime {
namespace {

using jit::ElfObject;
using jit::SectionId;

size_t append_tables(const std::vector<std::vector<int64_t>>& tables, const jit::ExportedBody& body,
                     ElfObject& object) {
  Pointers pointers(object);
  std::vector<LinkedTable> data;
  for (const std::vector<int64_t>& table : tables) {
    pointers.to(data.size() * sizeof(LinkedTable) + offsetof(LinkedTable, words), SectionId::rodata,
                body.tables[data.size()]);
    data.push_back({nullptr, std::ssize(table)});
  }
  return pointers.place(data.data(), data.size() * sizeof(LinkedTable));
}

size_t append_bodies(const ExportedKernel& kernel, const jit::ExportedFunction& function, ElfObject& object) {
  Pointers pointers(object);
  std::vector<LinkedBody> data;
  for (const ExportedCode& exported : kernel.codes) {
    const jit::ExportedIsa& isa = function.isas[data.size()];
    const jit::ExportedBody& body = isa.bodies[0];
    const size_t at = data.size() * sizeof(LinkedBody);
    pointers.to_text(at + offsetof(LinkedBody, isa), ir::info(exported.isa).text);
    pointers.to_text(at + offsetof(LinkedBody, schedule), exported.code->info.schedule);
    pointers.to_text(at + offsetof(LinkedBody, proof), exported.proof);
    pointers.to(at + offsetof(LinkedBody, entry), SectionId::text, body.text_offset);
    std::vector<int64_t> params, tasks;
    for (const ir::Param& param : body.params) {
      params.push_back(static_cast<int64_t>(param.role));
      params.push_back(param.number);
    }
    for (const ir::TaskDim& task : isa.tasks) tasks.push_back(task.extent);
    pointers.to_numbers(at + offsetof(LinkedBody, params), params);
    pointers.to_numbers(at + offsetof(LinkedBody, tasks), tasks);
    const auto& tables = *exported.code->machine()->tables;
    pointers.to(at + offsetof(LinkedBody, tables), SectionId::relro, append_tables(tables, body, object));
    LinkedBody& made = data.emplace_back();
    made.code_bytes = static_cast<int64_t>(exported.code->info.code_bytes);
    made.scratch_bytes = isa.scratch_bytes;
    made.param_count = std::ssize(body.params);
    made.task_count = std::ssize(tasks);
    made.table_count = std::ssize(tables);
  }
  return pointers.place(data.data(), data.size() * sizeof(LinkedBody));
}

}  // namespace

void append_linked(const ExportedKernel& kernel, const jit::ExportedFunction& function, ElfObject& object) {
  Pointers pointers(object);
  pooljit_linked_code data;
  using Data = pooljit_linked_code;
  pointers.to_text(offsetof(Data, version), POOLJIT_VERSION);
  pointers.to_text(offsetof(Data, spec), kernel.text);
  pointers.to_text(offsetof(Data, backend), kernel.backend);
  pointers.to(offsetof(Data, bodies), SectionId::relro, append_bodies(kernel, function, object));
  data.body_count = std::ssize(kernel.codes);
  std::vector<int64_t> words;
  for (const ir::PoolNest& pool : pools_of(kernel.codes[0].code->lowered()))
    words.push_back(ir::size_word_count(pool));
  pointers.to_numbers(offsetof(Data, word_counts), words);
  data.pool_count = std::ssize(words);
  constexpr uint64_t none = 0;
  pointers.to(offsetof(Data, kernel), SectionId::bss,
              object.append(SectionId::bss, &none, sizeof none, sizeof none));
  const size_t base = pointers.place(&data, sizeof data);
  object.add_symbol({kernel.name + "_code", SectionId::relro, base, sizeof data, true});
}

}  // namespace pooljit::runtime
