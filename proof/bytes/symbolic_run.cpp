#include "proof/bytes/symbolic_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/decoder.h"
#include "proof/bytes/term_domain.h"

namespace pooljit::jit::x86 {
namespace {

using Byte = TermDomain::Byte;

// Elements of the planes that are wanted are terms.
struct InputTerms {
  ir::TermGraph& graph;
  std::vector<bool> is_wanted;  // by n * channels + c; empty: all are
  int64_t channels;

  void element(int buffer, const ir::View& view, const ir::PlaneElement& element, Byte* to) const {
    const int64_t width = ir::bytes(view.dtype);
    const auto plane = static_cast<size_t>(element.n * channels + element.c);
    // An operand with one number per channel, or one for all, is of several planes.
    const bool is_of_one = buffer == ir::buffer_of(ir::Param::Role::input, 0);
    if (is_of_one && !is_wanted.empty() && !is_wanted[plane])
      return void(std::fill_n(to, width, TermDomain::apart));
    const ir::TermId id = graph.input(view.dtype, element.offset * width, buffer);
    for (int32_t b = 0; b < width; ++b) to[b] = {id, b};
  }
};

// Elements that something was stored to.
ir::Terms::Stored stored_in(const Memory<Byte>::Buffer* buffer, const ir::View& view, TermDomain& domain) {
  ir::Terms::Stored stored;
  const auto width = static_cast<size_t>(ir::bytes(view.dtype));
  for (size_t at = 0; buffer && at < buffer->bytes.size(); at += width) {
    size_t written = 0;
    bool is_apart = false;
    for (; written < width && buffer->has(at + written); ++written)
      is_apart = is_apart || buffer->bytes[at + written] == TermDomain::apart;
    if (written == width)
      stored[static_cast<int64_t>(at)] =
          is_apart ? ir::no_term : domain.term_of(view.dtype, buffer->bytes.data() + at);
  }
  return stored;
}

}  // namespace

ir::Error refusal(const KernelCode& kernel, const Refused& refused) {
  return ir::invalid(
             refused.is_wrong ? "prove.wrong" : "prove.code",
             fmt::format("at {:x}, {}: {}", refused.at, text_of(kernel.blob->code, refused.at), refused.why))
      .value();
}

ir::Result<ir::StoredTerms> run_symbolically(const KernelCode& kernel, const ir::PoolNest& nest,
                                             int64_t batch, ir::TermGraph& graph, const RunLimits& limits,
                                             std::span<const ir::PlaneIndex> planes) {
  if (const auto ready = require_decoder(); !ready) return tl::unexpected(ready.error());
  InputTerms source{graph, {}, nest.channels};
  if (!planes.empty()) source.is_wanted.resize(static_cast<size_t>(batch * nest.channels));
  for (const ir::PlaneIndex& plane : planes)
    source.is_wanted[static_cast<size_t>(plane.n * nest.channels + plane.c)] = true;
  try {
    TermDomain domain(graph);
    KernelMemory<TermDomain, InputTerms> memory(kernel, nest, batch, domain, source);
    memory.call(all_tasks(kernel, nest, batch), limits.steps);
    ir::StoredTerms stored{stored_in(memory.output(), nest.output, domain), {}};
    if (nest.indices) stored.indices = stored_in(memory.indices(), *nest.indices, domain);
    return stored;
  } catch (const Refused& refused) {
    return tl::unexpected(refusal(kernel, refused));
  } catch (const TooManySteps&) {
    return ir::unsupported("prove.size", "there are too many instructions");
  } catch (const ir::Unreadable& unreadable) {
    return ir::unsupported("prove.unsupported", unreadable.why);
  }
}

}  // namespace pooljit::jit::x86
