#include "frontend/dialects/onnx_opsets.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "frontend/rules.h"

namespace pooljit::frontend::onnx_opsets {

int64_t since(std::string_view op, std::string_view word) {
  struct Row {
    std::string_view op, word;
    int64_t opset;
  };
  constexpr Row rows[] = {
#define SINCE(op, word, opset) {op, word, opset},
#include "frontend/dialects/onnx_opsets.def"
#undef SINCE
  };
  const auto row = std::find_if(std::begin(rows), std::end(rows),
                                [&](const Row& each) { return each.op == op && each.word == word; });
  return row == std::end(rows) ? 1 : row->opset;
}

Broken check(std::string_view op, std::span<const std::string_view> attributes, int64_t opset) {
  if (opset < 1 || opset > newest)
    return broke(Rule::opset, "got opset {}; 1 to {} are known", opset, newest);
  if (opset < since(op, op))
    return broke(Rule::opset, "{} is there since opset {}; got {}", op, since(op, op), opset);
  for (const std::string_view word : attributes)
    if (opset < since(op, word))
      return broke(Rule::opset, "{} has {} since opset {}; got {}", op, word, since(op, word), opset);
  return std::nullopt;
}

}  // namespace pooljit::frontend::onnx_opsets
