// The functions of `RowKernel`, for each type T of transferred rows:
//   T::bytes(size)                  bytes of a row of `size` elements
//   T::decode(from, size, with)     calls with(d, x) for each element x
//   T::encode(row, size, to, seed)  converts floats to T; with a seed, int8 is rounded at random
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/vector.h"
#include "rows/rows.h"

namespace tfw2v::TFW2V_ISA {

struct Bfloat16 {
  uint16_t bits;
};

static inline float to_float(float x) { return x; }
static inline float to_float(Bfloat16 x) {
  const uint32_t bits = uint32_t{x.bits} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static inline void from_float(float x, float& to) { to = x; }
static inline void from_float(float x, Bfloat16& to) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;  // to nearest, ties to even
  to.bits = static_cast<uint16_t>(x != x ? 0x7FC0 : rounded);
}

// Rows of `size` elements, each a T.
template <class T>
struct Elements {
  static int64_t bytes(int64_t size) { return size * sizeof(T); }
  template <class With>
  static void decode(const void* from, int64_t size, With with) {
    const T* __restrict elements = static_cast<const T*>(from);
    for (int64_t d = 0; d < size; ++d) with(d, to_float(elements[d]));
  }
  static void encode(const float* __restrict row, int64_t size, void* to, const uint32_t*) {
    T* __restrict elements = static_cast<T*>(to);
    for (int64_t d = 0; d < size; ++d) from_float(row[d], elements[d]);
  }
};

// A 32-bit hash (the finalizer of MurmurHash3).
static inline uint32_t scrambled(uint32_t x) {
  x = (x ^ x >> 16) * 0x85EBCA6Bu;
  x = (x ^ x >> 13) * 0xC2B2AE35u;
  return x ^ x >> 16;
}

// A row of int8: q[size], each in -127 .. 127, then the scale s = max |x| / 127. Element d is x = s q[d]. The
// scale is NaN if an element is infinite or NaN.
struct Int8 {
  static int64_t bytes(int64_t size) { return size + sizeof(float); }
  template <class With>
  static void decode(const void* from, int64_t size, With with) {
    const int8_t* __restrict q = static_cast<const int8_t*>(from);
    float scale;
    std::memcpy(&scale, q + size, sizeof scale);
    for (int64_t d = 0; d < size; ++d) with(d, scale * q[d]);
  }
  // q = x / s, rounded to nearest. With a seed, it is rounded up with probability x / s - floor(x / s), and
  // down otherwise.
  static void encode(const float* __restrict row, int64_t size, void* to, const uint32_t* seed) {
    int8_t* __restrict q = static_cast<int8_t*>(to);
    uint32_t max_bits = 0;  // bits of max |x|: bits of floats >= 0 have the order of their values, NaN last
    for (int64_t d = 0; d < size; ++d) {
      uint32_t bits;
      std::memcpy(&bits, row + d, sizeof bits);
      max_bits = std::max(max_bits, bits & 0x7FFFFFFF);
    }
    float max_size;
    std::memcpy(&max_size, &max_bits, sizeof max_size);
    const bool finite = max_bits < 0x7F800000;
    const float scale = finite ? max_size / 127 : NAN;
    const float inverse = finite && max_size > 1e-30f ? 127 / max_size : 0;  // so that 127 / max_size is finite
    for (int64_t d = 0; d < size; ++d) {
      float x = finite ? row[d] * inverse : 0;
      if (seed) {
        const uint32_t drawn = scrambled(*seed + static_cast<uint32_t>(d)) >> 8;
        x += static_cast<float>(drawn) * 0x1p-24f - 0.5f;
      }
      x = std::min(std::max(x, -127.f), 127.f) + 0x1.8p23f;  // rounds x: floats of this size are 1 apart
      int32_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      q[d] = static_cast<int8_t>(bits);
    }
    std::memcpy(q + size, &scale, sizeof scale);
  }
};

// Calls with(row, i) for each row ids[i]. Prefetches later rows, because rows are scattered over more memory
// than caches hold.
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
  each(table, ids, count, [&, size = table.size](const float* row, int64_t i) {
    T::encode(row, size, static_cast<char*>(to) + i * T::bytes(size), nullptr);
  });
}

template <class T>
void scatter(RowTable table, const int32_t* ids, int64_t count, const void* rows) {
  each(table, ids, count, [&, size = table.size](float* __restrict row, int64_t i) {
    T::decode(static_cast<const char*>(rows) + i * T::bytes(size), size, [&](int64_t d, float x) { row[d] = x; });
    std::memset(row + size, 0, (table.stride - size) * sizeof(float));
  });
}

// Reduces a change c to the fractions that are pushed, in place:
//   c = s_0 c + sum over k of (s_(k+1) - s_0) (c . b_k) b_k
// s: `shares`; b_k: row k of `basis`. c and b_k have `width` floats, a multiple of W.
static inline void take_share(const float* shares, const float* basis, int64_t width, float* change) {
  constexpr int kDirections = Share::kDirections;
  Vector products[kDirections] = {};
  for (int64_t d = 0; d < width; d += W)
    for (int k = 0; k < kDirections; ++k) products[k] += load(change + d) * load(basis + k * width + d);
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
void change(RowTable table, const int32_t* ids, int64_t count, const void* known, const Share& share, uint64_t key,
            void* to) {
  const int64_t width = (table.size + W - 1) / W * W;
  std::vector<float> changed(width), basis(share.levels ? Share::kDirections * width : 0);
  for (size_t k = 0; k < basis.size() / width; ++k)
    std::copy_n(share.basis + k * table.size, table.size, basis.data() + k * width);
  const uint32_t mixed = scrambled(static_cast<uint32_t>(key)) ^ static_cast<uint32_t>(key >> 32);
  each(table, ids, count, [&, size = table.size](const float* __restrict row, int64_t i) {
    float* __restrict change = changed.data();
    T::decode(static_cast<const char*>(known) + i * T::bytes(size), size,
              [&](int64_t d, float x) { change[d] = row[d] - x; });
    if (share.levels)
      take_share(share.shares + share.levels[ids[i]] * (1 + Share::kDirections), basis.data(), width, change);
    const uint32_t seed = scrambled(mixed + scrambled(static_cast<uint32_t>(ids[i])));
    T::encode(change, size, static_cast<char*>(to) + i * T::bytes(size), &seed);
  });
}

template <class T>
void add(RowTable table, const int32_t* ids, int64_t count, const void* changes) {
  each(table, ids, count, [&, size = table.size](float* __restrict row, int64_t i) {
    T::decode(static_cast<const char*>(changes) + i * T::bytes(size), size, [&](int64_t d, float x) { row[d] += x; });
  });
}

template <class T>
constexpr RowKernel kernel_of = {gather<T>, scatter<T>, change<T>, add<T>};

// In the order of `Wire`.
extern const RowKernel rows[3] = {kernel_of<Elements<float>>, kernel_of<Elements<Bfloat16>>, kernel_of<Int8>};

}  // namespace tfw2v::TFW2V_ISA
