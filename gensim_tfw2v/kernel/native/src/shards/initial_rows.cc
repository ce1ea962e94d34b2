#include "shards/initial_rows.h"

namespace tfw2v {

void draw_initial_rows(const uint64_t* generator, int64_t first, int64_t step, int64_t n_rows, int64_t size,
                       float* rows) {
  for (int64_t i = 0; i < n_rows; ++i) {
    const uint64_t element = static_cast<uint64_t>(first + i * step) * size;
    Pcg64 numbers(generator);
    numbers.skip(element / 2);
    uint64_t number = 0;
    for (int64_t d = 0; d < size; ++d) {
      const bool is_high = (element + d) & 1;
      if (!is_high || !d) number = numbers.next();
      const uint32_t half = static_cast<uint32_t>(is_high ? number >> 32 : number);
      const float share = static_cast<float>(half >> 8) * (1.0f / (1 << 24));  // from 0 up to 1
      *rows++ = (2.0f * share - 1.0f) / static_cast<float>(size);
    }
  }
}

}  // namespace tfw2v
