// Python's types KeysAsDict and KeysAsList, with the look-ups of single keys: they have to be about as fast as those
// of a dict and of a list. The classes in keys/key_index.py and keys/key_list.py derive from them.
//
// The functions of Python's stable C API are passed as pointers, so the library is not linked to Python and does not
// depend on its version. The caller of each function holds the GIL.
#include <cstdint>

#include "keys/keys.h"
#include "unit.h"

namespace tfw2v {

namespace {

// Python's PyObject. Since Python is the one with a GIL, the stable ABI fixes these fields.
struct Object {
  int64_t n_references;
  Object* type;
};

using Visit = int(Object*, void*);

struct Method {  // PyMethodDef
  const char* name;
  void* function;
  int flags;
  const char* doc;
};

struct Slot {  // PyType_Slot
  int slot;
  void* function;
};

struct Spec {  // PyType_Spec
  const char* name;
  int size, item_size;
  unsigned flags;
  Slot* slots;
};

// Numbers in typeslots.h, and flags, which the stable ABI fixes.
enum {
  kMappingLength = 4,
  kSubscript = 5,
  kContains = 41,
  kSequenceLength = 45,
  kClear = 51,
  kDealloc = 52,
  kMethods = 64,
  kTraverse = 71,
  kFree = 74
};
constexpr unsigned kBaseType = 1 << 10, kHasGarbageCollection = 1 << 14;
constexpr int kFastCall = 0x80, kNoArguments = 0x4;

// clang-format off
#define TFW2V_PYTHON(X)                                                           \
  X(Object*, PyType_FromSpec, (Spec*))                                            \
  X(void*, PyType_GetSlot, (Object*, int))                                        \
  X(int, PyType_IsSubtype, (Object*, Object*))                                    \
  X(Object*, PyNumber_Index, (Object*))                                           \
  X(void, PyObject_GC_UnTrack, (void*))                                           \
  X(void, Py_IncRef, (Object*))                                                   \
  X(void, Py_DecRef, (Object*))                                                   \
  X(Object*, PyObject_GetItem, (Object*, Object*))                                \
  X(Object*, PyObject_CallMethodObjArgs, (Object*, Object*, ...))                 \
  X(int64_t, PyObject_Size, (Object*))                                            \
  X(int, PySequence_Contains, (Object*, Object*))                                 \
  X(const char*, PyUnicode_AsUTF8AndSize, (Object*, int64_t*))                    \
  X(Object*, PyUnicode_DecodeUTF8, (const char*, int64_t, const char*))           \
  X(Object*, PyLong_FromLongLong, (long long))                                    \
  X(long long, PyLong_AsLongLongAndOverflow, (Object*, int*))                     \
  X(Object*, PyList_New, (int64_t))                                               \
  X(int, PyList_SetItem, (Object*, int64_t, Object*))                             \
  X(Object*, PyTuple_Pack, (int64_t, ...))                                        \
  X(Object*, PyErr_Occurred, (void))                                              \
  X(void, PyErr_Clear, (void))                                                    \
  X(void, PyErr_SetObject, (Object*, Object*))                                    \
  X(void, PyErr_SetString, (Object*, const char*))
// clang-format on

// Python's objects: types, None, and names of methods of a view's owner.
// clang-format off
#define TFW2V_OBJECTS(X)                                                     \
  X(str) X(numpy_str) X(integer) X(numpy_integer) X(none)                    \
  X(key_error) X(index_error) X(type_error) X(runtime_error)                 \
  X(find) X(find_in_list) X(item)
// clang-format on

// Addresses that Python passes: functions of the C API and objects, which live as long as Python.
struct Python {
#define TFW2V_POINTER(result, name, arguments) result(*name) arguments;
  TFW2V_PYTHON(TFW2V_POINTER)
#define TFW2V_OBJECT(name) Object* name;
  TFW2V_OBJECTS(TFW2V_OBJECT)
};

Python python;

// Instance of the types. Without a table, the owner is a plain dict or list, to which the view was converted.
struct View : Object {
  const KeyTable* keys;
  Object* owner;  // has the table's memory, and the methods `find` and `item` for keys of other types
};

constexpr int64_t kError = -2;

// Reference to an object, which is released at the end of its scope.
class Reference {
 public:
  explicit Reference(Object* object) : object_(object) {}
  Reference(const Reference&) = delete;
  ~Reference() {
    if (object_) python.Py_DecRef(object_);
  }
  Object* get() const { return object_; }

 private:
  Object* object_;
};

Object* new_reference(Object* object) {
  python.Py_IncRef(object);
  return object;
}

// Returns a new reference to the view's owner, which other code may replace, or sets an error and returns null.
Object* owner_of(const View* view) {
  if (view->owner) return new_reference(view->owner);
  python.PyErr_SetString(python.runtime_error, "this object of keys was not initialized");
  return nullptr;
}

// Returns whether an object is an int or one of NumPy's integers, which equals the int of its value.
bool is_integer(Object* object) {
  return object->type == python.integer || python.PyType_IsSubtype(object->type, python.numpy_integer);
}

// Returns the value of such an object. Sets `overflow` to a number other than 0 if it has more than 64 bits.
int64_t integer_value(Object* object, int* overflow) {
  if (object->type == python.integer) return python.PyLong_AsLongLongAndOverflow(object, overflow);
  const Reference number(python.PyNumber_Index(object));
  if (number.get()) return python.PyLong_AsLongLongAndOverflow(number.get(), overflow);
  python.PyErr_Clear();  // only a lack of memory can be the reason
  *overflow = 1;
  return 0;
}

Object* key_at(const KeyTable& keys, int64_t index) {
  if (keys.kind != kStrings) return python.PyLong_FromLongLong(integer_at(keys, index));
  const int64_t offset = keys.offsets[index];
  return python.PyUnicode_DecodeUTF8(keys.text + offset, keys.offsets[index + 1] - offset, "surrogatepass");
}

// Returns the index that a method of the owner returns, or kError after an exception.
int64_t find_by_owner(const View* view, Object* method, Object* key) {
  const Reference owner(owner_of(view));
  if (!owner.get()) return kError;
  const Reference index(python.PyObject_CallMethodObjArgs(owner.get(), method, key, nullptr));
  if (!index.get()) return kError;
  int overflow = 0;
  const int64_t number = python.PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  return number == kMissing && python.PyErr_Occurred() ? kError : number;
}

// Returns the index of a key of a view with a table, kMissing, or kError after an exception. The method is called for
// keys of unusual types.
int64_t find(const View* view, Object* method, Object* key) {
  const KeyTable& keys = *view->keys;
  if (keys.kind == kStrings) {
    if (key->type == python.str || key->type == python.numpy_str) {
      int64_t size;
      if (const char* const text = python.PyUnicode_AsUTF8AndSize(key, &size)) return find_string(keys, text, size);
      python.PyErr_Clear();  // the string contains a surrogate
    }
  } else if (is_integer(key)) {
    int overflow = 0;
    const int64_t value = integer_value(key, &overflow);
    return overflow ? kMissing : find_integer(keys, value);
  }
  return find_by_owner(view, method, key);
}

int64_t view_size(View* view) {
  if (view->keys) return view->keys->n_keys;
  const Reference owner(owner_of(view));
  return owner.get() ? python.PyObject_Size(owner.get()) : -1;
}

// Returns 1 or 0, or -1 after an exception.
int contains(View* view, Object* method, Object* key) {
  if (view->keys) {
    const int64_t index = find(view, method, key);
    return index == kError ? -1 : index != kMissing;
  }
  const Reference owner(owner_of(view));
  return owner.get() ? python.PySequence_Contains(owner.get(), key) : -1;
}

int dict_contains(View* view, Object* key) { return contains(view, python.find, key); }

int list_contains(View* view, Object* key) { return contains(view, python.find_in_list, key); }

Object* dict_item(View* view, Object* key) {
  if (view->keys) {
    const int64_t index = find(view, python.find, key);
    if (index >= 0) return python.PyLong_FromLongLong(index);
    if (index == kError) return nullptr;
    const Reference arguments(python.PyTuple_Pack(1, key));  // a key may be a tuple
    if (arguments.get()) python.PyErr_SetObject(python.key_error, arguments.get());
    return nullptr;
  }
  const Reference owner(owner_of(view));
  return owner.get() ? python.PyObject_GetItem(owner.get(), key) : nullptr;
}

Object* dict_get(View* view, Object** arguments, int64_t n_arguments) {
  if (n_arguments < 1 || n_arguments > 2) {
    python.PyErr_SetString(python.type_error, "get takes a key and, if it may be missing, a default");
    return nullptr;
  }
  Object* const key = arguments[0];
  if (view->keys) {
    const int64_t index = find(view, python.find, key);
    if (index == kError) return nullptr;
    if (index >= 0) return python.PyLong_FromLongLong(index);
  } else if (const int is_key = dict_contains(view, key)) {
    return is_key == 1 ? dict_item(view, key) : nullptr;
  }
  return new_reference(n_arguments == 2 ? arguments[1] : python.none);
}

Object* list_item(View* view, Object* item) {
  if (view->keys && is_integer(item)) {
    const int64_t n = view->keys->n_keys;
    int overflow = 0;
    int64_t index = integer_value(item, &overflow);
    if (index < 0 && !overflow) index += n;
    if (!overflow && index >= 0 && index < n) return key_at(*view->keys, index);
    python.PyErr_SetString(python.index_error, "list index out of range");
    return nullptr;
  }
  const Reference owner(owner_of(view));
  if (!owner.get()) return nullptr;
  return view->keys ? python.PyObject_CallMethodObjArgs(owner.get(), python.item, item, nullptr)
                    : python.PyObject_GetItem(owner.get(), item);
}

// Replaces the owner. The old one is released last, because this may run code that uses the view.
void set_owner(View* view, const KeyTable* keys, Object* owner) {
  const Reference old_owner(view->owner);
  view->keys = keys;
  view->owner = owner;
}

int view_traverse(View* view, Visit* visit, void* argument) {
  if (view->owner)
    if (const int result = visit(view->owner, argument)) return result;
  return visit(view->type, argument);
}

int view_clear(View* view) {
  set_owner(view, nullptr, nullptr);
  return 0;
}

void view_dealloc(View* view) {
  python.PyObject_GC_UnTrack(view);
  view_clear(view);
  const Reference type(view->type);
  reinterpret_cast<void (*)(void*)>(python.PyType_GetSlot(view->type, kFree))(view);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

// Returns a new type, or null after an exception.
Object* new_type(const char* name, Object* (*subscript)(View*, Object*), int (*contains)(View*, Object*),
                 Method* methods) {
  Slot slots[] = {{kMappingLength, address(view_size)},
                  {kSubscript, address(subscript)},
                  {kContains, address(contains)},
                  {kSequenceLength, address(view_size)},
                  {kClear, address(view_clear)},
                  {kDealloc, address(view_dealloc)},
                  {kMethods, methods},
                  {kTraverse, address(view_traverse)},
                  {0, nullptr}};
  Spec spec = {name, sizeof(View), 0, kBaseType | kHasGarbageCollection, slots};
  return python.PyType_FromSpec(&spec);
}

Object* view_owner(View* view, Object*) { return owner_of(view); }

constexpr char kOwnerDoc[] = "Return the keys, or the plain dict or list that has replaced them.";
Method dict_methods[] = {
    {"get", address(dict_get), kFastCall, "get($self, key, default=None, /)\n--\n\nReturn a key's index."},
    {"_owner", address(view_owner), kNoArguments, kOwnerDoc},
    {nullptr, nullptr, 0, nullptr}};
Method list_methods[] = {{"_owner", address(view_owner), kNoArguments, kOwnerDoc}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

}  // namespace tfw2v

extern "C" {

// Returns the names of the fields of the struct Python, each followed by a blank.
TFW2V_EXPORT const char* tfw2v_key_view_names(void) noexcept {
#define TFW2V_PYTHON_NAME(result, name, arguments) #name " "
#define TFW2V_OBJECT_NAME(name) #name " "
  return TFW2V_PYTHON(TFW2V_PYTHON_NAME) TFW2V_OBJECTS(TFW2V_OBJECT_NAME);
}

// Returns a tuple of the types KeysAsDict and KeysAsList. `functions` is the struct Python.
TFW2V_EXPORT void* tfw2v_key_view_types(const void* functions) noexcept {
  using namespace tfw2v;
  python = *static_cast<const Python*>(functions);
  const Reference dict_type(new_type("gensim_tfw2v.keys.KeysAsDict", dict_item, dict_contains, dict_methods));
  if (!dict_type.get()) return nullptr;
  const Reference list_type(new_type("gensim_tfw2v.keys.KeysAsList", list_item, list_contains, list_methods));
  if (!list_type.get()) return nullptr;
  return python.PyTuple_Pack(2, dict_type.get(), list_type.get());
}

// Lets a view show the keys of a table that `owner` owns or, if `keys` is null, the dict or list `owner`.
TFW2V_EXPORT void tfw2v_key_view_set(void* view, const void* keys, void* owner) noexcept {
  using namespace tfw2v;
  set_owner(static_cast<View*>(view), static_cast<const KeyTable*>(keys), new_reference(static_cast<Object*>(owner)));
}

// Returns a list of the keys with the indices [start, stop), or null after an exception.
TFW2V_EXPORT void* tfw2v_key_view_keys(const void* table, int64_t start, int64_t stop) noexcept {
  using namespace tfw2v;
  Object* const list = python.PyList_New(stop - start);
  if (!list) return nullptr;
  for (int64_t i = start; i < stop; ++i) {
    Object* const key = key_at(*static_cast<const KeyTable*>(table), i);
    if (!key || python.PyList_SetItem(list, i - start, key)) {
      python.Py_DecRef(list);
      return nullptr;
    }
  }
  return list;
}

}  // extern "C"
