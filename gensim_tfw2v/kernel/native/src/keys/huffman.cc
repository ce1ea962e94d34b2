// Huffman tree of hierarchical softmax, the same as gensim's, in 4 bytes per word and per node.
//
// Elements of a tree are its V words, then its nodes. `branches` contains for each element the branch that leads to
// it, 2 * node + code, or kNoBranch for the root and for words without a place in the tree.
#include <vector>

#include "guard.h"
#include "unit.h"

namespace tfw2v {

namespace {

constexpr uint32_t kNoBranch = UINT32_MAX;

struct Item {
  int64_t count;
  uint32_t element;
};

// Binary heap that moves items as Python's heapq does. Items are compared by their counts only, so these moves decide
// which of several words with equal counts gensim joins first.
class Heap {
 public:
  Heap(const int64_t* counts, int64_t n_words) : items_(n_words) {
    for (int64_t word = 0; word < n_words; ++word) items_[word] = {counts[word], static_cast<uint32_t>(word)};
    for (int64_t i = n_words / 2; i-- > 0;) sift_up(i);
  }

  // Removes and returns the smallest item.
  Item pop() {
    const Item last = items_.back();
    items_.pop_back();
    if (items_.empty()) return last;
    const Item smallest = items_[0];
    items_[0] = last;
    sift_up(0);
    return smallest;
  }

  void push(Item item) {
    items_.push_back(item);
    sift_down(0, items_.size() - 1);
  }

 private:
  // Moves the item at `i` to a leaf, along the smaller children, and from there to its place.
  void sift_up(int64_t i) {
    const int64_t size = items_.size(), start = i;
    const Item item = items_[i];
    for (int64_t child = 2 * i + 1; child < size; child = 2 * i + 1) {
      if (4 * child + 3 < size) __builtin_prefetch(&items_[4 * child + 3]);
      if (child + 1 < size && !(items_[child].count < items_[child + 1].count)) ++child;
      items_[i] = items_[child];
      i = child;
    }
    items_[i] = item;
    sift_down(start, i);
  }

  // Moves the item at `i` towards `start`, as long as it is smaller than its parent.
  void sift_down(int64_t start, int64_t i) {
    const Item item = items_[i];
    while (i > start) {
      const int64_t parent = (i - 1) / 2;
      if (!(item.count < items_[parent].count)) break;
      items_[i] = items_[parent];
      i = parent;
    }
    items_[i] = item;
  }

  std::vector<Item> items_;
};

}  // namespace

// Sets branches [2 * n_words - 1] of the tree of words with these counts, whose sum is below 2^63.
void build_tree(const int64_t* counts, int64_t n_words, uint32_t* branches) {
  Heap heap(counts, n_words);
  for (uint32_t node = 0; node + 1 < n_words; ++node) {
    const Item left = heap.pop(), right = heap.pop();
    branches[left.element] = 2 * node;
    branches[right.element] = 2 * node + 1;
    heap.push({left.count + right.count, static_cast<uint32_t>(n_words + node)});
  }
  if (n_words) branches[2 * n_words - 2] = kNoBranch;
}

}  // namespace tfw2v

extern "C" {

TFW2V_EXPORT int64_t tfw2v_build_tree(const int64_t* counts, int64_t n_words, uint32_t* branches) {
  return tfw2v::guarded(tfw2v::kFailed, [=]() -> int64_t {
    tfw2v::build_tree(counts, n_words, branches);
    return 0;
  });
}

}  // extern "C"
