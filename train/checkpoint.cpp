#include "train/checkpoint.h"

#include <filesystem>
#include <set>

#include "core/error.h"
#include "core/numbers.h"
#include "core/safetensors.h"

namespace lookback {
namespace {

constexpr const char* kFormat = "lookback";

std::string file_of(const std::string& model_or_run) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(model_or_run)) return model_or_run;
  for (const char* name : {"best.safetensors", "last.safetensors"}) {
    fs::path path = fs::path(model_or_run) / name;
    if (fs::exists(path)) return path.string();
  }
  fail_user("{}: holds no run: neither best.safetensors nor last.safetensors is there",
            model_or_run);
}

}  // namespace

void save_model(const std::string& path, const ModelFile& file) {
  std::vector<NamedTensor> tensors;
  for (const Module::Named& p : file.model->parameters())
    tensors.push_back({p.name, p.variable.value()});
  save_tensors(path, tensors,
               {{"format", kFormat},
                {"config", file.config->yaml()},
                {"source_vocabulary", file.source->to_json()},
                {"target_vocabulary", file.target->to_json()},
                {"step", std::to_string(file.step)}});
}

void load_parameters(Module& model, const TensorFile& file, const std::string& prefix) {
  std::set<std::string> used;
  std::vector<Module::Named> parameters = model.parameters();
  // All is checked before anything is written, so that a refused file leaves the model as it was.
  for (const Module::Named& p : parameters) {
    const Tensor& from = file.get(prefix + p.name);
    if (from.shape() != p.variable.shape())
      fail_user("{}: {} has shape {}, but the model's is {}", file.path, p.name,
                from.shape().text(), p.variable.shape().text());
    used.insert(prefix + p.name);
  }
  for (const NamedTensor& tensor : file.tensors)
    if (tensor.name.starts_with(prefix) && !used.contains(tensor.name))
      fail_user("{}: {} belongs to no parameter of the model", file.path, tensor.name);
  for (Module::Named& p : parameters) p.variable.leaf_value().copy_from(file.get(prefix + p.name));
}

LoadedModel load_model(const std::string& model_or_run, const std::vector<std::string>& overrides) {
  std::string path = file_of(model_or_run);
  TensorFile file = load_tensors(path);
  auto format = file.metadata.find("format");
  if (format == file.metadata.end() || format->second != kFormat)
    fail_user(
        "{}: a safetensors file, but not of a lookback model: its metadata has no format: lookback",
        path);
  Config config = Config::from_text(file.text("config"), path + " (config)");
  for (const std::string& assignment : overrides) config.set(assignment);
  Recipe recipe = read_recipe(config);
  LoadedModel out{.path = path,
                  .config = recipe.resolved,
                  .recipe = std::move(recipe),
                  .source = Vocabulary::from_json(file.text("source_vocabulary"), path),
                  .target = Vocabulary::from_json(file.text("target_vocabulary"), path),
                  .model = nullptr,
                  .step = 0};
  if (one_vocabulary(out.recipe.data) && !(out.source == out.target))
    fail_user(
        "{}: the data of its config has one vocabulary for both sides, but the model's two differ "
        "({} and {} tokens)",
        path, out.source.size(), out.target.size());
  const std::string& step = file.text("step");
  std::optional<int64_t> steps = parse_whole(step);
  if (!steps || *steps < 0) fail_user("{}: the step in its metadata is no number of steps", path);
  out.step = *steps;
  out.model = out.recipe.model(out.source.size(), out.target.size());
  load_parameters(*out.model, file);
  return out;
}

}  // namespace lookback
