// Conversion of Python's strings to UTF-8. The functions of Python's stable C API are passed as pointers, so
// the library is not linked to Python and does not depend on its version. The caller holds the GIL.
#include <cstdint>
#include <cstring>
#include <vector>

#include "unit.h"

namespace tfw2v {

namespace {

struct Object;  // Python's PyObject

// clang-format off
#define TFW2V_PYTHON(X)                                                    \
  X(int64_t, PyList_Size, (Object*))                                       \
  X(Object*, PyList_GetItem, (Object*, int64_t))                           \
  X(int64_t, PyTuple_Size, (Object*))                                      \
  X(Object*, PyTuple_GetItem, (Object*, int64_t))                          \
  X(int64_t, PyUnicode_GetLength, (Object*))                               \
  X(const char*, PyUnicode_AsUTF8AndSize, (Object*, int64_t*))             \
  X(uint32_t*, PyUnicode_AsUCS4, (Object*, uint32_t*, int64_t, int))       \
  X(Object*, PyBytes_FromStringAndSize, (const char*, int64_t))            \
  X(Object*, PyObject_Type, (Object*))                                     \
  X(void, Py_DecRef, (Object*))                                            \
  X(int, PyErr_BadArgument, (void))                                        \
  X(Object*, PyErr_NoMemory, (void))
// clang-format on

// Addresses that Python passes: functions of the C API, the function of the method str.isascii, and objects.
struct Python {
#define TFW2V_POINTER(result, name, arguments) result(*name) arguments;
  TFW2V_PYTHON(TFW2V_POINTER)
  Object* (*str_isascii)(Object* string, Object* nothing);
  Object *yes, *str, *list;  // True, and the two types

  // Returns whether the type of an object is `type` itself, not a subclass.
  bool is_exactly(Object* object, Object* type) const { return is(PyObject_Type(object), type); }
  bool is_ascii(Object* string) const { return is(str_isascii(string, nullptr), yes); }

 private:
  bool is(Object* result, Object* expected) const {
    Py_DecRef(result);  // the object, a type or a bool, has further references, so it is not freed
    return result == expected;
  }
};

// Strings in UTF-8, each followed by a zero byte. A member function that returns false has set an exception.
class Strings {
 public:
  explicit Strings(const Python& python) : python_(python), text_(1 << 16) {}

  // Appends the strings of a list or of a tuple.
  bool read(Object* sentence) {
    const bool is_list = python_.is_exactly(sentence, python_.list);
    const int64_t n = is_list ? python_.PyList_Size(sentence) : python_.PyTuple_Size(sentence);
    for (int64_t i = 0; i < n; ++i) {
      Object* const word = is_list ? python_.PyList_GetItem(sentence, i) : python_.PyTuple_GetItem(sentence, i);
      if (!defer(word)) return false;
    }
    return n >= 0;
  }

  // Appends the strings that were deferred, but not appended yet.
  bool finish() {
    for (int i = 0; i < kAhead; ++i)
      if (!defer(nullptr)) return false;
    return true;
  }

  Object* bytes() const { return python_.PyBytes_FromStringAndSize(text_.data(), size_); }

 private:
  // Prefetches `word` and stores it in the queue, in place of the string that was stored kAhead calls before,
  // which is appended now. Strings are scattered over the memory: by then the prefetch is complete.
  bool defer(Object* word) {
    __builtin_prefetch(word);                                      // the string's header
    __builtin_prefetch(reinterpret_cast<const char*>(word) + 48);  // the bytes behind the header
    Object*& deferred = queue_[next_++ % kAhead];
    const bool is_valid = !deferred || append(deferred);
    deferred = word;
    return is_valid;
  }

  bool append(Object* word) {
    if (!python_.is_exactly(word, python_.str)) return python_.PyErr_BadArgument();
    if (!python_.is_ascii(word)) return append_points(word);
    int64_t size;
    const char* const from = python_.PyUnicode_AsUTF8AndSize(word, &size);  // ASCII: the string's bytes, no copy
    if (!from) return false;
    char* const to = room(size + 16);
    if (size < 16) {
      // Reads the 16 bytes that end with the string's zero byte, shifts out the bytes before the string, and
      // writes all 16, so that no branch depends on the size. The bytes before a short string can be read: they
      // are a part of its header.
      unsigned __int128 bytes;
      std::memcpy(&bytes, from + size - 15, 16);
      bytes >>= 8 * (15 - size);
      std::memcpy(to, &bytes, 16);
    } else {
      std::memcpy(to, from, size + 1);
    }
    size_ += size + 1;
    return true;
  }

  // Appends a string that is not ASCII. PyUnicode_AsUTF8AndSize is not used here, because it would store a copy in
  // the string, and it refuses surrogates.
  bool append_points(Object* word) {
    const int64_t n = python_.PyUnicode_GetLength(word);
    if (n > static_cast<int64_t>(points_.size())) points_.resize(n);
    if (!python_.PyUnicode_AsUCS4(word, points_.data(), n, 0)) return false;
    char* to = room(4 * n + 1);
    const auto put = [&to](uint32_t byte) { *to++ = static_cast<char>(byte); };
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t point = points_[i];
      const auto put_bits = [&](int shift) { put(0x80 | (point >> shift & 0x3F)); };
      if (point < 0x80) {
        put(point);
      } else if (point < 0x800) {
        put(0xC0 | point >> 6);
        put_bits(0);
      } else if (point < 0x10000) {
        put(0xE0 | point >> 12);
        put_bits(6);
        put_bits(0);
      } else {
        put(0xF0 | point >> 18);
        put_bits(12);
        put_bits(6);
        put_bits(0);
      }
    }
    put(0);
    size_ = to - text_.data();
    return true;
  }

  // Returns the end of text_. Grows text_, if necessary, so that `n` bytes can be written there.
  char* room(int64_t n) {
    if (n > static_cast<int64_t>(text_.size()) - size_) text_.resize(2 * (size_ + n));
    return text_.data() + size_;
  }

  static constexpr int kAhead = 32;
  const Python& python_;
  Object* queue_[kAhead] = {};  // circular queue of deferred strings; null: none
  unsigned next_ = 0;           // number of calls of defer()
  std::vector<char> text_;      // the first size_ bytes are in use
  int64_t size_ = 0;
  std::vector<uint32_t> points_;  // buffer for the code points of a string
};

}  // namespace

}  // namespace tfw2v

extern "C" {

// Returns the names of the C API's functions, with which the struct Python begins, each followed by a blank.
TFW2V_EXPORT const char* tfw2v_python_names(void) noexcept {
#define TFW2V_PYTHON_NAME(result, name, arguments) #name " "
  return TFW2V_PYTHON(TFW2V_PYTHON_NAME);
}

// Returns the words of a list of lists and tuples as bytes: UTF-8, with a zero byte after each word. If a word is
// not a string, or is of a subclass of str, sets a TypeError and returns null.
TFW2V_EXPORT void* tfw2v_join_strings(const void* functions, void* sentences) noexcept {
  const auto& python = *static_cast<const tfw2v::Python*>(functions);
  const auto list = static_cast<tfw2v::Object*>(sentences);
  try {
    tfw2v::Strings strings(python);
    const int64_t n = python.PyList_Size(list);
    for (int64_t i = 0; i < n; ++i)
      if (!strings.read(python.PyList_GetItem(list, i))) return nullptr;
    return n >= 0 && strings.finish() ? strings.bytes() : nullptr;
  } catch (...) {  // the only possible exception is a lack of memory
    return python.PyErr_NoMemory();
  }
}

}  // extern "C"
