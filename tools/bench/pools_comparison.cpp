#include "tools/bench/pools_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "runtime/options.h"
#include "runtime/tuning/workload.h"
#include "tools/bandwidth.h"
#include "tools/bench/turns.h"
#include "tools/bench_case.h"
#include "tools/bench_pools.h"
#include "tools/parallel.h"

namespace pooljit::tools {
namespace {

// Packed tensors, one after the other along the channels.
struct Concat {
  struct Part {
    const std::byte* tensor;
    size_t bytes;  // of each row
  };
  std::vector<Part> parts;
  int64_t rows = 0;  // batches; pixels where channels are innermost

  void join(int threads, std::byte* all) const {
    in_parallel(threads, rows, [&](int64_t begin, int64_t end) {
      for_each(begin, end, [&](size_t part, size_t at, size_t in_part) {
        std::memcpy(all + at, parts[part].tensor + in_part, parts[part].bytes);
      });
    });
  }
  // Into tensors like the parts.
  void split(const std::byte* all, std::span<std::byte* const> to) const {
    for_each(0, rows, [&](size_t part, size_t at, size_t in_part) {
      std::memcpy(to[part] + in_part, all + at, parts[part].bytes);
    });
  }

 private:
  template <typename Move>
  void for_each(int64_t begin, int64_t end, Move move) const {
    size_t row_bytes = 0;
    for (const Part& part : parts) row_bytes += part.bytes;
    for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
      size_t at = row * row_bytes;
      for (size_t i = 0; i < parts.size(); ++i) {
        move(i, at, row * parts[i].bytes);
        at += parts[i].bytes;
      }
    }
  }
};

// The layer and its tensors; what engines are given points here.
class Pools {
 public:
  // Errors: those of compile, of BenchCase::make and of Kernel::run.
  static ir::Result<std::unique_ptr<Pools>> make(const frontend::PoolSpec& spec,
                                                 const ComparisonOptions& options);
  Pools(const Pools&) = delete;
  Pools& operator=(const Pools&) = delete;

  const OurKernels& kernels() const { return kernels_; }
  const runtime::Kernel& kernel() const { return *kernels_.measured; }
  int threads() const { return members_[0]->threads(); }
  int64_t bytes_read() const { return kernel().input_view().span_bytes(); }
  int64_t bytes_written() const { return total(kernel().output_views()) + total(kernel().index_views()); }

  // Our kernels; errors: those of Kernel::run.
  ir::Result<void> run(const runtime::Kernel& kernel) const { return workload_->run(kernel); }

  void run_copy(bool streaming) const {
    in_parallel(threads(), threads(), [&](int64_t part, int64_t) {
      copy_part({workload_->input(), size_t(bytes_read()), copied_.data(), copied_.size()}, size_t(part),
                size_t(threads()), streaming);
    });
  }

  // Of what the last run left, to what the members' own kernels make, and to the input.
  ir::Result<int64_t> differences() const {
    auto tensors = tensors_of_members();
    if (!tensors) return tl::unexpected(tensors.error());
    std::vector<std::byte*> seen;
    for (const BenchCase::Theirs& each : *tensors) seen.push_back(each.output.data());
    int64_t count = 0;
    if (kernel().spec().concat) {
      const bool has_input = kernel().spec().include_input;
      const auto input = Buffer::allocate(has_input ? size_t(bytes_read()) : 0);
      if (!input) return tl::unexpected(input.error());
      if (has_input) seen.insert(seen.begin(), input->data());
      concat_of(*tensors).split(workload_->output(), seen);
      for (size_t i = 0; i < input->size(); ++i) count += input->data()[i] != workload_->input()[i];
    } else {
      for (size_t i = 0; i < members_.size(); ++i)
        std::memcpy(seen[i], workload_->output(i), (*tensors)[i].output.size());
    }
    size_t with_indices = 0;
    for (size_t i = 0; i < members_.size(); ++i) {
      const Buffer& indices = (*tensors)[i].indices;
      if (indices.size() > 0) std::memcpy(indices.data(), workload_->indices(with_indices++), indices.size());
      auto different = members_[i]->differences_from((*tensors)[i]);
      if (!different) return different;
      count += *different;
    }
    return count;
  }

  // One after the other, then the concatenation. Left out, with why, where it does not do all members.
  ir::Result<void> add_peer(const Peer& peer, const ComparisonOptions& options, Turns& turns,
                            LayerResult& result) {
    auto tensors = tensors_of_members();
    if (!tensors) return tl::unexpected(tensors.error());
    Theirs& own = theirs_.emplace_back();
    own.tensors = std::move(*tensors);
    const auto leave_out = [&](const std::string& why) {
      theirs_.pop_back();
      result.left_out.push_back({peer.name(), why});
      return ir::Result<void>();
    };
    int64_t differences = 0;
    double setup = 0;
    for (size_t i = 0; i < members_.size(); ++i) {
      ir::Result<PeerCall> call = ir::unsupported("bench.peer", "");
      setup += seconds_of([&] { call = layers_[i].prepare(peer, own.tensors[i]); });
      if (!call) return leave_out(call.error().message);
      bool is_done = false;
      const double first = seconds_of([&] { is_done = (*call)(); });
      if (!is_done) return leave_out("does not do this type or layer, it says when it runs");
      if (first > options.longest_seconds) return leave_out(too_long(first));
      const auto different = members_[i]->differences_from(own.tensors[i]);
      if (!different) return tl::unexpected(different.error());
      differences += *different;
      setup += first;
      own.calls.push_back(std::move(*call));
    }
    if (kernel().spec().concat) own.concat = concat_of(own.tensors);
    const auto work = [this, &own] {
      for (const PeerCall& call : own.calls) static_cast<void>(call());
      if (!own.concat.parts.empty()) own.concat.join(threads(), copied_.data());
    };
    turns.add(peer.name(), work, differences, setup);
    return {};
  }

 private:
  struct Theirs {
    std::vector<BenchCase::Theirs> tensors;
    std::vector<PeerCall> calls;
    Concat concat;
  };

  Pools() = default;

  static int64_t total(const std::vector<runtime::MemoryView>& views) {
    int64_t bytes = 0;
    for (const runtime::MemoryView& view : views) bytes += view.span_bytes();
    return bytes;
  }

  ir::Result<std::vector<BenchCase::Theirs>> tensors_of_members() const {
    std::vector<BenchCase::Theirs> all;
    for (const auto& member : members_) {
      auto tensors = member->theirs();
      if (!tensors) return tl::unexpected(tensors.error());
      tensors->input = workload_->input();
      all.push_back(std::move(*tensors));
    }
    return all;
  }

  Concat concat_of(const std::vector<BenchCase::Theirs>& tensors) const {
    const frontend::PoolSpec& spec = kernel().spec();
    Concat concat;
    concat.rows = *spec.batch;
    if (spec.layout == frontend::Layout::nhwc) {
      const std::vector<int64_t> shape = output_shape(spec);
      for (size_t axis = 2; axis < shape.size(); ++axis) concat.rows *= shape[axis];
    }
    const auto add = [&](const std::byte* tensor, size_t bytes) {
      concat.parts.push_back({tensor, bytes / static_cast<size_t>(concat.rows)});
    };
    if (spec.include_input) add(workload_->input(), size_t(bytes_read()));
    for (const BenchCase::Theirs& each : tensors) add(each.output.data(), each.output.size());
    return concat;
  }

  OurKernels kernels_;
  std::vector<std::unique_ptr<BenchCase>> members_;  // each by pooljit's own kernel, to compare results with
  std::deque<PeerLayer> layers_;
  std::optional<runtime::Workload> workload_;
  Buffer copied_;  // as large as all outputs
  std::deque<Theirs> theirs_;
};

ir::Result<std::unique_ptr<Pools>> Pools::make(const frontend::PoolSpec& spec,
                                               const ComparisonOptions& options) {
  auto kernels = our_kernels(spec, options);
  if (!kernels) return tl::unexpected(kernels.error());
  std::unique_ptr<Pools> pools(new Pools);
  pools->kernels_ = std::move(*kernels);
  auto members = compile_members(spec, options.engine);
  if (!members) return tl::unexpected(members.error());
  for (runtime::KernelPtr& member : *members) {
    pools->layers_.emplace_back(member->spec());
    auto bench = BenchCase::make(std::move(member), runtime::thread_count(options.engine));
    if (!bench) return tl::unexpected(bench.error());
    pools->members_.push_back(std::move(*bench));
  }
  auto workload = runtime::Workload::make(pools->kernel());
  if (!workload) return tl::unexpected(workload.error());
  pools->workload_ = std::move(*workload);
  auto copied = Buffer::allocate(static_cast<size_t>(pools->bytes_written()));
  if (!copied) return tl::unexpected(copied.error());
  std::memset(copied->data(), 0, copied->size());
  pools->copied_ = std::move(*copied);
  return pools;
}

std::string why_no_peers(const frontend::PoolSpec& spec) {
  std::string why = why_no_peer(spec);
  for (const frontend::PoolSpec& member : spec.members)
    if (why.empty()) why = why_no_peer(member);
  return why;
}

}  // namespace

ir::Result<LayerResult> compare_pools(const std::string& name, const frontend::PoolSpec& spec,
                                      std::span<const Peer> peers, const ComparisonOptions& options) {
  if (const std::string why = why_no_peers(spec); !why.empty()) return ir::unsupported("bench.pools", why);
  const auto pools = Pools::make(spec, options);
  if (!pools) return tl::unexpected(pools.error());
  const runtime::Kernel& kernel = (*pools)->kernel();
  LayerResult result = about_layer(name, kernel);
  result.threads = (*pools)->threads();
  result.bytes_read = (*pools)->bytes_read(), result.bytes_written = (*pools)->bytes_written();
  Turns turns;
  const auto add_ours = [&](std::string name, const runtime::Kernel& ours) -> ir::Result<void> {
    if (auto ok = (*pools)->run(ours); !ok) return ok;
    const auto differences = (*pools)->differences();
    if (!differences) return tl::unexpected(differences.error());
    turns.add(
        std::move(name), [&pools = **pools, &ours] { static_cast<void>(pools.run(ours)); }, *differences);
    return {};
  };
  if (auto ok = add_ours(pooljit_name, kernel); !ok) return tl::unexpected(ok.error());
  if (const auto& exact = (*pools)->kernels().exact)
    if (auto ok = add_ours(exact_name, *exact); !ok) return tl::unexpected(ok.error());
  if (options.with_plain_loop)
    result.left_out.push_back({std::string(plain_loop_name), "does one pool of a tensor"});
  for (const Peer& peer : peers)
    if (auto ok = (*pools)->add_peer(peer, options, turns, result); !ok) return tl::unexpected(ok.error());
  turns.measure(
      options.seconds, [&](bool streaming) { (*pools)->run_copy(streaming); }, result);
  return with_compile_time(std::move(result), (*pools)->kernels(), options);
}

}  // namespace pooljit::tools
