// Aligned memory for intermediate results.
#pragma once

#include <cstdint>
#include <vector>

#include "checked.h"

namespace tfw2v::TFW2V_ISA {

// n rounded up to a multiple of `to`.
constexpr int64_t rounded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// An array of floats that begins at a cache line (64 bytes). It is 0 when constructed.
class Buffer {
 public:
  explicit Buffer(int64_t floats = 0) { of(floats); }
  Buffer(const Buffer&) = delete;  // begin_ would point into the source's memory

  // Returns at least `floats` floats. If the array has to grow, it moves, and its content is undefined.
  float* of(int64_t floats) {
#if defined(TFW2V_CHECKED)
    size_ = floats;
#endif
    if (static_cast<int64_t>(memory_.size()) < floats + 16) memory_.resize(floats + 16);
    const uintptr_t at = reinterpret_cast<uintptr_t>(memory_.data());
    return begin_ = reinterpret_cast<float*>((at + 63) & ~uintptr_t{63});
  }
  operator float*() const { return begin_; }

#if defined(TFW2V_CHECKED)
  // Returns whether `n_floats` floats from `first` on are within the array that the last call of of() returned.
  bool has(const float* first, int64_t n_floats) const {
    return first >= begin_ && n_floats <= size_ - (first - begin_);
  }
#endif

 private:
  std::vector<float> memory_;
  float* begin_;
#if defined(TFW2V_CHECKED)
  int64_t size_;
#endif
};

}  // namespace tfw2v::TFW2V_ISA
