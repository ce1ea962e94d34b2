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

// Writes the same walks as entries of a corpus: ids of words, with kEnd after each walk. `ids` has the id of each node
// and relation, or a negative number for those without one, which are left out. Returns the number of entries, at most
// n_walks * (n_columns + 1).
int64_t draw_entries(const Graph& graph, int64_t epoch, int64_t first, int64_t n_walks, const int32_t* ids,
                     int32_t* entries);

}  // namespace tfw2v
