#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lookback {

/// Writes a file whole or not at all: into a temporary beside it, synced to the disk, then renamed
/// over it. Where anything fails the temporary is removed, an older file of that name stays as it
/// was, and an error names the path and the reason: UserError (a full disk, a missing folder, no
/// permission), Error for a disk that fails. A symbolic link is followed; a device or a pipe is
/// written directly. (Should only the last sync, of the folder, fail, the new file stands already.)
void write_file(const std::string& path, std::string_view text);
/// The same from several pieces in order, so that large buffers need not be joined first.
void write_pieces(const std::string& path, std::span<const std::string_view> pieces);

/// A file opened for reading at any place. UserError where it is missing, a folder, or not
/// readable.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  /// Bytes in the file; 0 for a pipe or a device, whose size nobody knows before its end.
  uint64_t size() const { return size_; }
  /// Reads exactly `bytes` bytes from `offset` on; UserError where the file ends before.
  void read_at(uint64_t offset, void* into, size_t bytes) const;
  /// Everything from the present position to the end.
  std::string read_rest() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

std::string read_file(const std::string& path);

/// The lines of a text without their ends (`\n` or `\r\n`) and without a byte order mark at the
/// start. An empty file has none. Refuses invalid UTF-8 as check_utf8 does.
std::vector<std::string> read_lines(const std::string& path);
/// The same of a text already read; `name` stands for the file in messages.
std::vector<std::string> split_lines(std::string_view text, const std::string& name);

/// Where a text stops being valid UTF-8 (overlong forms, surrogates, and code points above U+10FFFF
/// are invalid too): the byte's index, or npos.
size_t invalid_utf8(std::string_view text);
/// UserError for one line that is no valid UTF-8; line and byte count from 1:
/// `train.de:12:byte 7: invalid UTF-8 (0xff)`.
void check_utf8(std::string_view line, const std::string& name, int64_t line_number);

}  // namespace lookback
