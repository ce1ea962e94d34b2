// Random walks on a graph.
#pragma once
#include <vector>

#include "walks/graph.h"

namespace tfw2v {

// Writes the walks [first, first + n_walks) of an epoch: [n_walks, n_columns] node numbers, with -1 behind the end of a
// shorter walk. If the graph has relations, the number of an arc's relation is between those of its two nodes. The walks
// of an epoch are numbered in the order of their repetition: each repetition has a walk from each start, in a random
// order. A walk depends only on the graph, the epoch and its number.
void draw_walks(const Graph& graph, int64_t epoch, int64_t first, int64_t n_walks, int32_t* nodes);

// Replaces walks by entries of a corpus: ids of words, with kEnd after each walk. `ids` has the id of each node and
// relation, or a negative number for those without one, which are left out. Returns the number of entries, at most
// n_walks * (n_columns + 1). `entries` may not overlap `nodes`.
int64_t to_entries(const Graph& graph, const int32_t* nodes, int64_t n_walks, const int32_t* ids, int32_t* entries);

// Builds alias tables (Walker 1977; Vose 1991) of the weights of each row's d arcs: one word per arc. Its lower bits,
// as many as d - 1 needs, are the index of a second arc of the row. Its upper bits are the probability with which this
// arc is drawn instead of the second one, as a fraction of all upper bits.
void alias_table(const int64_t* offsets, int64_t n_rows, const float* weights, uint32_t* alias);

}  // namespace tfw2v
