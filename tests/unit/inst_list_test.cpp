// InstList: instructions in order, that lists hand over and threads use again.
#include "ir/inst_list.h"

#include <gtest/gtest.h>

#include <iterator>
#include <thread>
#include <utility>
#include <vector>

namespace pooljit::ir {
namespace {

// Something in every field, lists that do not fit into the instruction among them.
Inst full_inst() {
  return {.op = Op::shuffle,
          .args = {1, 2, 3, 4, 5},
          .results = {6, 7, 8, 9, 10},
          .addr = {11, {{12, 4}, {13, 8}, {14, 16}, {15, 32}, {16, 64}}, 17},
          .imm = 18,
          .data = {19, 20},
          .pred = Predicate::un,
          .saturate = true,
          .non_temporal = true};
}

InstList numbered(std::initializer_list<int64_t> numbers) {
  InstList list;
  for (const int64_t number : numbers) list.append(Op::iconst).imm = number;
  return list;
}

std::vector<int64_t> numbers(const InstList& list) {
  std::vector<int64_t> found;
  for (const Inst& inst : list) found.push_back(inst.imm);
  return found;
}

TEST(InstList, WhatIsUsedAgainIsAsNew) {
  for (int i = 0; i < 4; ++i) {
    const InstPtr inst = make_inst(Op::add);
    EXPECT_EQ(*inst, Inst{.op = Op::add});
    *inst = full_inst();
  }
}

TEST(InstList, CopiesStandAlone) {
  InstList list;
  list.push_back(full_inst());
  InstList copy = list;
  EXPECT_EQ(copy, list);
  copy[0].args[0] = 99;
  EXPECT_NE(copy, list);
  EXPECT_EQ(list[0], full_inst());
  copy = list;
  EXPECT_EQ(copy, list);
  list = std::move(copy);
  EXPECT_EQ(list[0], full_inst());
}

TEST(InstList, InsertsAndDrops) {
  InstList list = numbered({1, 2, 5, 6});
  list.insert(2, numbered({3, 4}));
  EXPECT_EQ(numbers(list), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  const Inst* const last = &list.back();
  list.drop_if([](const Inst& inst) { return inst.imm % 2 == 1; });
  EXPECT_EQ(numbers(list), (std::vector<int64_t>{2, 4, 6}));
  EXPECT_EQ(&list.back(), last) << "an instruction has moved";
  EXPECT_EQ(std::prev(list.end())->imm, 6);
}

TEST(InstList, HandsOver) {
  InstList from = numbered({1, 2, 3}), to;
  const Inst* const second = &from[1];
  for (const size_t i : {1U, 0U}) to.push_back(from.take(i));
  EXPECT_EQ(numbers(to), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(&to[0], second);
  EXPECT_EQ(from.size(), 3U);
  EXPECT_EQ(from[2].imm, 3);
}

// More than a thread keeps, ended by another thread than the one that made them.
TEST(InstList, EndsOnAnotherThread) {
  InstList list;
  for (int i = 0; i < 3000; ++i) list.push_back(full_inst());
  std::thread([ended = std::move(list)]() mutable { ended.clear(); }).join();
  EXPECT_EQ(*make_inst(Op::add), Inst{.op = Op::add});
}

// What a thread ends after its spare instructions went may still make some.
TEST(InstList, MadeAtTheVeryEndOfAThread) {
  struct Late {
    ~Late() { *list = numbered({1, 2, 3}); }
    InstList* list = nullptr;
  };
  InstList made;
  std::thread([&] {
    static thread_local Late late;  // before the first instruction, so it ends after what is kept of them
    late.list = &made;
    numbered({4, 5});
  }).join();
  EXPECT_EQ(numbers(made), (std::vector<int64_t>{1, 2, 3}));
}

}  // namespace
}  // namespace pooljit::ir
