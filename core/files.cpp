#include "core/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"

namespace lookback {

namespace {

[[noreturn]] void refuse(const std::string& path, const char* what, int reason) {
  std::string text = format("{}: {}: {}", path, what, std::strerror(reason));
  if (reason == EIO) throw Error(text);  // a failing disk is nobody's mistake
  throw UserError(text);
}

/// An open descriptor, closed at the end of the scope.
struct Descriptor {
  int value;
  explicit Descriptor(int value) : value(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  /// 0, or the error that closing reports: the last place where a network disk tells that it is
  /// full.
  int close() {
    int result = value >= 0 ? ::close(value) : 0;
    value = -1;
    return result == 0 ? 0 : errno;
  }
};

void write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      refuse(path, "cannot be written", errno);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

/// Some file systems have no such operation; that is no failure.
bool sync_is_missing(int reason) {
  return reason == EINVAL || reason == ENOTSUP;
}

void sync_folder(const std::string& folder, const std::string& path) {
  Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.value < 0) return;  // a folder may be writable without being readable
  if (::fsync(descriptor.value) != 0 && !sync_is_missing(errno))
    refuse(path, "cannot be synced", errno);
}

/// A temporary that is removed unless it has been renamed to its final name.
struct Temporary {
  std::string path;
  bool kept = false;
  ~Temporary() {
    if (!kept) ::unlink(path.c_str());
  }
};

void replace_file(const std::string& path, std::span<const std::string_view> pieces) {
  static std::atomic<uint64_t> counter{0};
  std::string target = path;
  std::error_code no_link;
  if (std::filesystem::is_symlink(path, no_link)) {
    target = std::filesystem::weakly_canonical(path).string();
  }
  std::filesystem::path parent = std::filesystem::path(target).parent_path();
  std::string folder = parent.empty() ? std::string(".") : parent.string();
  struct stat status;
  if (::stat(folder.c_str(), &status) != 0)
    fail_user("{}: cannot be written: the folder {} does not exist", path, folder);

  std::string name = format("{}.{}-{}.tmp", target, ::getpid(), counter++);
  Descriptor descriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (descriptor.value < 0) refuse(path, "cannot be written", errno);
  Temporary temporary{.path = name};
  for (std::string_view piece : pieces) write_all(descriptor.value, piece, path);
  if (::fsync(descriptor.value) != 0 && !sync_is_missing(errno))
    refuse(path, "cannot be written", errno);
  if (int reason = descriptor.close()) refuse(path, "cannot be written", reason);
  if (::rename(name.c_str(), target.c_str()) != 0) refuse(path, "cannot be written", errno);
  temporary.kept = true;
  sync_folder(folder, path);
}

}  // namespace

void write_pieces(const std::string& path, std::span<const std::string_view> pieces) {
  struct stat status;
  bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    fail_user("{}: cannot be written: it is a folder, not a file", path);
  if (!exists || S_ISREG(status.st_mode)) return replace_file(path, pieces);
  Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (descriptor.value < 0) refuse(path, "cannot be written", errno);
  for (std::string_view piece : pieces) write_all(descriptor.value, piece, path);
}

void write_file(const std::string& path, std::string_view text) {
  write_pieces(path, std::span(&text, 1));
}

InputFile::InputFile(const std::string& path) : path_(path) {
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.value < 0) {
    if (errno == ENOENT) fail_user("{}: no such file", path);
    refuse(path, "cannot be read", errno);
  }
  struct stat status;
  if (::fstat(descriptor.value, &status) != 0) refuse(path, "cannot be read", errno);
  if (S_ISDIR(status.st_mode)) fail_user("{}: is a folder, not a file", path);
  size_ = static_cast<uint64_t>(status.st_size);
  std::swap(descriptor_, descriptor.value);
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

void InputFile::read_at(uint64_t offset, void* into, size_t bytes) const {
  char* to = static_cast<char*>(into);
  while (bytes > 0) {
    ssize_t got = ::pread(descriptor_, to, bytes, static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      refuse(path_, "cannot be read", errno);
    }
    if (got == 0) fail_user("{}: ends at byte {}, {} bytes too early", path_, offset, bytes);
    to += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
}

std::string InputFile::read_rest() const {
  std::string text;
  size_t used = 0;
  for (;;) {
    // One byte more than the known size, so that a regular file's end is seen without growing.
    text.resize(std::max<size_t>({used + 65536, used + used / 2, size_ + 1}));
    ssize_t got = ::read(descriptor_, text.data() + used, text.size() - used);
    if (got < 0) {
      if (errno == EINTR) continue;
      refuse(path_, "cannot be read", errno);
    }
    if (got == 0) break;
    used += static_cast<size_t>(got);
  }
  text.resize(used);
  return text;
}

std::string read_file(const std::string& path) {
  return InputFile(path).read_rest();
}

std::vector<std::string> split_lines(std::string_view text, const std::string& name) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    check_utf8(line, name, static_cast<int64_t>(lines.size()) + 1);
    if (lines.empty() && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    begin = end + 1;
  }
  return lines;
}

std::vector<std::string> read_lines(const std::string& path) {
  return split_lines(read_file(path), path);
}

}  // namespace lookback
