#include "core/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace lookback {

// The format: 8 bytes with the header's length N, little-endian; N bytes of JSON,
// {"__metadata__": {...}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...},
// padded with blanks; then the tensors' bytes, row-major, little-endian, without gaps. Offsets
// count from the header's end.

static_assert(std::endian::native == std::endian::little,
              "tensors are written as they lie in memory");

namespace {

constexpr const char* kMetadata = "__metadata__";
constexpr uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr const char* kRealType = sizeof(Real) == 4 ? "F32" : "F64";

enum class Element { kF64, kF32, kF16, kBf16 };

size_t size_of(Element element) {
  return element == Element::kF64 ? 8 : element == Element::kF32 ? 4 : 2;
}

/// A 16-bit IEEE number.
float from_half(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent == 0) {
    float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -value : value;
  }
  // Infinity and NaN keep an exponent of all ones; others move from bias 15 to bias 127.
  exponent = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | exponent << 23 | fraction << 13);
}

template <class From>
From load(const char* bytes) {
  From value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

Real to_real(Element element, const char* bytes) {
  switch (element) {
    case Element::kF64:
      return static_cast<Real>(load<double>(bytes));
    case Element::kF32:
      return static_cast<Real>(load<float>(bytes));
    case Element::kF16:
      return static_cast<Real>(from_half(load<uint16_t>(bytes)));
    case Element::kBf16:
      break;
  }
  uint32_t bits = static_cast<uint32_t>(load<uint16_t>(bytes)) << 16;
  return static_cast<Real>(std::bit_cast<float>(bits));
}

struct Entry {
  std::string name;
  Element element = Element::kF32;
  Shape shape;
  uint64_t begin = 0, end = 0;
};

struct Header {
  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;
  uint64_t data_begin = 0;
};

/// A non-negative whole number of the header.
uint64_t whole(const Json& json, const std::string& where) {
  if (!json.is_number_unsigned())
    fail_user("{}: {} is no whole number of at least 0", where, json_text(json));
  return json.get<uint64_t>();
}

const Json& part(const Json& json, const char* key, const std::string& where) {
  auto found = json.find(key);
  if (found == json.end()) fail_user("{}: \"{}\" is missing", where, key);
  return *found;
}

const Json& array_part(const Json& json, const char* key, const std::string& where) {
  const Json& found = part(json, key, where);
  if (!found.is_array()) fail_user("{}: \"{}\" is no list", where, key);
  return found;
}

Element element_of(const Json& json, const std::string& where) {
  if (json == "F64") return Element::kF64;
  if (json == "F32") return Element::kF32;
  if (json == "F16") return Element::kF16;
  if (json == "BF16") return Element::kBf16;
  fail_user("{}: elements of type {} are not read; must be F64, F32, F16 or BF16", where,
            json_text(json));
}

Entry read_entry(const std::string& name, const Json& json, const std::string& path) {
  std::string where = format("{}: tensor \"{}\"", path, name);
  if (!json.is_object()) fail_user("{}: is no JSON object", where);
  Entry entry;
  entry.name = name;
  entry.element = element_of(part(json, "dtype", where), where);

  const Json& shape = array_part(json, "shape", where);
  if (shape.size() > Shape::kMaxRank)
    fail_user("{}: has {} dimensions, at most {} are read", where, shape.size(), Shape::kMaxRank);
  uint64_t bytes = size_of(entry.element);
  for (const Json& size : shape) {
    // Far beyond any file, and small enough that six sizes beside a zero cannot do harm later.
    uint64_t count = whole(size, where);
    if (count >> 40 != 0 || __builtin_mul_overflow(bytes, count, &bytes) || bytes >> 43 != 0)
      fail_user("{}: its shape {} is too large", where, json_text(shape));
    entry.shape.append(size.get<int64_t>());
  }

  const Json& offsets = array_part(json, "data_offsets", where);
  if (offsets.size() != 2) fail_user("{}: \"data_offsets\" must be two numbers", where);
  entry.begin = whole(offsets[0], where);
  entry.end = whole(offsets[1], where);
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    fail_user("{}: shape {} of {} needs {} bytes, but its offsets are [{}, {}]", where,
              json_text(shape), json["dtype"].get<std::string>(), bytes, entry.begin, entry.end);
  }
  return entry;
}

/// The tensors must cover the data from its first byte to its last, once.
void check_cover(const std::vector<Entry>& entries, uint64_t data_bytes, const std::string& path) {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t covered = 0;
  for (const Entry* entry : order) {
    if (entry->begin != covered) {
      fail_user("{}: tensor \"{}\" begins at byte {}, which {} the tensor before it (ends at {})",
                path, entry->name, entry->begin,
                entry->begin < covered ? "overlaps" : "leaves a gap after", covered);
    }
    covered = entry->end;
  }
  if (covered > data_bytes) {
    fail_user("{}: is truncated: its tensors need {} bytes, but {} are there", path, covered,
              data_bytes);
  }
  if (covered < data_bytes) {
    fail_user("{}: {} bytes after its last tensor belong to none", path, data_bytes - covered);
  }
}

Header read_header(const InputFile& file) {
  const std::string& path = file.path();
  uint64_t size = file.size();
  if (size == 0) fail_user("{}: is empty, no safetensors file", path);
  if (size < 9) fail_user("{}: is no safetensors file: it has only {} bytes", path, size);
  char start[9];
  file.read_at(0, start, sizeof start);
  uint64_t length = load<uint64_t>(start);
  if (start[8] != '{' || length > kMaxHeader)
    fail_user("{}: is no safetensors file: it does not begin with a header", path);
  if (length > size - 8) {
    fail_user("{}: is truncated: its header needs {} bytes, but {} are there", path, length,
              size - 8);
  }

  std::string text(length, '\0');
  file.read_at(8, text.data(), length);
  Json json = parse_json(text, path);
  Header header;
  header.data_begin = 8 + length;
  for (const auto& [name, value] : json.items()) {
    if (name != kMetadata) {
      header.entries.push_back(read_entry(name, value, path));
      continue;
    }
    if (!value.is_object()) fail_user("{}: \"{}\" is no JSON object", path, kMetadata);
    for (const auto& [key, entry] : value.items()) {
      if (!entry.is_string()) fail_user("{}: metadata \"{}\" is no text", path, key);
      header.metadata[key] = entry.get<std::string>();
    }
  }
  check_cover(header.entries, size - header.data_begin, path);
  return header;
}

Tensor read_tensor(const InputFile& file, const Entry& entry, uint64_t data_begin) {
  Tensor tensor(entry.shape);
  uint64_t from = data_begin + entry.begin;
  if (entry.element == (sizeof(Real) == 4 ? Element::kF32 : Element::kF64)) {
    file.read_at(from, tensor.data(), entry.end - entry.begin);
    return tensor;
  }
  size_t width = size_of(entry.element);
  std::vector<char> chunk(65536 * width);
  auto count = static_cast<size_t>(tensor.count());
  for (size_t done = 0; done < count;) {
    size_t now = std::min<size_t>(65536, count - done);
    file.read_at(from + done * width, chunk.data(), now * width);
    for (size_t i = 0; i < now; ++i)
      tensor.data()[done + i] = to_real(entry.element, chunk.data() + i * width);
    done += now;
  }
  return tensor;
}

}  // namespace

const Tensor* TensorFile::find(const std::string& name) const {
  for (const NamedTensor& named : tensors) {
    if (named.name == name) return &named.tensor;
  }
  return nullptr;
}

const Tensor& TensorFile::get(const std::string& name) const {
  const Tensor* found = find(name);
  if (!found) fail_user("{}: holds no tensor \"{}\"", path, name);
  return *found;
}

void TensorFile::copy_to(const std::string& name, Tensor& into) const {
  const Tensor& from = get(name);
  if (from.shape() != into.shape())
    fail_user("{}: {} has shape {}, must be {}", path, name, from.shape().text(),
              into.shape().text());
  into.copy_from(from);
}

const std::string& TensorFile::text(const std::string& key) const {
  auto found = metadata.find(key);
  if (found == metadata.end()) fail_user("{}: holds no metadata \"{}\"", path, key);
  return found->second;
}

void save_tensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                  const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::vector<std::string_view> pieces(2);
  std::set<std::string> seen;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined()) fail("[safetensors] tensor \"{}\" is undefined", name);
    if (name == kMetadata || !seen.insert(name).second)
      fail("[safetensors] the name \"{}\" is taken", name);
    Json shape = Json::array();
    for (int dim = 0; dim < tensor.rank(); ++dim) shape.push_back(tensor.size(dim));
    uint64_t bytes = static_cast<uint64_t>(tensor.count()) * sizeof(Real);
    header[name] = {
        {"dtype", kRealType}, {"shape", shape}, {"data_offsets", {offset, offset + bytes}}};
    pieces.emplace_back(reinterpret_cast<const char*>(tensor.data()), bytes);
    offset += bytes;
  }
  std::string text = json_text(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data stay aligned
  if (text.size() > kMaxHeader) {
    fail("[safetensors] {}: a header of {} bytes, more than the format's {}", path, text.size(),
         kMaxHeader);
  }
  uint64_t length = text.size();
  pieces[0] = {reinterpret_cast<const char*>(&length), sizeof length};
  pieces[1] = text;
  write_pieces(path, pieces);
}

TensorFile load_tensors(const std::string& path) {
  InputFile file(path);
  Header header = read_header(file);
  TensorFile out;
  out.path = path;
  out.metadata = std::move(header.metadata);
  for (const Entry& entry : header.entries)
    out.tensors.push_back({entry.name, read_tensor(file, entry, header.data_begin)});
  return out;
}

std::map<std::string, std::string> load_metadata(const std::string& path) {
  return read_header(InputFile(path)).metadata;
}

}  // namespace lookback
