#include "export/info.h"

#include <cstddef>
#include <vector>

#include "export/pointers.h"
#include "ir/check.h"

namespace pooljit::runtime {
namespace {

using jit::ElfObject;
using jit::SectionId;

struct TensorData {
  uint64_t dtype = 0;  // an address
  int64_t rank = 0;
  std::array<int64_t, info_max_rank> shape{}, strides{};
  int64_t bytes = 0;
};
struct BodyData {
  uint64_t isa = 0, schedule = 0, proof = 0;  // addresses
  int64_t code_bytes = 0;
};
struct InfoData {
  int64_t size = sizeof(InfoData);
  uint64_t spec = 0, backend = 0, version = 0;  // addresses
  TensorData input, output, indices;
  int64_t operand_count = 0;
  uint64_t operands = 0;  // an address
  int64_t body_count = 0;
  uint64_t bodies = 0;  // an address
  int64_t scratch_bytes = 0;
  int64_t output_count = 0;
  uint64_t outputs = 0;  // an address
  int64_t indices_count = 0;
  uint64_t all_indices = 0;  // an address
};

TensorData tensor_data(const ExportedTensor& tensor, size_t at, Pointers& pointers) {
  TensorData data;
  POOLJIT_CHECK(tensor.shape.size() <= info_max_rank, "a tensor of too many dimensions");
  pointers.to_text(at + offsetof(TensorData, dtype), tensor.dtype);
  data.rank = std::ssize(tensor.shape);
  std::ranges::copy(tensor.shape, data.shape.begin());
  std::ranges::copy(tensor.strides, data.strides.begin());
  data.bytes = tensor.bytes;
  return data;
}

size_t append_tensors(std::span<const ExportedTensor> tensors, ElfObject& object) {
  Pointers pointers(object);
  std::vector<TensorData> data;
  for (const ExportedTensor& tensor : tensors)
    data.push_back(tensor_data(tensor, data.size() * sizeof(TensorData), pointers));
  return pointers.place(data.data(), data.size() * sizeof(TensorData));
}

size_t append_bodies(const ExportedKernel& kernel, ElfObject& object) {
  Pointers pointers(object);
  std::vector<BodyData> data;
  for (const ExportedCode& code : kernel.codes) {
    const size_t at = data.size() * sizeof(BodyData);
    pointers.to_text(at + offsetof(BodyData, isa), ir::info(code.isa).text);
    pointers.to_text(at + offsetof(BodyData, schedule), code.code->info.schedule);
    pointers.to_text(at + offsetof(BodyData, proof), code.proof);
    data.push_back({0, 0, 0, static_cast<int64_t>(code.code->info.code_bytes)});
  }
  return pointers.place(data.data(), data.size() * sizeof(BodyData));
}

}  // namespace

void append_info(const ExportedKernel& kernel, ElfObject& object) {
  Pointers pointers(object);
  InfoData data;
  pointers.to_text(offsetof(InfoData, spec), kernel.text);
  pointers.to_text(offsetof(InfoData, backend), kernel.backend);
  pointers.to_text(offsetof(InfoData, version), POOLJIT_VERSION);
  data.input = tensor_data(kernel.input, offsetof(InfoData, input), pointers);
  data.output = tensor_data(kernel.outputs[0], offsetof(InfoData, output), pointers);
  if (!kernel.indices.empty())
    data.indices = tensor_data(kernel.indices[0], offsetof(InfoData, indices), pointers);
  else
    pointers.to_text(offsetof(InfoData, indices) + offsetof(TensorData, dtype), "");
  data.operand_count = std::ssize(kernel.operands);
  if (!kernel.operands.empty())
    pointers.to(offsetof(InfoData, operands), SectionId::relro, append_tensors(kernel.operands, object));
  data.body_count = std::ssize(kernel.codes);
  pointers.to(offsetof(InfoData, bodies), SectionId::relro, append_bodies(kernel, object));
  data.scratch_bytes = kernel.scratch_bytes;
  data.output_count = std::ssize(kernel.outputs);
  pointers.to(offsetof(InfoData, outputs), SectionId::relro, append_tensors(kernel.outputs, object));
  data.indices_count = std::ssize(kernel.indices);
  if (!kernel.indices.empty())
    pointers.to(offsetof(InfoData, all_indices), SectionId::relro, append_tensors(kernel.indices, object));
  const size_t base = pointers.place(&data, sizeof data);
  object.add_symbol({kernel.name + "_info", SectionId::relro, base, sizeof data, true});
}

}  // namespace pooljit::runtime
