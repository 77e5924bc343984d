#include "proof/bytes/prove_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "ir/check.h"
#include "ir/window_taps.h"
#include "jit/decoder.h"
#include "proof/bytes/fingerprint_domain.h"
#include "proof/bytes/symbolic_run.h"
#include "proof/program/prove.h"

namespace pooljit::jit::x86 {
namespace {

using Byte = FingerprintDomain::Byte;
using Buffer = Memory<Byte>::Buffer;

// What a wrong kernel is refused for.
struct Wrong {
  std::string why;
};

struct InputFingerprints {
  const FingerprintDomain& domain;
  int64_t channels;

  void element(int buffer, const ir::View& view, const ir::PlaneElement& element, Byte* to) const {
    const bool has_channels = channels == 1 || view.channel_offset(1) != 0;
    const PlaneOf plane{has_channels ? static_cast<int32_t>(element.c) : PlaneOf::any,
                        view.batch_stride == 0 ? PlaneOf::any : static_cast<int8_t>(element.n)};
    domain.input(buffer, element.place, plane, to, ir::bytes(view.dtype));
  }
};

// The bytes of an output, or of its indices, that the whole call left, and which task wrote each.
struct Written {
  const Buffer* buffer;
  std::vector<Byte> bytes;
  std::vector<int64_t> tasks;  // by byte
  static constexpr int64_t none = -1, not_written = -2;
};

class FingerprintRuns {
 public:
  FingerprintRuns(const KernelCode& kernel, const ir::PoolNest& nest, int64_t batch)
      : kernel_(kernel), nest_(nest), batch_(batch), memory_(kernel, nest, batch, domain_, source_) {}

  // The planes that stand for all: one of each kind; where some output takes in another plane, as far as
  // fingerprints tell, all. Throws Refused and Wrong.
  std::vector<ir::PlaneIndex> whole(int64_t most_steps) {
    steps_ = memory_.call(all_tasks(kernel_, nest_, batch_), most_steps);
    for (const Buffer* const buffer : {memory_.output(), memory_.indices()}) {
      if (!buffer) continue;
      Written written{buffer, buffer->bytes, std::vector<int64_t>(buffer->bytes.size(), Written::none)};
      for (size_t at = 0; at < written.tasks.size(); ++at)
        if (!buffer->has(at)) written.tasks[at] = Written::not_written;
      all_.push_back(std::move(written));
    }
    return one_of_each_kind();
  }

  // Parts of the tasks, as far as the limit goes. Throws Refused and Wrong.
  void ranges(int64_t most_steps, BytesProof& proof) {
    const Ranges all = all_tasks(kernel_, nest_, batch_);
    proof.all_ranges = 1;
    double tasks_of_all_ranges = 1;  // the cost of executing them all
    for (const TaskSpan& dim : all) {
      const auto count = static_cast<double>(dim.count);
      proof.all_ranges *= count * (count + 1) / 2;
      tasks_of_all_ranges *= count * (count + 1) * (count + 2) / 6;
    }
    proof.ranges = 1;  // the whole
    done_.insert(all);
    count_ = std::accumulate(all.begin(), all.end(), int64_t{1},
                             [](int64_t product, const TaskSpan& dim) { return product * dim.count; });
    if (count_ == 1) return;
    left_ = most_steps;
    if (!single_tasks(all, proof)) return;
    const double cost = tasks_of_all_ranges / static_cast<double>(count_) * static_cast<double>(steps_);
    const bool suffices = cost <= static_cast<double>(left_);
    for (const Ranges& part : suffices ? each_range(all) : some_ranges(all))
      if (done_.insert(part).second && !several_tasks(all, part, proof)) return;
  }

 private:
  // --- planes

  std::vector<ir::PlaneIndex> one_of_each_kind() {
    std::vector<ir::PlaneIndex> planes;
    std::vector<uint64_t> hashes(static_cast<size_t>(batch_ * nest_.channels));
    const auto take = [&](const Buffer* buffer, const ir::View& view) {
      if (!buffer) return;
      ir::for_each_element(nest_, view, batch_, &ir::NestDim::output, [&](const ir::PlaneElement& element) {
        uint64_t& hash = hashes[static_cast<size_t>(element.n * nest_.channels + element.c)];
        hash = domain_.with(hash, element_of(*buffer, view, element));
      });
    };
    take(memory_.output(), nest_.output);
    if (nest_.indices && !nest_.is_backward()) take(memory_.indices(), *nest_.indices);
    std::map<uint64_t, size_t> kinds;
    for (size_t plane = 0; plane < hashes.size(); ++plane)
      if (kinds.try_emplace(hashes[plane], plane).second || !is_apart_)
        planes.push_back(
            {static_cast<int64_t>(plane) / nest_.channels, static_cast<int64_t>(plane) % nest_.channels});
    return planes;
  }

  // Of an element of an output.
  uint64_t element_of(const Buffer& buffer, const ir::View& view, const ir::PlaneElement& element) {
    const int width = ir::bytes(view.dtype);
    const auto at = static_cast<size_t>(element.offset * width);
    for (size_t b = at; b < at + static_cast<size_t>(width); ++b) {
      if (!buffer.has(b)) throw Wrong{place(buffer, element) + ": nothing was stored"};
      if (FingerprintDomain::is_unwritten(buffer.bytes[b]))
        throw Wrong{place(buffer, element) + ": it is made of a register that nothing was written to"};
      is_apart_ = is_apart_ && buffer.bytes[b].plane().is_within(element.n, element.c);
    }
    return domain_.fingerprint(&buffer.bytes[at], width);
  }

  static std::string place(const Buffer& buffer, const ir::PlaneElement& element) {
    return fmt::format("{} at n={} c={}, place {}", buffer.name, element.n, element.c, element.place);
  }

  // --- ranges of tasks

  using Ranges = std::vector<TaskSpan>;  // one per dimension

  // Every combination of one range of each dimension.
  static std::vector<Ranges> combined(const std::vector<Ranges>& of_dims) {
    std::vector<Ranges> all = {{}};
    for (const Ranges& of_dim : of_dims) {
      std::vector<Ranges> longer;
      for (const Ranges& before : all)
        for (const TaskSpan& range : of_dim) longer.push_back(before), longer.back().push_back(range);
      all = std::move(longer);
    }
    return all;
  }

  static std::vector<Ranges> each_range(const Ranges& all) {
    std::vector<Ranges> of_dims;
    for (const TaskSpan& dim : all) {
      of_dims.emplace_back();
      for (int64_t begin = 0; begin < dim.count; ++begin)
        for (int64_t count = 1; begin + count <= dim.count; ++count) of_dims.back().push_back({begin, count});
    }
    return combined(of_dims);
  }

  // Along each dimension, of the others all: neighbours, and what up to eight threads would do.
  static std::vector<Ranges> some_ranges(const Ranges& all) {
    constexpr int64_t most_threads = 8;
    std::vector<Ranges> some;
    const auto add = [&](size_t d, TaskSpan range) { some.push_back(all), some.back()[d] = range; };
    for (size_t d = 0; d < all.size(); ++d) {
      const int64_t count = all[d].count;
      for (int64_t threads = 2; threads <= std::min(most_threads, count); ++threads)
        for (int64_t part = 0; part < threads; ++part) {
          const int64_t begin = part * count / threads;
          add(d, {begin, (part + 1) * count / threads - begin});
        }
      for (int64_t begin = 0; begin + 2 <= count; ++begin) add(d, {begin, 2});
    }
    return some;
  }

  // False: the limit is reached.
  bool run(const Ranges& ranges, BytesProof& proof) {
    constexpr int64_t overhead = 10, least_steps = 1000;
    left_ -=
        overhead +
        steps_ * std::accumulate(ranges.begin(), ranges.end(), int64_t{1}, [](int64_t product, TaskSpan dim) {
          return product * dim.count;
        }) / count_;
    if (left_ <= 0) return false;
    try {
      memory_.call(ranges, 2 * steps_ + least_steps);
    } catch (const TooManySteps&) {
      throw Wrong{"a range of tasks takes more instructions than all of them"};
    }
    ++proof.ranges;
    return true;
  }

  template <class Visit>  // visit(byte's task)
  void for_each_written(const Visit& visit) {
    for (Written& written : all_)
      for (size_t at = written.buffer->first_written(); at < written.buffer->end_written(); ++at) {
        if (!written.buffer->has(at)) continue;
        if (written.buffer->bytes[at] != written.bytes[at])
          throw Wrong{
              fmt::format("byte {} of {}: a part of the tasks leaves something else there than all do", at,
                          written.buffer->name)};
        visit(written.tasks[at]);
      }
  }

  int64_t number(const Ranges& all, const std::vector<int64_t>& task) const {
    int64_t number = 0;
    for (size_t d = 0; d < all.size(); ++d) number = number * all[d].count + task[d];
    return number;
  }

  // False: too many, or two write to one place.
  bool single_tasks(const Ranges& all, BytesProof& proof) {
    bytes_of_task_.assign(static_cast<size_t>(count_), 0);
    std::vector<int64_t> task(all.size(), 0);
    for (;;) {
      Ranges one;
      for (const int64_t begin : task) one.push_back({begin, 1});
      if (!run(one, proof)) return false;
      done_.insert(one);
      const int64_t own = number(all, task);
      bool overlaps = false;
      for_each_written([&](int64_t& owner) {
        overlaps = overlaps || owner != Written::none;
        owner = own, ++bytes_of_task_[static_cast<size_t>(own)];
      });
      if (overlaps) return false;
      size_t d = task.size();
      while (d > 0 && ++task[d - 1] == all[d - 1].count) task[--d] = 0;
      if (d == 0) break;
    }
    for (const Written& written : all_)
      if (std::ranges::count(written.tasks, Written::none) != 0)
        throw Wrong{"no task writes what all of them write, of " + written.buffer->name};
    return true;
  }

  // The range of several tasks.
  bool several_tasks(const Ranges& all, const Ranges& part, BytesProof& proof) {
    if (!run(part, proof)) return false;
    int64_t missing = 0;
    std::vector<int64_t> task;
    for (const TaskSpan& dim : part) task.push_back(dim.begin);
    std::vector<bool> is_asked(bytes_of_task_.size());
    for (;;) {
      const auto own = static_cast<size_t>(number(all, task));
      missing += bytes_of_task_[own], is_asked[own] = true;
      size_t d = task.size();
      while (d > 0 && ++task[d - 1] == part[d - 1].begin + part[d - 1].count) --d, task[d] = part[d].begin;
      if (d == 0) break;
    }
    for_each_written([&](int64_t owner) {
      if (owner < 0 || !is_asked[static_cast<size_t>(owner)])
        throw Wrong{"a range of tasks writes what belongs to others"};
      --missing;
    });
    if (missing != 0) throw Wrong{"a range of tasks does not write all that is its own"};
    return true;
  }

  static uint64_t drawn_seed() {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }

  const KernelCode& kernel_;
  const ir::PoolNest& nest_;
  const int64_t batch_;
  FingerprintDomain domain_{drawn_seed()};
  const InputFingerprints source_{domain_, nest_.channels};
  KernelMemory<FingerprintDomain, InputFingerprints> memory_;
  std::vector<Written> all_;
  int64_t steps_ = 0;  // of the whole
  int64_t count_ = 1;  // of all tasks
  int64_t left_ = 0;   // steps
  bool is_apart_ = true;
  std::vector<int64_t> bytes_of_task_;
  std::set<Ranges> done_;
};

// Of memory that a call may touch, gaps between elements among it.
int64_t bytes_of(const ir::PoolNest& nest, int64_t batch) {
  const auto bytes = [&](const ir::View& view, int64_t ir::NestDim::*extent) {
    return ir::reach(nest, view, batch, extent) * ir::bytes(view.dtype);
  };
  return bytes(nest.input, &ir::NestDim::input) + bytes(nest.output, &ir::NestDim::output) +
         (nest.indices ? bytes(*nest.indices, &ir::NestDim::output) : 0);
}

tl::unexpected<ir::Error> too_large(std::string_view what) {
  return ir::unsupported("prove.size", fmt::format("the tensor has too many {}", what),
                         "pooljit verify --limit raises what a proof may cost");
}

}  // namespace

ir::Result<BytesProof> prove_bytes(const KernelCode& kernel, const ir::PoolNest& nest, int64_t most_batches,
                                   ir::Isa isa, const BytesLimits& limits) {
  if (const auto has = ir::has_reading(nest); !has) return tl::unexpected(has.error());
  if (const auto ready = require_decoder(); !ready) return tl::unexpected(ready.error());
  POOLJIT_CHECK(most_batches <= std::numeric_limits<decltype(PlaneOf::n)>::max(), "too many batches");
  const int64_t batch = bytes_of(nest, most_batches) > limits.tensor_bytes ? 1 : most_batches;
  if (bytes_of(nest, batch) > limits.tensor_bytes) return too_large("bytes");
  // Where each plane is another kind, only small tensors are read; of others one run tells.
  if (ir::taps_of_planes(nest, 1) > limits.taps) return too_large("taps in a plane");
  try {
    BytesProof proof{.batch = batch};
    FingerprintRuns runs(kernel, nest, batch);
    std::vector<ir::PlaneIndex> planes = runs.whole(limits.steps);
    proof.kinds = std::ssize(planes);
    if (ir::taps_of_planes(nest, proof.kinds) > limits.taps)
      return too_large("taps in planes that are made in different ways");
    if (proof.kinds == batch * nest.channels) planes.clear();
    ir::TermGraph graph;
    const auto stored = run_symbolically(kernel, nest, batch, graph, {}, planes);
    if (!stored) return tl::unexpected(stored.error());
    const auto read = ir::prove_stored(*stored, graph, nest, batch, isa, /*is_legal=*/true, planes);
    if (!read) return tl::unexpected(read.error());
    proof.outputs = read->outputs / proof.kinds * batch * nest.channels;
    runs.ranges(limits.range_steps, proof);
    return proof;
  } catch (const TooManySteps&) {
    return too_large("instructions");
  } catch (const Refused& refused) {
    return tl::unexpected(refusal(kernel, refused));
  } catch (const Wrong& wrong) {
    return ir::invalid("prove.wrong", wrong.why);
  }
}

}  // namespace pooljit::jit::x86
