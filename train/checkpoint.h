#pragma once

#include <memory>
#include <string>

#include "train/recipe.h"

namespace lookback {

/// A model file opened: everything that evaluating and translating needs travels in it.
struct LoadedModel {
  std::string path;
  Config config;  ///< resolved
  Recipe recipe;
  Vocabulary source, target;
  std::unique_ptr<EncoderDecoder> model;
  int64_t step = 0;  ///< training steps it has seen
};

/// Opens a model file, or the best (else the last) checkpoint of a run folder. `overrides` are
/// applied to the config first (`data.task.max_length=30`). UserError for anything that is no
/// lookback model.
LoadedModel load_model(const std::string& model_or_run,
                       const std::vector<std::string>& overrides = {});

struct ModelFile {
  const Module* model;
  const Config* config;  ///< resolved
  const Vocabulary *source, *target;
  int64_t step = 0;
};
/// Writes a model as one .safetensors file: parameters, and in its metadata the resolved config,
/// both vocabularies and the step.
void save_model(const std::string& path, const ModelFile& file);

/// Copies tensors into a model's parameters by name. UserError where one is missing, unknown or of
/// another shape.
void load_parameters(Module& model, const TensorFile& file, const std::string& prefix = "");

}  // namespace lookback
