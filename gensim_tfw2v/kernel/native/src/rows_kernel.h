// What `RowKernel` says, for rows of floats and of bfloat16.
#pragma once
#include <cstring>

#include "rows.h"

namespace tfw2v {
namespace TFW2V_ISA {

struct Bfloat16 {
  uint16_t bits;
};

static inline float wide(float x) { return x; }
static inline float wide(Bfloat16 x) {
  const uint32_t bits = uint32_t{x.bits} << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof wide);
  return wide;
}

static inline void narrow(float x, float& to) { to = x; }
static inline void narrow(float x, Bfloat16& to) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;  // to nearest, ties to even
  to.bits = static_cast<uint16_t>(x != x ? 0x7FC0 : rounded);
}

// Calls `with(row, i)` for each row. They are scattered over memory that no cache holds.
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
    for (int64_t d = 0; d < size; ++d) narrow(row[d], own[d]);
  });
}

template <class T>
void place(RowTable table, const int32_t* ids, int64_t count, const void* rows) {
  each(table, ids, count, [&, size = table.size](float* __restrict row, int64_t i) {
    const T* __restrict own = static_cast<const T*>(rows) + i * size;
    for (int64_t d = 0; d < size; ++d) row[d] = wide(own[d]);
    std::memset(row + size, 0, (table.stride - size) * sizeof(float));
  });
}

template <class T>
void change(RowTable table, const int32_t* ids, int64_t count, const void* known,
            const float* share, void* to) {
  each(table, ids, count, [&, size = table.size](const float* __restrict row, int64_t i) {
    const T* __restrict before = static_cast<const T*>(known) + i * size;
    T* __restrict own = static_cast<T*>(to) + i * size;
    const float factor = share ? share[ids[i]] : 1;
    for (int64_t d = 0; d < size; ++d) narrow((row[d] - wide(before[d])) * factor, own[d]);
  });
}

template <class T>
void add(RowTable table, const int32_t* ids, int64_t count, const void* changes) {
  each(table, ids, count, [&, size = table.size](float* __restrict row, int64_t i) {
    const T* __restrict own = static_cast<const T*>(changes) + i * size;
    for (int64_t d = 0; d < size; ++d) row[d] += wide(own[d]);
  });
}

// Of floats, and of bfloat16.
extern const RowKernel rows[2] = {{gather<float>, place<float>, change<float>, add<float>},
                           {gather<Bfloat16>, place<Bfloat16>, change<Bfloat16>, add<Bfloat16>}};

}  // namespace TFW2V_ISA
}  // namespace tfw2v
