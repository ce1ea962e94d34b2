// Copies of the rows that all threads update most often, one set for each thread. The cache lines of a row that two
// cores update in turn travel between the cores with every update, which takes longer than the update. Those of a
// row with copies travel only when a thread has used its copy max_uses times: then it adds the changes of its copy to
// the table, and fetches those of the other threads.
//   copy_i     = the row as the thread has changed it;  original_i = the row when it was last fetched
//   exchange:  row_i += copy_i - original_i;  copy_i = original_i = row_i
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/buffer.h"
#include "kernels/vector.h"
#include "unit.h"

namespace tfw2v::TFW2V_ISA {

// Copies of the last rows of the nodes. In gensim's Huffman tree, a node has a larger number than its children, so
// these are the nodes near the root. The destructor adds the remaining changes to the table.
class HotNodes {
 public:
  // Returns the number of uses after which a copy is exchanged. Until then, a thread does not know the updates of the
  // other threads. To keep the updates of all threads from overshooting together, alpha times their number is limited.
  // Hidden layers that are sums, not means, are longer, and so are their updates. Below 2, copies are not worth their
  // cost.
  static int64_t max_uses(const Tfw2vOptions& o, float alpha, int64_t threads) {
    constexpr float kMaxStep = 0.8f;  // 32 updates with gensim's alpha
    constexpr int64_t kMaxThreads = 8;
    const float step = alpha * (o.mean || o.concatenated ? 1 : 8) * std::min(threads, kMaxThreads);
    return static_cast<int64_t>(kMaxStep / std::max(kMaxStep / (1 << 20), step));
  }

  // floats: floats from a node to the next.
  HotNodes(float* nodes, int64_t n_nodes, int64_t floats, int64_t max_uses)
      : n_copies_(std::min({n_nodes, kMaxNodes, kMaxFloats / floats})), first_(n_nodes - n_copies_), floats_(floats),
        max_uses_(max_uses), rows_(nodes + first_ * floats), copies_(n_copies_ * floats),
        originals_(n_copies_ * floats), uses_(n_copies_) {
    std::copy_n(rows_, n_copies_ * floats, +copies_);
    std::copy_n(rows_, n_copies_ * floats, +originals_);
  }
  HotNodes(const HotNodes&) = delete;
  ~HotNodes() {
    for (int64_t i = 0; i < n_copies_; ++i)
      if (uses_[i]) exchange(i);
  }

  bool has(int64_t node) const { return node >= first_; }

  // Returns the copy of a node, which the caller is going to update once.
  float* use(int64_t node) {
    const int64_t i = node - first_;
    if (uses_[i] == max_uses_) exchange(i);
    ++uses_[i];
    return copies_ + i * floats_;
  }

 private:
  // The copies must stay in the core's own cache. Each of the nodes after the first 255 is in less than one of 256
  // paths, so that it would be exchanged after thousands of tokens.
  static constexpr int64_t kMaxNodes = 256, kMaxFloats = 1 << 15;

  void exchange(int64_t i) {
    float *row = rows_ + i * floats_, *copy = copies_ + i * floats_, *original = originals_ + i * floats_;
    for (int64_t d = 0; d < floats_; d += W) {
      const Vector sum = load(row + d) + (load(copy + d) - load(original + d));
      for (float* to : {row, copy, original}) store(to + d, sum);
    }
    uses_[i] = 0;
  }

  const int64_t n_copies_, first_, floats_, max_uses_;
  float* const rows_;          // the first node that has a copy
  Buffer copies_, originals_;  // [copies, floats]
  std::vector<int> uses_;      // [copies] uses since the last exchange
};

}  // namespace tfw2v::TFW2V_ISA
