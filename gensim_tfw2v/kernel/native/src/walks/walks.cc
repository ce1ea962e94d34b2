#include "walks/walks.h"

#include <algorithm>

#include "guard.h"
#include "text/text.h"
#include "walks/rules.h"

namespace tfw2v {

namespace {

// Number of walks that are drawn alternately. The memory that the next step of each of them reads is prefetched.
constexpr int kAtOnce = 64;

// Replaces a proposed arc by the one that its alias table draws, and the coin, whose bits decide that, by a new one.
void apply_alias(const Graph& graph, int64_t row, Walker& walker) {
  const int64_t begin = graph.offsets[row];
  const uint64_t degree = graph.degree(row);
  const int bits = degree > 1 ? 64 - __builtin_clzll(degree - 1) : 0;
  const uint32_t entry = graph.alias[walker.arc];
  if (bits && (walker.coin >> bits) > (entry >> bits)) walker.arc = begin + (entry & ((uint32_t{1} << bits) - 1));
  walker.coin = static_cast<uint32_t>(walker.next());
}

// Runs the searches of all walks, which alternate, so that the memory that each step reads has been prefetched.
template <class Rule>
void search_all(const Graph& graph, const Rule& rule, Walker* walkers, int n_walkers) {
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
    if (rule.searches()) search_all(graph, rule, walkers, n_walkers);
    for (int i = 0; i < n_walkers; ++i) {
      Walker& walker = walkers[i];
      if (!rule.accepts(walker)) continue;
      // drawn once per step, not once per proposed arc
      const bool restarts = restart && (walker.next() >> 32) < restart;
      int32_t next = walker.start;
      if (!restarts) {
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

int64_t draw_entries(const Graph& graph, int64_t epoch, int64_t first, int64_t n_walks, const int32_t* ids,
                     int32_t* entries) {
  const int64_t n_columns = graph.n_columns();
  std::vector<int32_t> walks(n_walks * n_columns);
  draw_walks(graph, epoch, first, n_walks, walks.data());
  const int32_t* nodes = walks.data();
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

}  // namespace tfw2v

extern "C" {

// Writes the entries of walks, or with `ids` null their nodes: see draw_entries() and draw_walks(). Returns an error
// message, or null; `n_written` is the number of entries.
TFW2V_EXPORT const char* tfw2v_walk(const uint8_t* graph, int64_t size, int64_t epoch, int64_t first, int64_t n_walks,
                                    const int32_t* ids, int32_t* entries, int64_t* n_written) {
  return tfw2v::guarded_message([=]() -> const char* {
    tfw2v::Graph view;
    if (const char* error = view.open(graph, size)) return error;
    *n_written = n_walks * view.n_columns();
    if (ids)
      *n_written = tfw2v::draw_entries(view, epoch, first, n_walks, ids, entries);
    else
      tfw2v::draw_walks(view, epoch, first, n_walks, entries);
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
