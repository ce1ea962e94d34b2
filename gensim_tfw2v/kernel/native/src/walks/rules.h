// Rules by which walks choose their next arc.
#pragma once
#include <algorithm>
#include <cstdint>

#include "walks/graph.h"

namespace tfw2v {

constexpr int32_t kNone = -1;  // no previous node

inline uint64_t mix(uint64_t z) {  // finalizer of SplitMix64
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// Returns a number that depends on both arguments.
inline uint64_t combine(uint64_t key, uint64_t number) { return mix(key + 0x9E3779B97F4A7C15ull * (number + 1)); }

// Returns a uniform number in 0 .. limit - 1, from 32 random bits.
inline int64_t below(uint32_t bits, int64_t limit) {
  return static_cast<int64_t>((bits * static_cast<unsigned __int128>(limit)) >> 32);
}

// Returns the element at `index` of a random order of 0 .. size - 1, which the key selects. It encrypts the index in
// a Feistel network on an even number of bits, again until the result is below `size`.
inline int64_t shuffled(int64_t index, int64_t size, uint64_t key) {
  int half = 1;
  while (size > int64_t{1} << (2 * half)) ++half;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  uint64_t value = index;
  do {
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t left = value >> half, right = value & mask;
      value = right << half | (left ^ (combine(key + round, right) & mask));
    }
  } while (value >= static_cast<uint64_t>(size));
  return value;
}

// A binary search for an arc among the arcs of a node.
struct Search {
  int64_t first;   // index of the first arc that can be it
  int64_t n_arcs;  // number of arcs from there that can be it; 0 if there is no such arc, or no search
  int32_t target;  // node where it ends

  void begin(const Graph& graph, int32_t from, int32_t to) {
    first = graph.offsets[from], n_arcs = graph.degree(from), target = to;
    __builtin_prefetch(graph.neighbours + first + n_arcs / 2);
  }
  // Halves the arcs, of which there must be several. Returns whether several are left.
  bool step(const Graph& graph) {
    const int64_t half = n_arcs / 2;
    first += graph.neighbours[first + half - 1] < target ? half : 0;  // branchless
    n_arcs -= half;
    __builtin_prefetch(graph.neighbours + first + n_arcs / 2 - 1);
    return n_arcs > 1;
  }
  // Returns the arc after the last step, or -1.
  int64_t arc(const Graph& graph) const { return n_arcs && graph.neighbours[first] == target ? first : -1; }
};

// A walk that is being drawn.
struct Walker {
  uint64_t state;    // of the random numbers
  int64_t arc;       // arc that is proposed as the next step, or kReturn
  int32_t* entries;  // its nodes and relations: a row of the result
  int32_t current, previous, start;
  int32_t n_nodes;      // number of nodes so far
  int32_t n_relations;  // number of relations so far
  int32_t n_earlier;    // number of nodes before the last restart, or 0
  uint32_t coin;        // random bits with which a rule accepts the arc
  Search search;        // for an arc that the rule must know to accept the proposed one

  int32_t* end() const { return entries + n_nodes + n_relations; }
  // Returns the number of steps since the last restart, or the start.
  int32_t n_steps() const { return n_nodes - 1 - n_earlier; }
  uint64_t next() { return mix(state += 0x9E3779B97F4A7C15ull); }
};

constexpr int64_t kReturn = -1;  // proposal to return to the previous node

// A rule proposes an arc of row() in propose(), and accepts or rejects it in accepts(). If it is rejected, another arc is
// proposed. Returning false, propose() ends the walk. If searches() is true, the rule can begin a search in
// begin_search(), which has ended when accepts() is called. Memory that these functions read was prefetched.

// Walks whose next arc depends on the current node only (Perozzi et al. 2014, "DeepWalk").
class FirstOrder {
 public:
  explicit FirstOrder(const Graph& graph) : g_(graph) {}

  bool searches() const { return false; }

  void begin_search(Walker&) const {}

  int64_t row(const Walker& walker) const { return walker.current; }

  bool propose(Walker& walker) { return propose_from(row(walker), walker); }

  bool accepts(const Walker&) { return true; }

 protected:
  bool propose_from(int64_t row, Walker& walker) {
    const int64_t degree = g_.degree(row);
    if (!degree) return false;
    const uint64_t bits = walker.next();
    walker.arc = g_.offsets[row] + below(bits >> 32, degree);
    walker.coin = static_cast<uint32_t>(bits);
    if (g_.alias) __builtin_prefetch(g_.alias + walker.arc);
    g_.prefetch_arc(walker.arc);
    return true;
  }

  const Graph& g_;
};

// node2vec (Grover and Leskovec 2016, section 3.2) by rejection. Arcs are proposed in proportion to their weights, and
// accepted in proportion to alpha, which depends on the previous node. A coin below the smallest alpha is accepted
// without computing alpha (Yang et al. 2019, "KnightKing", section 4.2).
class SecondOrder : public FirstOrder {
 public:
  explicit SecondOrder(const Graph& graph) : FirstOrder(graph) {
    const double to_previous = 1 / g_.header().p, far = 1 / g_.header().q;
    // If only the arc to the previous node has a large alpha, its excess is proposed separately ("KnightKing", section
    // 4.2, outliers). Then all other arcs are rejected less often. Its relation would have to be looked up.
    is_folded_ = to_previous > std::max(1.0, far) && g_.header().is_symmetric && !g_.alias && !g_.relations;
    const double largest = std::max({1.0, far, is_folded_ ? 0.0 : to_previous});
    excess_ = is_folded_ ? to_previous / largest - 1 : 0.0;
    previous_ = limit(std::min(1.0, to_previous / largest)), near_ = limit(1 / largest), far_ = limit(far / largest);
    lowest_ = std::min({previous_, near_, far_});
  }

  bool propose(Walker& walker) {
    if (!is_folded_ || walker.previous == kNone) return FirstOrder::propose(walker);
    const int64_t degree = g_.degree(walker.current);
    const uint64_t bits = walker.next();
    const int64_t arc = static_cast<int64_t>(static_cast<double>(bits >> 32) * 0x1p-32 * (degree + excess_));
    walker.arc = arc < degree ? g_.offsets[walker.current] + arc : kReturn;
    walker.coin = static_cast<uint32_t>(bits);
    __builtin_prefetch(g_.neighbours + std::max<int64_t>(walker.arc, 0));
    return true;
  }

  bool searches() const { return near_ != far_; }

  void begin_search(Walker& walker) const {
    if (is_certain(walker)) return;
    const int32_t node = g_.neighbours[walker.arc];
    if (node == walker.previous) return;
    if (g_.header().is_symmetric && g_.degree(node) < g_.degree(walker.previous))
      walker.search.begin(g_, node, walker.previous);
    else
      walker.search.begin(g_, walker.previous, node);
  }

  bool accepts(const Walker& walker) const {
    if (is_certain(walker)) return true;
    if (g_.neighbours[walker.arc] == walker.previous) return walker.coin < previous_;
    return walker.coin < (near_ == far_ || walker.search.arc(g_) >= 0 ? near_ : far_);
  }

 protected:
  // Coins below the result have this probability.
  static uint64_t limit(double probability) { return static_cast<uint64_t>(probability * 0x1p32); }

  // Returns whether the proposed arc is accepted, whatever its alpha.
  bool is_certain(const Walker& walker) const {
    return walker.previous == kNone || walker.arc == kReturn || walker.coin < lowest_;
  }

  bool is_folded_;
  double excess_;  // with which the arc to the previous node is proposed in addition; other arcs have 1 each
  uint64_t previous_, near_, far_, lowest_;
};

// node2vec+ (Liu et al. 2023, "Accurately modeling biased random walks on weighted networks using node2vec+", section
// 2.2): alpha also depends on the weight of the arc from the previous node to the next one.
class Extended : public SecondOrder {
 public:
  explicit Extended(const Graph& graph) : SecondOrder(graph) {
    far_alpha_ = 1 / g_.header().q;
    largest_ = std::max({1.0, far_alpha_, 1 / g_.header().p});
  }

  bool searches() const { return true; }

  void begin_search(Walker& walker) const {
    if (!is_certain(walker)) walker.search.begin(g_, walker.previous, g_.neighbours[walker.arc]);
  }

  bool accepts(const Walker& walker) const {
    if (is_certain(walker)) return true;
    const int32_t node = g_.neighbours[walker.arc];
    if (node == walker.previous) return walker.coin < previous_;
    const int64_t arc = walker.search.arc(g_);
    const double weight = arc < 0 ? 0.0 : g_.weights[arc], threshold = g_.thresholds[node];
    double alpha = 1.0;
    if (arc < 0 || weight < threshold) {
      alpha = far_alpha_ + (1 - far_alpha_) * (arc < 0 ? 0.0 : weight / threshold);
      if (g_.weights[walker.arc] < g_.thresholds[walker.current]) alpha = std::min(1.0, far_alpha_);
    }
    return walker.coin < limit(alpha / largest_);
  }

 private:
  double far_alpha_, largest_;
};

// Walks along arcs of prescribed types (Dong et al. 2017, "metapath2vec", section 3.2).
class Metapath : public FirstOrder {
 public:
  using FirstOrder::FirstOrder;

  int64_t row(const Walker& walker) const {
    return walker.current * g_.header().n_types + g_.metapath[walker.n_steps() % g_.header().n_metapath];
  }

  bool propose(Walker& walker) { return propose_from(row(walker), walker); }
};

}  // namespace tfw2v
