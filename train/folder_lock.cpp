#include "train/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace lookback {

FolderLock::FolderLock(const std::string& folder, const std::string& what) {
  std::string path = folder + "/.lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_user("{}: cannot be written: {}", path, std::strerror(errno));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  fail_user("{}: another process is {} in this folder; give another --run, or wait for it", folder,
            what);
}

FolderLock::~FolderLock() {
  ::close(descriptor_);
}

}  // namespace lookback
