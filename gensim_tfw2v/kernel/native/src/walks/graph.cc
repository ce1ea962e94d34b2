#include "walks/graph.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tfw2v {

template <class T>
const char* Graph::section(int64_t at, int64_t n, const T*& array) {
  array = nullptr;
  if (!at) return nullptr;
  if (at % alignof(T) || at < static_cast<int64_t>(sizeof(WalkHeader)) || n < 0 || at > size_ ||
      n > (size_ - at) / static_cast<int64_t>(sizeof(T)))
    return "an array of the file of walks is outside of the file";
  array = reinterpret_cast<const T*>(data_ + at);
  return nullptr;
}

const char* Graph::open(const uint8_t* data, int64_t size) {
  data_ = data, size_ = size;
  header_ = reinterpret_cast<const WalkHeader*>(data);
  if (size < static_cast<int64_t>(sizeof(WalkHeader)) || header_->magic != kWalkMagic)
    return "the file is not a file of walks of this version";
  const WalkHeader& h = *header_;
  if (h.n_bytes != size) return "the file of walks is cut short";
  if (h.walk_length < 1 || h.walk_length > INT32_MAX || h.n_nodes < 1 || h.n_arcs < 0 || h.n_names < h.n_nodes ||
      h.n_names > INT32_MAX || h.n_types < 1 || h.n_types > INT32_MAX || (h.metapath_at && h.n_metapath < 1) ||
      !h.offsets_at)
    return "the numbers in the file of walks are invalid";
  for (const char* error :
       {section(h.offsets_at, h.n_nodes * h.n_types + 1, offsets), section(h.neighbours_at, h.n_arcs, neighbours),
        section(h.alias_at, h.n_arcs, alias), section(h.weights_at, h.n_arcs, weights),
        section(h.thresholds_at, h.n_nodes, thresholds), section(h.starts_at, h.n_starts, starts),
        section(h.metapath_at, h.n_metapath, metapath), section(h.relations_at, h.n_arcs, relations)})
    if (error) return error;
  return nullptr;
}

void alias_table(const int64_t* offsets, int64_t n_rows, const float* weights, uint32_t* alias) {
  std::vector<double> shares;
  std::vector<uint32_t> small, large;
  for (int64_t row = 0; row < n_rows; ++row) {
    const int64_t begin = offsets[row], degree = offsets[row + 1] - begin;
    if (!degree) continue;
    double sum = 0;
    for (int64_t i = 0; i < degree; ++i) sum += weights[begin + i];
    const int bits = degree > 1 ? 64 - __builtin_clzll(degree - 1) : 0;
    const uint64_t whole = uint64_t{1} << (32 - bits);
    shares.clear(), small.clear(), large.clear();
    for (int64_t i = 0; i < degree; ++i) {
      shares.push_back(weights[begin + i] / sum * degree);
      (shares[i] < 1 ? small : large).push_back(i);
      alias[begin + i] = bits ? static_cast<uint32_t>((whole - 1) << bits | i) : 0;  // this arc itself
    }
    while (!small.empty() && !large.empty()) {
      const uint32_t from = small.back(), to = large.back();
      small.pop_back();
      // the coin is a number in 0 .. whole - 1, and is kept if it is at most this one
      const int64_t kept = std::llround(shares[from] * whole) - 1;
      alias[begin + from] = static_cast<uint32_t>(std::clamp<int64_t>(kept, 0, whole - 1)) << bits | to;
      shares[to] -= 1 - shares[from];
      if (shares[to] < 1) small.push_back(to), large.pop_back();
    }
  }
}

}  // namespace tfw2v
