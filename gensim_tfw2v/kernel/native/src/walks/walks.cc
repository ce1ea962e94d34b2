#include "walks/walks.h"

#include <algorithm>
#include <cmath>

#include "guard.h"
#include "text/text.h"

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

namespace {

// Number of walks that are drawn alternately. The memory that the next step of each of them reads is prefetched.
constexpr int kAtOnce = 64;

constexpr int32_t kNone = -1;  // no previous node

uint64_t mix(uint64_t z) {  // finalizer of SplitMix64
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// Returns a number that depends on both arguments.
uint64_t combine(uint64_t key, uint64_t number) { return mix(key + 0x9E3779B97F4A7C15ull * (number + 1)); }

// Returns a uniform number in 0 .. limit - 1, from 32 random bits.
int64_t below(uint32_t bits, int64_t limit) {
  return static_cast<int64_t>((bits * static_cast<unsigned __int128>(limit)) >> 32);
}

// Returns the element at `index` of a random order of 0 .. size - 1, which the key selects. It encrypts the index in
// a Feistel network on an even number of bits, again until the result is below `size`.
int64_t shuffled(int64_t index, int64_t size, uint64_t key) {
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

// Replaces a proposed arc by the one that its alias table draws, and the coin, whose bits decide that, by a new one.
void apply_alias(const Graph& graph, int64_t row, Walker& walker) {
  const int64_t begin = graph.offsets[row];
  const uint64_t degree = graph.degree(row);
  const int bits = degree > 1 ? 64 - __builtin_clzll(degree - 1) : 0;
  const uint32_t entry = graph.alias[walker.arc];
  if (bits && (walker.coin >> bits) > (entry >> bits)) walker.arc = begin + (entry & ((uint32_t{1} << bits) - 1));
  walker.coin = static_cast<uint32_t>(walker.next());
}

template <class Rule>
void draw_with(const Graph& graph, int64_t epoch, int64_t first, int64_t n_walks, int32_t* nodes) {
  const WalkHeader& h = graph.header();
  const uint64_t key = combine(h.seed, h.is_fixed ? 0 : epoch);
  const uint64_t restart = static_cast<uint64_t>(h.restart * 0x1p32);
  Rule rule(graph);
  Walker walkers[kAtOnce];
  int n_walkers = 0;
  int64_t n_begun = 0;
  const int64_t n_columns = graph.n_columns();
  const auto begin = [&](Walker& walker) {
    const int64_t number = first + n_begun, repetition = number / h.n_starts;
    const int64_t index = shuffled(number % h.n_starts, h.n_starts, combine(~key, repetition));
    walker.state = combine(key, number);
    walker.current = walker.start = graph.starts ? graph.starts[index] : static_cast<int32_t>(index);
    walker.previous = kNone;
    walker.entries = nodes + n_begun++ * n_columns;
    walker.entries[0] = walker.start;
    walker.n_nodes = 1;
    walker.n_relations = walker.n_earlier = 0;
    __builtin_prefetch(graph.offsets + rule.row(walker));
  };
  const auto end = [&](int i) {  // ends a walk, and begins the next one in its place
    std::fill(walkers[i].end(), walkers[i].entries + n_columns, kNone);
    if (n_begun < n_walks)
      begin(walkers[i]);
    else
      walkers[i] = walkers[--n_walkers];
  };
  while (n_walkers < kAtOnce && n_begun < n_walks) begin(walkers[n_walkers++]);
  while (n_walkers) {
    for (int i = 0; i < n_walkers;) {
      // the walk that takes the place of this one may have to end, too
      if (walkers[i].n_nodes == h.walk_length || !rule.propose(walkers[i]))
        end(i);
      else
        ++i;
    }
    if (graph.alias)
      for (int i = 0; i < n_walkers; ++i) {
        apply_alias(graph, rule.row(walkers[i]), walkers[i]);
        graph.prefetch_arc(walkers[i].arc);
      }
    if (rule.searches()) {
      for (int i = 0; i < n_walkers; ++i)
        if (walkers[i].arc != kReturn) __builtin_prefetch(graph.offsets + graph.neighbours[walkers[i].arc]);
      Search* searches[kAtOnce];
      int n_searches = 0;
      for (int i = 0; i < n_walkers; ++i) {
        walkers[i].search.n_arcs = 0;
        rule.begin_search(walkers[i]);
        if (walkers[i].search.n_arcs > 1) searches[n_searches++] = &walkers[i].search;
      }
      while (n_searches) {
        const int n_last = n_searches;
        n_searches = 0;
        for (int i = 0; i < n_last; ++i) {
          searches[n_searches] = searches[i];
          n_searches += searches[i]->step(graph);
        }
      }
    }
    for (int i = 0; i < n_walkers; ++i) {
      Walker& walker = walkers[i];
      int32_t next = walker.start;
      const bool restarts = restart && (walker.next() >> 32) < restart;
      if (!restarts) {
        if (!rule.accepts(walker)) continue;
        next = walker.arc == kReturn ? walker.previous : graph.neighbours[walker.arc];
        if (graph.relations) {
          *walker.end() = graph.relations[walker.arc];
          ++walker.n_relations;
        }
      }
      walker.previous = restarts ? kNone : walker.current;
      if (restarts) walker.n_earlier = walker.n_nodes;
      walker.current = next;
      *walker.end() = next;
      ++walker.n_nodes;
      __builtin_prefetch(graph.offsets + rule.row(walker));
    }
  }
}

}  // namespace

void draw_walks(const Graph& graph, int64_t epoch, int64_t first, int64_t n_walks, int32_t* nodes) {
  const WalkHeader& h = graph.header();
  const auto draw = graph.metapath                 ? draw_with<Metapath>
                    : graph.weights && graph.alias ? draw_with<Extended>
                    : h.p == 1 && h.q == 1         ? draw_with<FirstOrder>
                                                   : draw_with<SecondOrder>;
  draw(graph, epoch, first, n_walks, nodes);
}

int64_t to_entries(const Graph& graph, const int32_t* nodes, int64_t n_walks, const int32_t* ids, int32_t* entries) {
  const int64_t n_columns = graph.n_columns();
  int32_t* to = entries;
  for (int64_t walk = 0; walk < n_walks; ++walk, nodes += n_columns) {
    int32_t* const begin = to;
    for (int64_t i = 0; i < n_columns && nodes[i] >= 0; ++i) {
      const int32_t id = ids[nodes[i]];
      *to = id;
      to += id >= 0;
    }
    if (to > begin) *to++ = kEnd;
  }
  return to - entries;
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

extern "C" {

// Writes the entries of walks, or with `ids` null their nodes: see draw_walks() and to_entries(). Returns an error
// message, or null; `n_written` is the number of entries.
TFW2V_EXPORT const char* tfw2v_walk(const uint8_t* graph, int64_t size, int64_t epoch, int64_t first, int64_t n_walks,
                                    const int32_t* ids, int32_t* entries, int64_t* n_written) {
  return tfw2v::guarded_message([=]() -> const char* {
    tfw2v::Graph view;
    if (const char* error = view.open(graph, size)) return error;
    *n_written = n_walks * view.n_columns();
    if (!ids) {
      tfw2v::draw_walks(view, epoch, first, n_walks, entries);
      return nullptr;
    }
    std::vector<int32_t> nodes(*n_written);
    tfw2v::draw_walks(view, epoch, first, n_walks, nodes.data());
    *n_written = tfw2v::to_entries(view, nodes.data(), n_walks, ids, entries);
    return nullptr;
  });
}

TFW2V_EXPORT int64_t tfw2v_alias_table(const int64_t* offsets, int64_t n_rows, const float* weights,
                                       uint32_t* alias) {
  return tfw2v::guarded(tfw2v::kFailed, [=]() -> int64_t {
    tfw2v::alias_table(offsets, n_rows, weights, alias);
    return 0;
  });
}

}  // extern "C"
