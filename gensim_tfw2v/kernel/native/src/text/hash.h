// Hash function for the hash tables of words and of integers.
#pragma once

#include <cstdint>

namespace tfw2v {

// Multiplies by a constant, and returns the xor of the two halves of the 128-bit product.
inline uint64_t hash(uint64_t bits) {
  const auto product = static_cast<unsigned __int128>(bits) * 0x9E3779B97F4A7C15;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace tfw2v
