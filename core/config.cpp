#include "core/config.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "core/files.h"

namespace lookback {

namespace {

/// Listens to the parser for the places where documents start.
struct DocumentStarts : YAML::EventHandler {
  std::vector<YAML::Mark> marks;

  void OnDocumentStart(const YAML::Mark& mark) override { marks.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

}  // namespace

/// Turns yaml-cpp's nodes into Config. yaml-cpp accepts more than a configuration should hold:
/// duplicate keys, maps as keys, aliases that contain themselves, control characters; these are
/// refused here.
struct ConfigParser {
  std::string name;        // of the file, or `--set key`
  bool with_lines = true;  // a command-line value has no line worth naming
  std::string folder;
  int nodes = 0;

  static constexpr int kMaxDepth = 100;
  static constexpr int kMaxNodes = 100000;  // aliases of aliases grow without bound

  std::string place(const YAML::Mark& mark) const {
    return with_lines && !mark.is_null() ? format("{}:{}", name, mark.line + 1) : name;
  }

  Config parse(const std::string& text) {
    check_characters(text);
    try {
      check_documents(text);
      YAML::Node root = YAML::Load(text);
      return convert(root, place(root.Mark()), 0);
    } catch (const YAML::Exception& error) {
      if (!with_lines || error.mark.is_null()) fail_user("{}: bad YAML: {}", name, error.msg);
      fail_user("{}:{}:{}: bad YAML: {}", name, error.mark.line + 1, error.mark.column + 1,
                error.msg);
    }
  }

  /// YAML::Load stops after the first document and says nothing of what follows, be it a second one
  /// or a stray brace; YAML::LoadAll never ends on some stray marks.
  void check_documents(const std::string& text) const {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    DocumentStarts starts;
    while (starts.marks.size() < 2 && parser.HandleNextDocument(starts)) {
    }
    if (starts.marks.size() < 2) return;
    const YAML::Mark& mark = starts.marks[1];
    std::string where =
        with_lines ? format("{}:{}:{}", name, mark.line + 1, mark.column + 1) : name;
    fail_user("{}: bad YAML: stray text, or a second document", where);
  }

  void check_characters(const std::string& text) const {
    int64_t number = 0;
    for (const std::string& line : split_lines(text, name)) {
      ++number;
      for (size_t i = 0; i < line.size(); ++i) {
        auto c = static_cast<unsigned char>(line[i]);
        if ((c < 0x20 && c != '\t') || c == 0x7F)
          fail_user("{}:{}:{}: bad YAML: control character 0x{:02x}", name, number, i + 1, c);
      }
      size_t indent = line.find_first_not_of(' ');
      if (indent != std::string::npos && line[indent] == '\t' &&
          line.find_first_not_of(" \t") != std::string::npos)
        fail_user("{}:{}:{}: bad YAML: a tab in the indentation; use blanks", name, number,
                  indent + 1);
    }
  }

  Config made(const YAML::Mark& mark) const {
    Config config;
    config.place_ = place(mark);
    config.folder_ = folder;
    return config;
  }

  /// `where` is the line of the key that leads here, or of the node itself.
  Config convert(const YAML::Node& node, const std::string& where, int depth) {
    Config config = made(node.Mark());
    config.place_ = where;
    if (depth > kMaxDepth) fail_user("{}: nested more than {} deep", where, kMaxDepth);
    if (++nodes > kMaxNodes) fail_user("{}: more than {} values", where, kMaxNodes);
    check_tag(node, where);
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        break;
      case YAML::NodeType::Scalar:
        config.kind_ = Config::Kind::kScalar;
        config.scalar_ = node.Scalar();
        config.quoted_ = node.Tag() == "!" || node.Tag() == kStringTag;
        break;
      case YAML::NodeType::Sequence:
        config.kind_ = Config::Kind::kList;
        for (const YAML::Node& item : node)
          config.items_.push_back(convert(item, place(item.Mark()), depth + 1));
        break;
      case YAML::NodeType::Map:
        config.kind_ = Config::Kind::kMap;
        convert_fields(node, config, depth);
        break;
    }
    return config;
  }

  static constexpr const char* kStringTag = "tag:yaml.org,2002:str";

  static void check_tag(const YAML::Node& node, const std::string& where) {
    const std::string& tag = node.Tag();
    if (tag.empty() || tag == "!" || tag == "?" || tag == kStringTag) return;
    fail_user("{}: the YAML tag \"{}\" is not read here; leave it out", where, tag);
  }

  void convert_fields(const YAML::Node& node, Config& config, int depth) {
    std::set<std::string> seen;
    for (const auto& field : node) {
      std::string where = place(field.first.Mark());
      if (!field.first.IsScalar()) fail_user("{}: a key must be a word", where);
      const std::string& key = field.first.Scalar();
      if (!seen.insert(key).second) {
        fail_user("{}: duplicate key \"{}\" (first at {})", where, key, config.find(key)->place());
      }
      config.fields_.emplace_back(key, convert(field.second, where, depth + 1));
    }
  }

  /// The map that holds the last of `keys`, made where it is missing.
  static Config* descend(Config* at, const std::vector<std::string>& keys, const Config& value) {
    std::string path;
    for (size_t i = 0; i + 1 <= keys.size(); ++i) {
      if (at->kind_ == Config::Kind::kNone) {
        at->kind_ = Config::Kind::kMap;
        if (at->place_.empty()) at->place_ = value.place_;
      }
      if (at->kind_ != Config::Kind::kMap) {
        fail_user("{}: {} is no map of keys (at {})", value.place_,
                  path.empty() ? "the configuration" : path, at->place_);
      }
      path += (i == 0 ? "" : ".") + keys[i];
      at = &at->field(keys[i]);
    }
    return at;
  }
};

namespace {

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> keys;
  size_t begin = 0;
  for (;;) {
    size_t end = path.find('.', begin);
    keys.push_back(path.substr(begin, end - begin));
    if (end == std::string::npos) return keys;
    begin = end + 1;
  }
}

}  // namespace

Config Config::from_file(const std::string& path) {
  ConfigParser parser{.name = path, .folder = std::filesystem::path(path).parent_path().string()};
  Config config = parser.parse(read_file(path));
  if (config.kind_ == Kind::kNone) fail_user("{}: the configuration is empty", path);
  return config;
}

Config Config::from_text(const std::string& text, const std::string& name) {
  ConfigParser parser{.name = name, .folder = ""};
  return parser.parse(text);
}

void Config::set(const std::string& assignment) {
  size_t equals = assignment.find('=');
  if (equals == std::string::npos)
    fail_user("--set {}: must be KEY=VALUE, like --set train.steps=100", assignment);
  std::string path = assignment.substr(0, equals);
  std::vector<std::string> keys = split_path(path);
  for (const std::string& key : keys) {
    if (key.empty() || key.find_first_of(" \t\n") != std::string::npos)
      fail_user("--set {}: the key must be words with dots between, like train.steps", assignment);
  }
  // A path on the command line starts, as any other there, at the working directory.
  ConfigParser parser{.name = "--set " + path, .with_lines = false, .folder = ""};
  Config value = parser.parse(assignment.substr(equals + 1));
  *ConfigParser::descend(this, keys, value) = value;
}

void Config::set(const std::string& path, const Config& value) {
  *ConfigParser::descend(this, split_path(path), value) = value;
}

void Config::merge(const Config& over) {
  if (kind_ != Kind::kMap || over.kind_ != Kind::kMap) {
    *this = over;
    return;
  }
  for (const auto& [key, value] : over.fields_) field(key).merge(value);
}

void Config::remove(const std::string& key) {
  std::erase_if(fields_, [&](const auto& field) { return field.first == key; });
}

const Config* Config::find(const std::string& key) const {
  for (const auto& [name, value] : fields_) {
    if (name == key) return &value;
  }
  return nullptr;
}

Config Config::of_scalar(std::string text, bool quoted) {
  Config config;
  config.kind_ = Kind::kScalar;
  config.scalar_ = std::move(text);
  config.quoted_ = quoted;
  return config;
}

Config Config::of_list(std::vector<Config> items) {
  Config config;
  config.kind_ = Kind::kList;
  config.items_ = std::move(items);
  return config;
}

Config& Config::field(const std::string& key) {
  for (auto& [name, value] : fields_) {
    if (name == key) return value;
  }
  return fields_.emplace_back(key, Config()).second;
}

}  // namespace lookback
