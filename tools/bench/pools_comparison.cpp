#include "tools/bench/pools_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>

#include "ir/program.h"
#include "runtime/options.h"
#include "runtime/tuning/workload.h"
#include "tools/bandwidth.h"
#include "tools/bench/turns.h"
#include "tools/bench_case.h"
#include "tools/parallel.h"

namespace pooljit::tools {
namespace {

// Packed tensors, one after the other along the channels.
struct Concat {
  struct Part {
    std::byte* tensor;
    size_t bytes;  // of each row
  };
  std::vector<Part> parts;
  int64_t rows = 0;  // batches; pixels where channels are innermost

  void join(int threads, std::byte* all) const {
    in_parallel(threads, rows, [&](int64_t begin, int64_t end) {
      for_each(begin, end, all, [](std::byte* at, std::byte* part, size_t n) { std::memcpy(at, part, n); });
    });
  }
  void split(std::byte* all) const {
    for_each(0, rows, all, [](std::byte* at, std::byte* part, size_t n) { std::memcpy(part, at, n); });
  }

 private:
  template <typename Move>
  void for_each(int64_t begin, int64_t end, std::byte* all, Move move) const {
    size_t row_bytes = 0;
    for (const Part& part : parts) row_bytes += part.bytes;
    for (int64_t row = begin; row < end; ++row) {
      std::byte* at = all + static_cast<size_t>(row) * row_bytes;
      for (const Part& part : parts) {
        move(at, part.tensor + static_cast<size_t>(row) * part.bytes, part.bytes);
        at += part.bytes;
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

  const runtime::Kernel& kernel() const { return *kernel_; }
  int threads() const { return members_[0]->threads(); }
  int64_t bytes_read() const { return static_cast<int64_t>(input_bytes_); }
  int64_t bytes_written() const { return total(outputs_) + total(indices_); }

  ir::Result<void> run_kernel() const {
    std::array<void*, ir::most_member_outputs> outputs{}, indices{};
    const auto pointers = [](const std::vector<Buffer>& from, auto& to) {
      std::ranges::transform(from, to.begin(), [](const Buffer& buffer) { return buffer.data(); });
      return std::span<void* const>(to).first(from.size());
    };
    return kernel_->run(input(), {pointers(outputs_, outputs), pointers(indices_, indices)});
  }

  void run_copy(bool streaming) const {
    in_parallel(threads(), threads(), [&](int64_t part, int64_t) {
      copy_part({input(), input_bytes_, copied_.data(), copied_.size()}, size_t(part), size_t(threads()),
                streaming);
    });
  }

  // Of what the last run left, to what the members' own kernels make.
  ir::Result<int64_t> differences() const {
    auto tensors = tensors_of_members();
    if (!tensors) return tl::unexpected(tensors.error());
    if (kernel_->spec().concat)
      concat_of(*tensors).split(outputs_[0].data());
    else
      for (size_t i = 0; i < members_.size(); ++i)
        std::memcpy((*tensors)[i].output.data(), outputs_[i].data(), outputs_[i].size());
    int64_t count = 0;
    size_t with_indices = 0;
    for (size_t i = 0; i < members_.size(); ++i) {
      const Buffer& indices = (*tensors)[i].indices;
      if (indices.size() > 0) std::memcpy(indices.data(), indices_[with_indices++].data(), indices.size());
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
    if (kernel_->spec().concat) own.concat = concat_of(own.tensors);
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

  static int64_t total(const std::vector<Buffer>& buffers) {
    size_t bytes = 0;
    for (const Buffer& buffer : buffers) bytes += buffer.size();
    return static_cast<int64_t>(bytes);
  }
  std::byte* input() const { return input_.data(); }

  ir::Result<std::vector<BenchCase::Theirs>> tensors_of_members() const {
    std::vector<BenchCase::Theirs> all;
    for (const auto& member : members_) {
      auto tensors = member->theirs();
      if (!tensors) return tl::unexpected(tensors.error());
      tensors->input = input();
      all.push_back(std::move(*tensors));
    }
    return all;
  }

  Concat concat_of(const std::vector<BenchCase::Theirs>& tensors) const {
    const frontend::PoolSpec& spec = kernel_->spec();
    Concat concat;
    concat.rows = *spec.batch;
    if (spec.layout == frontend::Layout::nhwc) {
      const std::vector<int64_t> shape = output_shape(spec);
      for (size_t axis = 2; axis < shape.size(); ++axis) concat.rows *= shape[axis];
    }
    const auto add = [&](std::byte* tensor, size_t bytes) {
      concat.parts.push_back({tensor, bytes / static_cast<size_t>(concat.rows)});
    };
    if (spec.include_input) add(input(), input_bytes_);
    for (const BenchCase::Theirs& each : tensors) add(each.output.data(), each.output.size());
    return concat;
  }

  runtime::KernelPtr kernel_;
  std::vector<std::unique_ptr<BenchCase>> members_;  // each by pooljit's own kernel, to compare results with
  std::deque<PeerLayer> layers_;
  size_t input_bytes_ = 0;
  Buffer input_, copied_;  // copied_: as large as all outputs
  std::vector<Buffer> outputs_, indices_;
  std::deque<Theirs> theirs_;
};

ir::Result<std::unique_ptr<Pools>> Pools::make(const frontend::PoolSpec& spec,
                                               const ComparisonOptions& options) {
  auto kernel = runtime::compile(print(spec), options.engine);
  if (!kernel) return tl::unexpected(kernel.error());
  std::unique_ptr<Pools> pools(new Pools);
  pools->kernel_ = std::move(*kernel);
  Options plain = options.engine;
  plain.schedule.clear();
  for (frontend::PoolSpec member : spec.members) {
    if (spec.concat) member.output_layout = spec.output_layout;
    auto own = runtime::compile(print(member), plain);
    if (!own) return tl::unexpected(own.error());
    auto bench = BenchCase::make(std::move(*own), runtime::thread_count(plain));
    if (!bench) return tl::unexpected(bench.error());
    pools->layers_.emplace_back(member);
    pools->members_.push_back(std::move(*bench));
  }
  const auto allocate = [](size_t bytes, Buffer& buffer) -> ir::Result<void> {
    auto memory = Buffer::allocate(bytes);
    if (!memory) return tl::unexpected(memory.error());
    std::memset(memory->data(), 0, bytes);
    buffer = std::move(*memory);
    return {};
  };
  const auto allocate_all = [&](const std::vector<runtime::MemoryView>& views,
                                std::vector<Buffer>& buffers) -> ir::Result<void> {
    for (const runtime::MemoryView& view : views)
      if (auto ok = allocate(static_cast<size_t>(view.span_bytes()), buffers.emplace_back()); !ok) return ok;
    return {};
  };
  pools->input_bytes_ = static_cast<size_t>(pools->kernel_->input_view().span_bytes());
  if (auto ok = allocate(pools->input_bytes_, pools->input_); !ok) return tl::unexpected(ok.error());
  runtime::fill_ordinary(spec.dtype, pools->input_.span());
  if (auto ok = allocate_all(pools->kernel_->output_views(), pools->outputs_); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = allocate_all(pools->kernel_->index_views(), pools->indices_); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = allocate(static_cast<size_t>(pools->bytes_written()), pools->copied_); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = pools->run_kernel(); !ok) return tl::unexpected(ok.error());
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
  const auto differences = (*pools)->differences();
  if (!differences) return tl::unexpected(differences.error());
  Turns turns;
  // Which has succeeded.
  turns.add(
      pooljit_name, [&] { static_cast<void>((*pools)->run_kernel()); }, *differences);
  if (options.with_plain_loop)
    result.left_out.push_back({std::string(plain_loop_name), "does one pool of a tensor"});
  for (const Peer& peer : peers)
    if (auto ok = (*pools)->add_peer(peer, options, turns, result); !ok) return tl::unexpected(ok.error());
  turns.measure(
      options.seconds, [&](bool streaming) { (*pools)->run_copy(streaming); }, result);
  return with_compile_time(std::move(result), options);
}

}  // namespace pooljit::tools
