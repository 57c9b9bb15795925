#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/error.h"

namespace lookback {

/// A folder of small files that goes with the test.
class TextFolder {
 public:
  TextFolder() {
    std::string name = ::testing::TempDir() + "lookback_text_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TextFolder() { std::filesystem::remove_all(path_); }
  TextFolder(const TextFolder&) = delete;
  TextFolder& operator=(const TextFolder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  std::string path_;
};

/// The text of the UserError that the call throws; fails the test when it throws none.
template <class Call>
std::string user_error(Call&& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no UserError";
  return "";
}

}  // namespace lookback
