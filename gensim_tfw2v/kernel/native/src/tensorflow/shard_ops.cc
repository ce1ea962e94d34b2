// Ops by which a parameter server draws, writes and reads the rows of its shard of a table.
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

#include "shards/initial_rows.h"
#include "shards/row_files.h"
#include "tensorflow/op.h"

namespace tfw2v::ops {
namespace {

std::string text_of(const Input& input) { return {input.data<char>(), static_cast<size_t>(input.size())}; }

void fail_on_file(TF_OpKernelContext* context, const char* op, const std::string& path, int error) {
  char text[400];
  const char* reason = error == kTruncated ? "the file is truncated" : std::strerror(error);
  std::snprintf(text, sizeof text, "%.250s: %s", path.c_str(), reason);
  fail(context, op, text);
}

void output_number(TF_OpKernelContext* context, int64_t number) {
  if (auto* to = output<int64_t>(context, 0, kInt64, 1, 0)) *to = number;
}

// Tfw2vDrawRows(table [rows, size], generator, range) -> number of rows. Sets rows of a table to gensim's initial
// vectors; see draw_initial_rows().
//   generator  [4] arguments of Pcg64
//   range      [4] first row in the table, number of rows, first row among all initial vectors, and step there
void draw_rows(void*, TF_OpKernelContext* context) {
  const Input table(context, 0), generator(context, 1), range(context, 2);
  const int64_t* const numbers = range.data<int64_t>();
  const int64_t n_table_rows = table.dim(0), size = table.dim(1);
  if (generator.size() != 4 || range.size() != 4 || numbers[0] < 0 || numbers[1] < 0 ||
      numbers[0] > n_table_rows - numbers[1] || numbers[2] < 0 || numbers[3] < 1)
    return fail(context, "Tfw2vDrawRows", "the range must be one of rows of the table");
  draw_initial_rows(generator.data<uint64_t>(), numbers[2], numbers[3], numbers[1], size,
                    table.data<float>() + numbers[0] * size);
  output_number(context, numbers[1]);
}

// Inputs that the two ops below share: a table, a path, the header of the file, and a range [3] of the table's rows:
// the first row, the number of rows, and the checksum of the rows before.
struct RowsOfFile {
  explicit RowsOfFile(TF_OpKernelContext* context)
      : table(context, 0), path_input(context, 1), header(context, 2), range(context, 3), path(text_of(path_input)) {
    const int64_t* const numbers = range.data<int64_t>();
    if (range.size() != 3 || numbers[0] < 0 || numbers[1] < 0 || numbers[0] > table.dim(0) - numbers[1]) return;
    const int64_t row_bytes = table.dim(1) * static_cast<int64_t>(sizeof(float));
    rows = table.data<char>() + numbers[0] * row_bytes;
    offset = header.size() + numbers[0] * row_bytes;
    n_bytes = numbers[1] * row_bytes;
    sum = static_cast<uint64_t>(numbers[2]);
  }

  const Input table, path_input, header, range;
  const std::string path;
  char* rows = nullptr;  // null if the range is not one of rows of the table
  int64_t offset = 0, n_bytes = 0;
  uint64_t sum = 0;
};

// Tfw2vWriteRows(table, path, header, range) -> checksum of the rows up to the last one written. If the first row is
// row 0, the file is new, and the header is written, too.
void write_rows(void*, TF_OpKernelContext* context) {
  const RowsOfFile file(context);
  if (!file.rows) return fail(context, "Tfw2vWriteRows", "the range must be one of rows of the table");
  int error = 0;
  if (file.offset == file.header.size())
    error = write_file(file.path, 0, file.header.data<void>(), file.header.size());
  if (!error) error = write_file(file.path, file.offset, file.rows, file.n_bytes);
  if (error) return fail_on_file(context, "Tfw2vWriteRows", file.path, error);
  output_number(context, static_cast<int64_t>(checksum(file.sum, file.rows, file.n_bytes)));
}

// Tfw2vReadRows(table, path, header, range) -> checksum of the rows up to the last one read. Sets rows of the table;
// only the size of the header matters.
void read_rows(void*, TF_OpKernelContext* context) {
  const RowsOfFile file(context);
  if (!file.rows) return fail(context, "Tfw2vReadRows", "the range must be one of rows of the table");
  if (const int error = read_file(file.path, file.offset, file.rows, file.n_bytes))
    return fail_on_file(context, "Tfw2vReadRows", file.path, error);
  output_number(context, static_cast<int64_t>(checksum(file.sum, file.rows, file.n_bytes)));
}

__attribute__((constructor)) void register_ops() {
  define<draw_rows>("Tfw2vDrawRows", {"table: float", "generator: int64", "range: int64"}, {"drawn: int64"});
  define<write_rows>("Tfw2vWriteRows", {"table: float", "path: uint8", "header: uint8", "range: int64"},
                     {"checksum: int64"});
  define<read_rows>("Tfw2vReadRows", {"table: float", "path: uint8", "header: uint8", "range: int64"},
                    {"checksum: int64"});
}

}  // namespace
}  // namespace tfw2v::ops
