// Files that are mapped into memory.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>

namespace tfw2v::ops {

// A file that is mapped into memory, which all processes of a machine share. Size 0: it can't be read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file >= 0 && !fstat(file, &status) && status.st_size > 0) {
      void* data = mmap(nullptr, status.st_size, PROT_READ, MAP_SHARED, file, 0);
      if (data != MAP_FAILED) data_ = static_cast<const uint8_t*>(data), size_ = status.st_size;
    }
    if (file >= 0) close(file);
  }
  ~MappedFile() {
    if (size_) munmap(const_cast<uint8_t*>(data_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  const uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  const uint8_t* data_ = nullptr;
  int64_t size_ = 0;
};

// Returns the file at a path. The last files stay mapped, because each job of a training uses the same ones.
inline std::shared_ptr<const MappedFile> map_file(const std::string& path) {
  constexpr size_t kFiles = 32;
  static std::mutex mutex;
  static std::deque<std::pair<std::string, std::shared_ptr<const MappedFile>>> files;
  const std::lock_guard<std::mutex> guard(mutex);
  for (const auto& [name, file] : files)
    if (name == path) return file;
  auto file = std::make_shared<const MappedFile>(path);
  if (!file->size()) return file;  // it may be readable later
  files.emplace_front(path, file);
  if (files.size() > kFiles) files.pop_back();
  return file;
}

}  // namespace tfw2v::ops
