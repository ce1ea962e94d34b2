#include "shards/row_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "unit.h"

namespace tfw2v {

namespace {

constexpr int64_t kPiece = 1 << 23;  // bytes that are read or written at a time

// An open file, which the destructor closes.
struct File {
  int descriptor;
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
};

}  // namespace

uint64_t checksum(uint64_t sum, const void* bytes, int64_t size) {
  const auto* from = static_cast<const char*>(bytes);
  // An odd factor makes the sum depend on each bit and on the order of the words.
  for (; size > 0; from += 8, size -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, from, std::min<int64_t>(size, 8));
    sum = sum * 0x9E3779B97F4A7C15 + word;
  }
  return sum;
}

int write_file(const std::string& path, int64_t offset, const void* bytes, int64_t size) {
  File file = {open(path.c_str(), O_WRONLY | O_CLOEXEC | (offset ? 0 : O_CREAT | O_TRUNC), 0666)};
  if (file.descriptor < 0) return errno;
  const auto* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t n = pwrite(file.descriptor, from, std::min(size, kPiece), offset);
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) from += n, offset += n, size -= n;
  }
  if (fsync(file.descriptor) < 0) return errno;
  const int descriptor = file.descriptor;
  file.descriptor = -1;
  return close(descriptor) < 0 ? errno : 0;  // network file systems report a full disk here
}

int read_file(const std::string& path, int64_t offset, void* bytes, int64_t size) {
  const File file = {open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.descriptor < 0) return errno;
  auto* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t n = pread(file.descriptor, to, std::min(size, kPiece), offset);
    if (n < 0 && errno != EINTR) return errno;
    if (!n) return kTruncated;
    if (n > 0) to += n, offset += n, size -= n;
  }
  return 0;
}

}  // namespace tfw2v

extern "C" {

TFW2V_EXPORT int64_t tfw2v_checksum(int64_t sum, const void* bytes, int64_t size) noexcept {
  return static_cast<int64_t>(tfw2v::checksum(static_cast<uint64_t>(sum), bytes, size));
}

}  // extern "C"
