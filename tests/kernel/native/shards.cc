// Checks the initial rows and the files of parameter servers. Prints an error message for each difference.
#include <cerrno>
#include <cstdio>
#include <vector>

#include "shards/initial_rows.h"
#include "shards/row_files.h"

namespace {

void check(bool is_right, const char* what, int64_t number) {
  if (!is_right) std::printf("%s: %lld\n", what, static_cast<long long>(number));
}

constexpr uint64_t kGenerator[4] = {0x123456789ABCDEF0, 42, 0xF0E1D2C3B4A59687, 0x1122334455667789};

void skipped_numbers_are_those_in_between() {
  for (const uint64_t n : {0, 1, 2, 3, 17, 1000}) {
    tfw2v::Pcg64 one(kGenerator), other(kGenerator);
    for (uint64_t i = 0; i < n; ++i) one.next();
    other.skip(n);
    check(one.next() == other.next(), "skip", n);
  }
}

void some_rows_are_those_of_all() {
  for (const int64_t size : {1, 2, 3, 8, 33}) {
    std::vector<float> all(50 * size);
    tfw2v::draw_initial_rows(kGenerator, 0, 1, 50, size, all.data());
    for (const int64_t step : {1, 2, 7}) {
      for (int64_t first = 0; first < step; ++first) {
        const int64_t n_rows = (50 - first + step - 1) / step;
        std::vector<float> rows(n_rows * size);
        tfw2v::draw_initial_rows(kGenerator, first, step, n_rows, size, rows.data());
        for (int64_t i = 0; i < n_rows * size; ++i) {
          const float expected = all[(first + i / size * step) * size + i % size];
          check(rows[i] == expected && rows[i] >= -1.f / size && rows[i] < 1.f / size, "row", size);
        }
      }
    }
  }
}

void read_bytes_are_those_written(const std::string& path) {
  std::vector<char> bytes((1 << 23) + 13), read(bytes.size());  // more than are written at a time
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i % 251);
  const int64_t size = bytes.size(), half = size / 16 * 8;
  check(!tfw2v::write_file(path, 0, "header", 6), "write", 0);
  check(!tfw2v::write_file(path, 6, bytes.data(), half), "write", 1);
  check(!tfw2v::write_file(path, 6 + half, bytes.data() + half, size - half), "write", 2);
  check(!tfw2v::read_file(path, 6, read.data(), size) && read == bytes, "read", 0);
  check(tfw2v::read_file(path, 7, read.data(), size) == tfw2v::kTruncated, "truncated", 0);
  check(tfw2v::read_file(path + "-missing", 0, read.data(), 1) == ENOENT, "missing", 0);
  check(tfw2v::write_file(path + "/file", 0, read.data(), 1) == ENOTDIR, "not a folder", 0);
  const uint64_t sum = tfw2v::checksum(0, bytes.data(), size);
  check(tfw2v::checksum(tfw2v::checksum(0, bytes.data(), half), bytes.data() + half, size - half) == sum, "pieces",
        0);
  for (const int64_t i : {int64_t{0}, half, size - 1}) {
    bytes[i] ^= 1;
    check(tfw2v::checksum(0, bytes.data(), size) != sum, "checksum", i);
    bytes[i] ^= 1;
  }
  check(!tfw2v::write_file(path, 0, "a", 1), "write", 3);  // the file is emptied
  check(tfw2v::read_file(path, 1, read.data(), 1) == tfw2v::kTruncated, "emptied", 0);
}

}  // namespace

int main(int, char** arguments) {
  skipped_numbers_are_those_in_between();
  some_rows_are_those_of_all();
  read_bytes_are_those_written(arguments[1]);
}
