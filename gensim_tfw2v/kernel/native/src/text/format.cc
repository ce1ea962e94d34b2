// Formatting of vectors as text.
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "unit.h"

// Compiled only if the standard library can format floats, as GCC's from version 11 on and LLVM's can. With
// other libraries, gensim's code formats the vectors.
#if __cpp_lib_to_chars || _LIBCPP_AVAILABILITY_HAS_TO_CHARS_FLOATING_POINT

namespace {

constexpr int kMaxBytes = 15;  // maximum bytes of a number, such as -1.17549435e-38

// Writes the same text as str(numpy.float32(x)): the shortest one that reads back as x. Returns its end.
char* write_number(char* to, float x) {
  const float size = std::fabs(x);
  const bool is_fixed = size == 0 || (size >= 1e-4 && size < 1e6);
  const auto layout = is_fixed ? std::chars_format::fixed : std::chars_format::scientific;
  to = std::to_chars(to, to + kMaxBytes, std::isnan(x) ? NAN : x, layout).ptr;  // NAN has no sign or payload
  if (is_fixed && size == std::floor(size)) *to++ = '.', *to++ = '0';
  return to;
}

}  // namespace

extern "C" {

// Writes n_rows lines to `to`. A line is a word and `size` numbers, each after a blank. Word i ends at words +
// ends[i], where the next word starts. `to` needs room for the words, and for 16 * size + 1 bytes per line.
// Returns the number of bytes written.
TFW2V_EXPORT int64_t tfw2v_format_rows(const char* words, const int64_t* ends, const float* rows, int64_t n_rows,
                                       int64_t size, char* to) noexcept {
  const char* const start = to;
  int64_t word_start = 0;
  for (int64_t i = 0; i < n_rows; word_start = ends[i++]) {
    std::memcpy(to, words + word_start, ends[i] - word_start);
    to += ends[i] - word_start;
    for (int64_t d = 0; d < size; ++d) {
      *to++ = ' ';
      to = write_number(to, *rows++);
    }
    *to++ = '\n';
  }
  return to - start;
}

}  // extern "C"

#endif
