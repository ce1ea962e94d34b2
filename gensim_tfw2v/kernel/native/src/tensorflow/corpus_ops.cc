// Ops that read and encode a corpus on the machine of a task.
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tensorflow/op.h"
#include "text/text.h"

namespace tfw2v::ops {
namespace {

// Tfw2vPack(entries [n]) -> the entries as bytes; see pack() in text.h.
void pack(void*, TF_OpKernelContext* context) {
  const Input entries(context, 0);
  std::vector<uint8_t> bytes;
  tfw2v::pack(entries.data<int32_t>(), entries.size(), bytes);
  if (auto* to = output<uint8_t>(context, 0, kUint8, bytes.size(), 0)) std::copy(bytes.begin(), bytes.end(), to);
}

// Tfw2vUnpack(bytes [m]) -> the entries that they contain; see unpack() in text.h.
void unpack(void*, TF_OpKernelContext* context) {
  const Input bytes(context, 0);
  std::vector<int32_t> entries;
  if (!tfw2v::unpack(bytes.data<uint8_t>(), bytes.size(), entries))
    return fail(context, "Tfw2vUnpack", "the bytes are not packed entries");
  if (auto* to = output<int32_t>(context, 0, kInt32, entries.size(), 0))
    std::copy(entries.begin(), entries.end(), to);
}

// Splits an input into strings, each followed by a 0 byte.
std::vector<std::string> strings(const Input& input) {
  std::vector<std::string> parts;
  const char *at = input.data<char>(), *const end = at + input.size();
  for (const char* stop; at < end && (stop = static_cast<const char*>(std::memchr(at, 0, end - at))); at = stop + 1)
    parts.emplace_back(at, stop);
  return parts;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Tfw2vLook(paths) -> sizes, machine, cores. Each path is followed by a 0 byte.
//   sizes    size of each file; for paths[0], a folder, 0 if it is writable. -errno on failure
//   machine  id of this machine or container: host name and boot id
//   cores    number of cores of the machine
void look(void*, TF_OpKernelContext* context) {
  const std::vector<std::string> paths = strings(Input(context, 0));
  auto* sizes = output<int64_t>(context, 0, kInt64, paths.size(), 0);
  for (size_t i = 0; sizes && i < paths.size(); ++i) {
    struct stat status;
    if (i ? !stat(paths[i].c_str(), &status) : !access(paths[i].c_str(), W_OK))
      sizes[i] = i ? status.st_size : 0;
    else
      sizes[i] = -errno;
  }
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string machine = host + (" " + content("/proc/sys/kernel/random/boot_id"));
  if (auto* to = output<uint8_t>(context, 1, kUint8, machine.size(), 0))
    std::memcpy(to, machine.data(), machine.size());
  if (auto* to = output<int64_t>(context, 2, kInt64, 1, 0)) *to = std::thread::hardware_concurrency();
}

// A vocabulary from the files path + "words" and path + "numbers". The last one that was read is cached, and shared
// by all ops that use it.
struct Vocabulary {
  Words words;
  std::string ids;

  static std::shared_ptr<const Vocabulary> of(const std::string& path) {
    static std::mutex mutex;
    static std::string last_path;
    static std::shared_ptr<Vocabulary> vocabulary;
    const std::lock_guard<std::mutex> guard(mutex);
    if (path != last_path || !vocabulary) {
      auto new_vocabulary = std::make_shared<Vocabulary>();
      const std::string text = content(path + "words");
      new_vocabulary->words.add(reinterpret_cast<const uint8_t*>(text.data()), text.size(), nullptr, nullptr);
      new_vocabulary->ids = content(path + "numbers");
      last_path = path;
      vocabulary = new_vocabulary;
    }
    return vocabulary;
  }
};

// Tfw2vReadRun(names, numbers) -> report. Encodes byte ranges of p texts to shard files; see read_run in text.h.
//   names    prefix of the files to write, prefix of a vocabulary's files or "", then p paths: each is
//            followed by a 0 byte
//   numbers  [3 + 2 p] maximum words per sentence, maximum entries per shard, whether lines are tagged,
//            then per path the offset of the first byte to read, and of the byte after the last
//   report   [3 + 4 s] result of read_run, raw words, sentences, then the fields of each of s shards
void read_run(void*, TF_OpKernelContext* context) {
  const std::vector<std::string> names = strings(Input(context, 0));
  const Input arguments(context, 1);
  const auto* argument = arguments.data<int64_t>();
  if (names.size() < 2 || arguments.size() != 2 * static_cast<int64_t>(names.size()) - 1)
    return fail(context, "Tfw2vReadRun",
                "names must be 2 prefixes and p paths, and numbers must have "
                "3 + 2 p elements");
  std::vector<Piece> pieces;
  for (size_t i = 2; i < names.size(); ++i) pieces.push_back({names[i], argument[2 * i - 1], argument[2 * i]});
  std::shared_ptr<const Vocabulary> vocabulary;
  if (!names[1].empty()) {
    vocabulary = Vocabulary::of(names[1]);
    if (vocabulary->ids.size() != vocabulary->words.counts().size() * sizeof(int32_t))
      return fail(context, "Tfw2vReadRun", "the vocabulary's files are missing or incomplete");
  }
  Scanner scanner(names[0], argument[0], argument[1], vocabulary ? &vocabulary->words : nullptr,
                  vocabulary ? reinterpret_cast<const int32_t*>(vocabulary->ids.data()) : nullptr);
  if (argument[2]) scanner.tag_lines();
  const int64_t error = tfw2v::read_run(scanner, pieces, names[0]);
  const std::vector<Shard>& shards = scanner.shards();
  if (auto* to = output<int64_t>(context, 0, kInt64, 3 + 4 * shards.size(), 0)) {
    to[0] = error;
    to[1] = scanner.state().raw_words;
    to[2] = scanner.state().sentences;
    std::memcpy(to + 3, shards.data(), shards.size() * sizeof(Shard));
  }
}

__attribute__((constructor)) void register_ops() {
  define<pack>("Tfw2vPack", {"entries: int32"}, {"bytes: uint8"});
  define<unpack>("Tfw2vUnpack", {"bytes: uint8"}, {"entries: int32"});
  define<look>("Tfw2vLook", {"paths: uint8"}, {"sizes: int64", "machine: uint8", "cores: int64"});
  define<read_run>("Tfw2vReadRun", {"names: uint8", "numbers: int64"}, {"report: int64"});
}

}  // namespace
}  // namespace tfw2v::ops
