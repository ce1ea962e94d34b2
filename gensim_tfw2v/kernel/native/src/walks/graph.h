// A graph in memory, and the options of walks on it, as gensim_tfw2v/walks/walk_file.py writes them into a file.
//
// Nodes are numbers 0 .. n_nodes - 1. The arcs that leave a node are in the order of the nodes where they end. An
// undirected edge is two arcs. Parallel arcs repeat a node. For metapaths, arcs have types 0 .. n_types - 1. Then a node
// has a row of arcs for each type: the arcs of node v and type t are in row v * n_types + t. Otherwise, rows are nodes.
#pragma once
#include <cstdint>

#include "unit.h"

namespace tfw2v {

constexpr uint64_t kWalkMagic = 0x31304B4C41573254ull;  // "T2WALK01", also in walk_file.py

// First bytes of the file. Sections are arrays elsewhere in the file: `*_at` is the index of the first byte, or 0 if
// there is no such array.
struct WalkHeader {
  uint64_t magic;
  int64_t n_bytes;  // size of the file
  int64_t n_nodes;
  int64_t n_names;  // number of nodes, and of relations if walks contain them
  int64_t n_arcs;
  int64_t n_starts;     // number of nodes at which walks start
  int64_t walk_length;  // maximum number of nodes of a walk
  uint64_t seed;
  int64_t is_fixed;       // 1: each epoch has the same walks
  int64_t is_symmetric;   // 1: to each arc there is one in the opposite direction, and no arc is parallel to another
  double p, q;            // return and in-out parameter of node2vec
  double restart;         // probability of a return to the start, at each step
  int64_t n_types;        // number of types of arcs in a metapath; otherwise 1
  int64_t n_metapath;     // number of steps of the metapath
  int64_t offsets_at;     // int64 [n_nodes * n_types + 1]: index of each row's first arc
  int64_t neighbours_at;  // int32 [n_arcs]: node where the arc ends
  int64_t alias_at;       // uint32 [n_arcs]: see alias_table(); none if all weights are equal
  int64_t weights_at;     // float32 [n_arcs], only for node2vec+
  int64_t thresholds_at;  // float32 [n_nodes], only for node2vec+: lighter arcs at this node are noise
  int64_t starts_at;      // int32 [n_starts]; none if walks start at all nodes
  int64_t metapath_at;    // int32 [n_metapath]: types of successive arcs, repeated; none if walks follow all arcs
  int64_t relations_at;  // int32 [n_arcs]: relation of each arc, numbered from n_nodes; none if walks have nodes only
};

// View of the file's content, which must outlive it.
class Graph {
 public:
  // Returns an error message if the content is not that of a file of walks, else null. The content of the arrays is
  // checked when the file is written.
  const char* open(const uint8_t* data, int64_t size);

  const WalkHeader& header() const { return *header_; }
  // Maximum number of nodes and relations of a walk.
  int64_t n_columns() const { return relations ? 2 * header_->walk_length - 1 : header_->walk_length; }

  const int64_t* offsets = nullptr;
  const int32_t* neighbours = nullptr;
  const uint32_t* alias = nullptr;
  const float *weights = nullptr, *thresholds = nullptr;
  const int32_t *starts = nullptr, *metapath = nullptr, *relations = nullptr;

  // Returns the number of arcs in a row.
  int64_t degree(int64_t row) const { return offsets[row + 1] - offsets[row]; }
  // Prefetches memory that a step along an arc reads.
  void prefetch_arc(int64_t arc) const {
    __builtin_prefetch(neighbours + arc);
    if (relations) __builtin_prefetch(relations + arc);
  }

 private:
  template <class T>
  const char* section(int64_t at, int64_t n, const T*& array);

  const uint8_t* data_ = nullptr;
  int64_t size_ = 0;
  const WalkHeader* header_ = nullptr;
};

}  // namespace tfw2v
