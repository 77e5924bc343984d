// Code for all sizes is proved at some: how often each of its loops runs there, and at other sizes.
#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "ir/general/size_words.h"
#include "ir/interp/interpreter.h"
#include "ir/interp/number.h"
#include "ir/text.h"
#include "runtime/memory_view.h"
#include "runtime/native_code.h"
#include "runtime/split.h"
#include "tests/proof/subjects.h"

namespace pooljit::tests {
namespace {

// Which trip counts a loop was seen with.
enum Trips : uint8_t { none = 1, once = 2, often = 4 };

// A Program with two instructions more for each loop: one before it, and one at the head of its body. Their
// results follow the Program's own values.
ir::Program marked(const ir::Program& program) {
  ir::Program with_marks = program;
  with_marks.insts.clear();
  const auto mark = [&] {
    ir::Inst& inst = with_marks.insts.append(ir::Op::vconst);
    inst.results.push_back(static_cast<ir::Value>(with_marks.types.size()));
    inst.data = {0};
    with_marks.types.push_back(ir::Type::vec(ir::DType::i32, 1));
  };
  for (const ir::Inst& inst : program.insts) {
    const bool is_loop = inst.op == ir::Op::loop;
    if (is_loop) mark();
    with_marks.insts.push_back(inst);
    if (is_loop) mark();
  }
  return with_marks;
}

// Numbers that also count how often each loop's body runs.
class Counting : public ir::Numbers {
 public:
  Counting(const ir::Program& with_marks, size_t values)
      : Numbers(with_marks), values_(values), counts_((with_marks.types.size() - values) / 2, -1) {
    trips_.resize(counts_.size());
  }

  void compute(const ir::Inst& inst) {
    const auto result = static_cast<size_t>(inst.results[0]);
    if (result < values_) return Numbers::compute(inst);
    const size_t loop = (result - values_) / 2;
    if ((result - values_) % 2 == 1) {
      ++counts_[loop];
    } else {
      end(loop);
      counts_[loop] = 0;
    }
  }

  // By loop, in the order of the Program.
  std::vector<int> trips() {
    for (size_t loop = 0; loop < counts_.size(); ++loop) end(loop);
    return trips_;
  }

 private:
  void end(size_t loop) {
    if (counts_[loop] >= 0) trips_[loop] |= counts_[loop] == 0 ? none : counts_[loop] == 1 ? once : often;
  }

  size_t values_;
  std::vector<int64_t> counts_;  // of the loop's current run; -1: it was not reached
  std::vector<int> trips_;
};

std::vector<int> trips_at(const Subject& subject, const ir::Program& with_marks, const SubjectSize& place) {
  const runtime::MemoryView views[] = {runtime::input_view(place.nest, 1),
                                       runtime::output_view(place.nest, 1),
                                       runtime::indices_view(place.nest, 1)};
  std::vector<std::byte> memory[std::size(views)];
  for (size_t i = 0; i < std::size(views); ++i) memory[i].resize(static_cast<size_t>(views[i].span_bytes()));
  const runtime::Call call{.input = memory[0].data(),
                           .output = memory[1].data(),
                           .indices = memory[2].data(),
                           .batch = 1,
                           .sized = &place.nest,
                           .sizes = place.words};
  std::vector<int64_t> extents;
  for (const ir::TaskDim& task : subject.program.tasks)
    extents.push_back(ir::task_count(task, place.nest, 1));
  uint64_t args[ir::most_params];
  fill_arguments(with_marks.params, with_marks.tables, call, runtime::Grid(extents, 1).ranges(0), args);
  std::vector<ir::Region> sizes;
  for (const std::vector<int64_t>& words : place.words) sizes.push_back({std::ssize(words) * 8});
  const ir::MemoryMap map{
      {views[0].span_bytes()}, {views[1].span_bytes()}, {views[2].span_bytes()}, {}, sizes};
  Counting counting(with_marks, subject.program.types.size());
  const auto done =
      ir::Interpreter<Counting>(with_marks, {args, with_marks.params.size()}, map, counting).run();
  EXPECT_TRUE(done) << to_string(done.error());
  return counting.trips();
}

// Each free dim long, the others as short as they can be, and all of them together.
std::vector<std::vector<int64_t>> many_sizes(const frontend::PoolSpec& spec) {
  constexpr int64_t one_by_one = 72, step = 37, most = 1300, most_of_all = 24;
  std::vector<int64_t> least;
  for (const frontend::SpecDim& dim : spec.dims) least.push_back(dim.input);
  std::vector<std::vector<int64_t>> sizes;
  for (int64_t extent = 1; extent <= most; extent += extent < one_by_one ? 1 : step) {
    std::vector<int64_t> all = least;
    for (size_t i = 0; i < least.size(); ++i) {
      if (!spec.dims[i].is_free) continue;
      all[i] = extent;
      std::vector<int64_t>& size = sizes.emplace_back(least);
      size[i] = extent;
    }
    if (extent <= most_of_all) sizes.push_back(all);
  }
  std::erase_if(sizes, [&](const std::vector<int64_t>& size) { return !with_sizes(spec, size); });
  return sizes;
}

std::string loop_text(const ir::Program& program, size_t number) {
  for (const ir::Inst& inst : program.insts)
    if (inst.op == ir::Op::loop && number-- == 0) return print(program, inst);
  return "";
}

// Loops run no time, once or more often, and do at a size that is proved what they do at any.
TEST(Loops, RunAsOftenAtSizesThatAreProved) {
  for (uint64_t number = 0; number < subject_count(); ++number) {
    if (!is_of_all_sizes(number)) continue;
    const auto subject = make_subject(number);
    ASSERT_TRUE(subject) << layer_of_subject(number);
    const ir::Program with_marks = marked(subject->program);
    std::vector<int> proved;
    for (const SubjectSize& place : places_of(*subject)) {
      const std::vector<int> trips = trips_at(*subject, with_marks, place);
      proved.resize(trips.size());
      for (size_t loop = 0; loop < trips.size(); ++loop) proved[loop] |= trips[loop];
    }
    for (const SubjectSize& place : places_at(*subject, many_sizes(subject->spec))) {
      const std::vector<int> trips = trips_at(*subject, with_marks, place);
      for (size_t loop = 0; loop < trips.size(); ++loop) {
        EXPECT_EQ(trips[loop] & ~proved[loop], 0)
            << print(place.spec) << " " << ir::info(subject->choices.isa).text << ": loop " << loop << ": "
            << loop_text(subject->program, loop);
        proved[loop] |= trips[loop];
      }
    }
  }
}

}  // namespace
}  // namespace pooljit::tests
