#pragma once
// Holds objects of one kind in an arena's memory, so that making them costs no allocation. Their addresses stay.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "src/base/arena.h"
#include "src/base/check.h"

namespace granary::base {

/// A batch with room for as many objects as it was made for. If its objects have destructors, it must end before its
/// arena is cleared.
template <typename T>
class Batch {
 public:
  static_assert(alignof(T) <= Arena::kAlignment);

  Batch(Arena& arena, std::size_t capacity)
      : first_(reinterpret_cast<T*>(arena.allocate(capacity * sizeof(T)))),
        capacity_(capacity) {}
  ~Batch() { std::destroy(begin(), end()); }
  /// `other` is empty afterwards.
  Batch(Batch&& other) noexcept
      : first_(other.first_),
        capacity_(other.capacity_),
        size_(std::exchange(other.size_, 0)) {}
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    debug_check(size_ < capacity_, "a batch has room for what it was made for");
    return *new (first_ + size_++) T(std::forward<Arguments>(arguments)...);
  }
  void push_back(const T& item) { emplace_back(item); }
  template <typename Drop>
  void erase_if(Drop&& drop) {
    T* const last = std::remove_if(begin(), end(), drop);
    std::destroy(last, end());
    size_ = static_cast<std::size_t>(last - first_);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T* data() { return first_; }
  T* begin() { return first_; }
  T* end() { return first_ + size_; }
  const T* data() const { return first_; }
  const T* begin() const { return first_; }
  const T* end() const { return first_ + size_; }
  T& operator[](std::size_t i) { return first_[i]; }
  const T& operator[](std::size_t i) const { return first_[i]; }

 private:
  T* const first_;
  const std::size_t capacity_;
  std::size_t size_ = 0;
};

}  // namespace granary::base
