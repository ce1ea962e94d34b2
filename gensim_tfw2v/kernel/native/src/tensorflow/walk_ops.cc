// Op that draws walks on the machine of a task.
#include <memory>
#include <string>

#include "tensorflow/mapped_file.h"
#include "tensorflow/op.h"
#include "walks/walks.h"

namespace tfw2v::ops {
namespace {

// Tfw2vWalk(source, range, graph, ids) -> entries of the walks [range[0], range[1]); see draw_entries().
//   source  number of the epoch, 8 bytes, then the path of the file of walks. The file of the ids has this path, too,
//           followed by ".ids"
//   range   [2]
//   graph   content of the file of walks, and
//   ids     [names] ids of its nodes and relations, if this machine can't read the files; else both are empty
void walk(void*, TF_OpKernelContext* context) {
  const Input source(context, 0), range(context, 1), content(context, 2), given_ids(context, 3);
  const int64_t first = range.data<int32_t>()[0], n_walks = range.data<int32_t>()[1] - first;
  if (range.size() != 2 || n_walks < 0 || (n_walks && source.size() < 8))
    return fail(context, "Tfw2vWalk", "source or range is invalid");
  std::vector<int32_t> entries;
  if (n_walks) {
    int64_t epoch;
    std::memcpy(&epoch, source.data<char>(), sizeof epoch);
    const std::string path(source.data<char>() + sizeof epoch, source.size() - sizeof epoch);
    std::shared_ptr<const MappedFile> graph_file, ids_file;
    const uint8_t* data = content.data<uint8_t>();
    int64_t size = content.size(), n_ids = given_ids.size();
    const int32_t* ids = given_ids.data<int32_t>();
    if (!size) {
      graph_file = map_file(path), ids_file = map_file(path + ".ids");
      data = graph_file->data(), size = graph_file->size();
      ids = reinterpret_cast<const int32_t*>(ids_file->data()), n_ids = ids_file->size() / sizeof *ids;
    }
    Graph graph;
    if (const char* error = size ? graph.open(data, size) : "the file of walks can't be read")
      return fail(context, "Tfw2vWalk", error);
    if (n_ids != graph.header().n_names)
      return fail(context, "Tfw2vWalk", "each node and each relation must have an id");
    entries.resize(n_walks * (graph.n_columns() + 1));
    entries.resize(draw_entries(graph, epoch, first, n_walks, ids, entries.data()));
  }
  if (auto* to = output<int32_t>(context, 0, kInt32, entries.size(), 0))
    std::copy(entries.begin(), entries.end(), to);
}

__attribute__((constructor)) void register_ops() {
  define<walk>("Tfw2vWalk", {"source: uint8", "range: int32", "graph: uint8", "ids: int32"}, {"entries: int32"});
}

}  // namespace
}  // namespace tfw2v::ops
