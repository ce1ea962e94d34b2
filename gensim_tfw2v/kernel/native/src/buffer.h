// Aligned memory for intermediate results.
#pragma once

#include <cstdint>
#include <vector>

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
    if (static_cast<int64_t>(held_.size()) < floats + 16) held_.resize(floats + 16);
    const uintptr_t at = reinterpret_cast<uintptr_t>(held_.data());
    return begin_ = reinterpret_cast<float*>((at + 63) & ~uintptr_t{63});
  }
  operator float*() const { return begin_; }

 private:
  std::vector<float> held_;
  float* begin_;
};

}  // namespace tfw2v::TFW2V_ISA
