// InstList: the instructions of a Program, in order. An instruction stays where it is in memory while lists
// hand it over: lowering and the passes move, insert and drop hundreds of them in a compile. A thread keeps
// up to 1024 dropped instructions, with their lists' memory, for reuse.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <vector>

#include "ir/inst.h"

namespace pooljit::ir {

struct InstRecycler {  // of what make_inst made
  void operator()(Inst* inst) const noexcept;
};
using InstPtr = std::unique_ptr<Inst, InstRecycler>;
InstPtr make_inst(Op op);

class InstList {
  template <typename Value, typename Pointer>
  class Iterator {
   public:
    using value_type = Inst;
    using reference = Value&;
    using pointer = Value*;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::bidirectional_iterator_tag;
    Iterator() = default;
    explicit Iterator(Pointer* at) : at_(at) {}
    Value& operator*() const { return **at_; }
    Value* operator->() const { return at_->get(); }
    Iterator& operator++() { return ++at_, *this; }
    Iterator operator++(int) { return Iterator(at_++); }
    Iterator& operator--() { return --at_, *this; }
    Iterator operator--(int) { return Iterator(at_--); }
    bool operator==(const Iterator&) const = default;

   private:
    Pointer* at_ = nullptr;
  };

 public:
  using value_type = Inst;
  using iterator = Iterator<Inst, InstPtr>;
  using const_iterator = Iterator<const Inst, const InstPtr>;

  InstList() = default;
  InstList(std::initializer_list<Inst> insts);
  InstList(const InstList& other);
  InstList(InstList&&) noexcept = default;
  ~InstList() = default;
  InstList& operator=(const InstList& other);
  InstList& operator=(InstList&&) noexcept = default;

  size_t size() const { return insts_.size(); }
  bool empty() const { return insts_.empty(); }
  Inst& operator[](size_t i) { return *insts_[i]; }
  const Inst& operator[](size_t i) const { return *insts_[i]; }
  Inst& back() { return *insts_.back(); }
  const Inst& back() const { return *insts_.back(); }
  iterator begin() { return iterator(insts_.data()); }
  iterator end() { return iterator(insts_.data() + size()); }
  const_iterator begin() const { return const_iterator(insts_.data()); }
  const_iterator end() const { return const_iterator(insts_.data() + size()); }
  bool operator==(const InstList& other) const;

  void reserve(size_t count) { insts_.reserve(count); }
  void clear() { insts_.clear(); }
  // A new one at the end, with nothing but its op.
  Inst& append(Op op) { return *insts_.emplace_back(make_inst(op)); }
  void push_back(InstPtr inst) { insts_.push_back(std::move(inst)); }
  void push_back(const Inst& inst) { append(inst.op) = inst; }
  // Takes instruction i out; its place stays, with nothing in it, until the list is cleared or goes.
  InstPtr take(size_t i) { return std::move(insts_[i]); }
  // All of the others before instruction `at`.
  void insert(size_t at, InstList&& others);
  template <typename Drops>
  void drop_if(const Drops& drops) {
    std::erase_if(insts_, [&](const InstPtr& inst) { return drops(*inst); });
  }

 private:
  std::vector<InstPtr> insts_;
};

}  // namespace pooljit::ir
