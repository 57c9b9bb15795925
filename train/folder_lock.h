#pragma once

#include <string>

namespace lookback {

/// While one lives no other process has one on the folder, which exists. The system lets go of it
/// however the process ends.
class FolderLock {
 public:
  /// `what`, for the error: `training`.
  FolderLock(const std::string& folder, const std::string& what);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace lookback
