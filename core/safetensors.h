#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace lookback {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// What a .safetensors file holds: tensors in the order of its header, and texts by name.
struct TensorFile {
  std::string path;
  std::map<std::string, std::string> metadata;
  std::vector<NamedTensor> tensors;

  const Tensor* find(const std::string& name) const;  ///< null when absent
  /// UserError naming the file when absent.
  const Tensor& get(const std::string& name) const;
  /// Copies a tensor's elements into one of the same shape; UserError when absent or of another.
  void copy_to(const std::string& name, Tensor& into) const;
  const std::string& text(const std::string& key) const;  ///< metadata; UserError when absent
};

/// Writes tensors in the safetensors format (github.com/huggingface/safetensors), as Real: F32, or
/// F64 in the double build. Whole or not at all, with the errors of write_file. The file opens in
/// Python: `safetensors.torch.load_file(path)`.
void save_tensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                  const std::map<std::string, std::string>& metadata);

/// Reads F64, F32, F16 and BF16 into Real. UserError of one line that names the file and what is
/// wrong with it: no safetensors file, truncated, overlapping or missing bytes, a size that is not
/// its shape's.
TensorFile load_tensors(const std::string& path);

/// Only the metadata, without reading the tensors; the header is checked all the same.
std::map<std::string, std::string> load_metadata(const std::string& path);

}  // namespace lookback
