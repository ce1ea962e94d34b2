// The functions of `RowKernel`, for rows of float and of bfloat16.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "rows.h"
#include "vector.h"

namespace tfw2v::TFW2V_ISA {

struct Bfloat16 {
  uint16_t bits;
};

static inline float to_float(float x) { return x; }
static inline float to_float(Bfloat16 x) {
  const uint32_t bits = uint32_t{x.bits} << 16;
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

static inline void from_float(float x, float& to) { to = x; }
static inline void from_float(float x, Bfloat16& to) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;  // to nearest, ties to even
  to.bits = static_cast<uint16_t>(x != x ? 0x7FC0 : rounded);
}

// Calls with(row, i) for each row ids[i], and prefetches: rows are scattered over more memory than
// caches hold.
template <class With>
static inline void each(RowTable table, const int32_t* ids, int64_t count, With with) {
  constexpr int64_t kAhead = 8;
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count)
      for (int64_t d = 0; d < table.size; d += 16)
        __builtin_prefetch(table.rows + ids[i + kAhead] * table.stride + d);
    with(table.rows + ids[i] * table.stride, i);
  }
}

template <class T>
void gather(RowTable table, const int32_t* ids, int64_t count, void* to) {
  each(table, ids, count, [&, size = table.size](const float* __restrict row, int64_t i) {
    T* __restrict own = static_cast<T*>(to) + i * size;
    for (int64_t d = 0; d < size; ++d) from_float(row[d], own[d]);
  });
}

template <class T>
void scatter(RowTable table, const int32_t* ids, int64_t count, const void* rows) {
  each(table, ids, count, [&, size = table.size](float* __restrict row, int64_t i) {
    const T* __restrict own = static_cast<const T*>(rows) + i * size;
    for (int64_t d = 0; d < size; ++d) row[d] = to_float(own[d]);
    std::memset(row + size, 0, (table.stride - size) * sizeof(float));
  });
}

// Reduces a change c to the fractions that are pushed, in place:
//   c = s_0 c + sum over k of (s_(k+1) - s_0) (c . b_k) b_k
// s: `shares`; b_k: row k of `basis`. c and b_k have `width` floats, a multiple of W.
static inline void take_share(const float* shares, const float* basis, int64_t width,
                              float* change) {
  constexpr int kDirections = Share::kDirections;
  Vector products[kDirections] = {};
  for (int64_t d = 0; d < width; d += W)
    for (int k = 0; k < kDirections; ++k)
      products[k] += load(change + d) * load(basis + k * width + d);
  float factors[kDirections];
  for (int k = 0; k < kDirections; k += W)
    store(factors + k, reduce_lanes(products + k) * (load(shares + 1 + k) - shares[0]));
  for (int64_t d = 0; d < width; d += W) {
    Vector sum = shares[0] * load(change + d);
    for (int k = 0; k < kDirections; ++k) sum += factors[k] * load(basis + k * width + d);
    store(change + d, sum);
  }
}

template <class T>
void change(RowTable table, const int32_t* ids, int64_t count, const void* known,
            const Share& share, void* to) {
  const int64_t width = (table.size + W - 1) / W * W;
  std::vector<float> changed(width), basis(share.levels ? Share::kDirections * width : 0);
  for (size_t k = 0; k < basis.size() / width; ++k)
    std::copy_n(share.basis + k * table.size, table.size, basis.data() + k * width);
  each(table, ids, count, [&, size = table.size](float* __restrict row, int64_t i) {
    const T* __restrict before = static_cast<const T*>(known) + i * size;
    T* __restrict own = static_cast<T*>(to) + i * size;
    float* __restrict change = changed.data();
    for (int64_t d = 0; d < size; ++d) change[d] = row[d] - to_float(before[d]);
    if (share.levels)
      take_share(share.shares + share.levels[ids[i]] * (1 + Share::kDirections), basis.data(),
                 width, change);
    for (int64_t d = 0; d < size; ++d) from_float(change[d], own[d]);
  });
}

template <class T>
void add(RowTable table, const int32_t* ids, int64_t count, const void* changes) {
  each(table, ids, count, [&, size = table.size](float* __restrict row, int64_t i) {
    const T* __restrict own = static_cast<const T*>(changes) + i * size;
    for (int64_t d = 0; d < size; ++d) row[d] += to_float(own[d]);
  });
}

// For rows of float, and of bfloat16.
extern const RowKernel rows[2] = {{gather<float>, scatter<float>, change<float>, add<float>},
                           {gather<Bfloat16>, scatter<Bfloat16>, change<Bfloat16>, add<Bfloat16>}};

}  // namespace tfw2v::TFW2V_ISA
