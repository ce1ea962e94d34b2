// Files to which parameter servers write their rows.
#pragma once
#include <cstdint>
#include <string>

namespace tfw2v {

// Returns the checksum of bytes that are passed in pieces: `sum` is that of the pieces before, at first 0. The size of
// each piece but the last must be a multiple of 8.
uint64_t checksum(uint64_t sum, const void* bytes, int64_t size);

// Writes `size` bytes to an offset of a file. If the offset is 0, the file is created, or emptied. The bytes are on the
// disk when the function returns. Returns 0 or an errno.
int write_file(const std::string& path, int64_t offset, const void* bytes, int64_t size);

// Reads `size` bytes from an offset of a file. Returns 0, an errno, or kTruncated if the file is shorter.
constexpr int kTruncated = -1;
int read_file(const std::string& path, int64_t offset, void* bytes, int64_t size);

}  // namespace tfw2v
