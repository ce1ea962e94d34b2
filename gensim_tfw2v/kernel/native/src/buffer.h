// Memory for what is computed on the way.
#pragma once

#include <cstdint>
#include <vector>

namespace tfw2v::TFW2V_ISA {

constexpr int64_t rounded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Floats that begin at a cache line: zeros at first.
class Buffer {
 public:
  explicit Buffer(int64_t floats = 0) { of(floats); }
  Buffer(const Buffer&) = delete;  // it would point into the other's memory

  // As many as that; others may have moved.
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
