#include "tools/onnx/groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "frontend/dialects.h"

namespace pooljit::tools {
namespace {

// A node's result, as a pool of `tensor`.
struct Pooled {
  const PoolNode* node;
  std::string tensor;
  frontend::PoolSpec spec;
  size_t length = 1;  // nodes of the chain that make it
};

std::optional<frontend::PoolSpec> spec_of(const PoolNode& node) {
  if (!node.spec || node.inputs.empty() || node.outputs.empty()) return std::nullopt;
  auto spec = frontend::parse_spec(*node.spec, frontend::FreeDims::allowed);
  return spec && spec->direction == ir::Direction::forward ? std::optional(std::move(*spec)) : std::nullopt;
}

// Every node as a pool of its input, and of what that is made of by a chain. In the model's order a tensor is
// made before it is read.
std::vector<Pooled> all_pooled(const OnnxModel& model) {
  std::vector<Pooled> all;
  std::map<std::string_view, std::vector<size_t>> made;  // by the tensor that they make
  for (const PoolNode& node : model.nodes) {
    const auto spec = spec_of(node);
    if (!spec) continue;
    const size_t before = all.size();
    for (const size_t i : made[node.inputs[0]]) {
      const size_t length = all[i].length + 1;
      if (length > frontend::most_members || all[i].node->graph != node.graph ||
          all[i].spec.layout != spec->layout)
        continue;
      if (auto both = frontend::follow(all[i].spec, *spec))
        all.push_back({&node, all[i].tensor, std::move(*both), length});
    }
    all.push_back({&node, node.inputs[0], *spec});
    for (size_t i = before; i < all.size(); ++i) made[node.outputs[0]].push_back(i);
  }
  return all;
}

// Whether one kernel could read what both read.
bool read_alike(const Pooled& a, const Pooled& b) {
  return a.node->graph == b.node->graph && a.spec.layout == b.spec.layout && a.spec.dtype == b.spec.dtype &&
         known_input_shape(a.spec) == known_input_shape(b.spec);
}

std::optional<std::string> text_of(const std::vector<Pooled>& members, bool concat, bool include_input) {
  std::vector<frontend::PoolSpec> specs;
  for (const Pooled& member : members) specs.push_back(member.spec);
  frontend::PoolSpec spec = frontend::spec_of_pools(std::move(specs));
  spec.concat = concat, spec.include_input = include_input;
  const auto checked = frontend::parse_spec(print(spec), frontend::FreeDims::allowed);
  return checked ? std::optional(print(*checked)) : std::nullopt;
}

// With the order of the Concat that takes them all.
std::optional<PoolGroup> concatenated(const std::vector<Pooled>& members, const OnnxModel::Concat& concat) {
  if (members[0].spec.layout != frontend::Layout::nchw) return std::nullopt;  // its channels are another axis
  const bool include_input = concat.inputs[0] == members[0].tensor;
  const size_t first = include_input ? 1 : 0;
  if (concat.inputs.size() != members.size() + first) return std::nullopt;
  PoolGroup group;
  std::vector<Pooled> ordered;
  for (size_t i = first; i < concat.inputs.size(); ++i) {
    const auto found = std::ranges::find_if(
        members, [&](const Pooled& member) { return member.node->outputs[0] == concat.inputs[i]; });
    if (found == members.end()) return std::nullopt;
    ordered.push_back(*found);
    group.nodes.push_back(found->node->name);
  }
  group.nodes.push_back(concat.name);
  const auto text = text_of(ordered, true, include_input);
  if (!text) return std::nullopt;
  group.spec = *text;
  return group;
}

std::optional<PoolGroup> group_of(const std::vector<Pooled>& members, const OnnxModel& model) {
  for (const OnnxModel::Concat& concat : model.concats)
    if (auto group = concatenated(members, concat)) return group;
  const auto text = text_of(members, false, false);
  if (!text) return std::nullopt;
  PoolGroup group{.nodes = {}, .spec = *text};
  for (const Pooled& member : members) group.nodes.push_back(member.node->name);
  return group;
}

}  // namespace

std::vector<PoolGroup> find_groups(const OnnxModel& model) {
  const std::vector<Pooled> all = all_pooled(model);
  std::vector<std::string_view> tensors;  // in the order in which they are first read
  std::map<std::string_view, std::vector<const Pooled*>> readers;
  for (const Pooled& each : all) {
    if (readers[each.tensor].empty()) tensors.push_back(each.tensor);
    readers[each.tensor].push_back(&each);
  }
  std::vector<PoolGroup> groups;
  std::set<const PoolNode*> taken;  // each node is in the group of the tensor that most of its chain reads
  for (const std::string_view tensor : tensors) {
    std::vector<Pooled> members;
    for (const Pooled* each : readers[tensor])
      if (!taken.contains(each->node) && (members.empty() || read_alike(members[0], *each)))
        members.push_back(*each);
    if (members.size() < 2) continue;
    if (auto group = group_of(members, model)) {
      groups.push_back(std::move(*group));
      for (const Pooled& member : members) taken.insert(member.node);
    }
  }
  return groups;
}

}  // namespace pooljit::tools
