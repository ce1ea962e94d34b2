// Initial rows of a table, which are drawn where the table is: a parameter server draws only its own rows.
#pragma once
#include <cstdint>

namespace tfw2v {

// NumPy's generator PCG64: a linear congruential generator of 128 bits, whose output is a rotated xor of the halves of
// its state (PCG XSL RR 128/64).
class Pcg64 {
 public:
  // `words` has the state and the increment of NumPy's generator, the low half of each first.
  explicit Pcg64(const uint64_t* words) : state_(join(words)), increment_(join(words + 2)) {}

  // Returns the next number.
  uint64_t next() {
    state_ = state_ * kMultiplier + increment_;
    const uint64_t high = static_cast<uint64_t>(state_ >> 64), bits = high ^ static_cast<uint64_t>(state_);
    const int shift = static_cast<int>(high >> 58);
    return bits >> shift | bits << (-shift & 63);
  }

  // Skips n numbers.
  void skip(uint64_t n) {
    unsigned __int128 factor = 1, sum = 0, step_factor = kMultiplier, step_sum = increment_;
    for (; n; n >>= 1) {  // step_factor and step_sum are those of 1, 2, 4, ... numbers
      if (n & 1) factor *= step_factor, sum = sum * step_factor + step_sum;
      step_sum *= step_factor + 1;
      step_factor *= step_factor;
    }
    state_ = state_ * factor + sum;
  }

 private:
  static unsigned __int128 join(const uint64_t* words) {
    return static_cast<unsigned __int128>(words[1]) << 64 | words[0];
  }
  static constexpr unsigned __int128 kMultiplier =
      static_cast<unsigned __int128>(0x2360ED051FC65DA4) << 64 | 0x4385DF649FCCF645;
  unsigned __int128 state_, increment_;
};

// Draws the rows first, first + step, ... of gensim's initial vectors, `n_rows` in all: [n_rows, size], uniform from
// -1 / size to 1 / size. `generator` has the arguments of Pcg64. Element e of all rows, counted row by row, is one half
// of the generator's number e / 2.
void draw_initial_rows(const uint64_t* generator, int64_t first, int64_t step, int64_t n_rows, int64_t size,
                       float* rows);

}  // namespace tfw2v
