#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "cli/cli.h"
#include "core/error.h"
#include "core/numbers.h"
#include "core/threads.h"

namespace lookback::cli {

namespace {

/// CLI11 puts what is not required into brackets; whether an argument is missing is checked here,
/// after misspelt options, which are the likelier mistake.
class Layout : public CLI::Formatter {
 public:
  std::set<std::string> may_be_left_out;  // arguments without a name

  Layout() {
    column_width(30);
    label("Positionals", "Arguments");
    label("OPTIONS", "options");
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    std::string name = make_option_name(option, true);
    return may_be_left_out.contains(name) ? "[" + name + "]" : name;
  }
};

}  // namespace

struct Arguments::Parser {
  /// An argument: how CLI11 knows it, and what to do with the words that it got.
  struct Entry {
    std::string name;
    CLI::Option* option;
    bool needed = false;
    bool repeats = false;
    bool is_flag = false;
    std::function<void(const std::string& word)> take;
  };

  std::string verb;
  CLI::App app;
  std::vector<Entry> entries;
  int64_t threads = 0;
  std::shared_ptr<Layout> layout = std::make_shared<Layout>();

  Parser(const std::string& verb, const std::string& about)
      : verb(verb), app(about, "lookback " + verb) {}

  CLI::Option* add(const std::string& name, const std::string& form, const std::string& help,
                   std::function<void(const std::string& word)> take) {
    CLI::Option* option = app.add_option(name);
    option->description(help)->option_text(form);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    entries.push_back({.name = name, .option = option, .take = std::move(take)});
    return option;
  }

  [[noreturn]] void refuse(const std::string& text) const { fail_user("{}: {}", verb, text); }

  std::vector<std::string> option_names() const {
    std::vector<std::string> names = {"--help"};
    for (const Entry& entry : entries)
      if (entry.name.starts_with("--")) names.push_back(entry.name);
    return names;
  }
  std::string argument_names() const {
    std::string names;
    for (const Entry& entry : entries)
      if (!entry.name.starts_with("-")) names += (names.empty() ? "" : " ") + entry.name;
    return names;
  }

  void refuse_extra(const std::string& word) const {
    if (word.starts_with("-") && word.size() > 1)
      refuse(unknown_name("option", word.substr(0, word.find('=')), option_names()));
    std::string known = argument_names();
    refuse(format("unexpected argument \"{}\"; {}", word,
                  known.empty() ? "only options are expected" : "expected only " + known));
  }

  void split(const Words& words) {
    // CLI11 takes the words from the back.
    Words reversed(words.rbegin(), words.rend());
    try {
      app.parse(std::move(reversed));
    } catch (const CLI::ArgumentMismatch& error) {
      // `--run: 1 required missing`, or `option resume was given a disallowed flag override`
      std::string text = error.what();
      for (const Entry& entry : entries)
        if (entry.is_flag && text.find(entry.name.substr(2)) != std::string::npos)
          refuse(format("option {} takes no value", entry.name));
      refuse(format("option {} needs a value", text.substr(0, text.find(':'))));
    } catch (const CLI::CallForHelp&) {
      throw;
    } catch (const CLI::ParseError& error) {
      refuse(error.what());
    }
    for (const Entry& entry : entries) check_words(entry);
    for (const std::string& word : app.remaining())
      if (word != "--") refuse_extra(word);  // CLI11 keeps this mark of its own among what is left
  }

  void check_words(const Entry& entry) const {
    for (const std::string& word : entry.option->results()) {
      // `--run --resume` has lost its value; nobody means a folder of that name.
      if (!entry.needed && word.starts_with("--"))
        refuse(format("option {} needs a value, but {} follows", entry.name, word));
      if (word.empty()) refuse(format("{} is empty", entry.name));
    }
  }

  void hand_over(const Entry& entry) const {
    const std::vector<std::string>& given = entry.option->results();
    if (entry.needed && given.empty())
      refuse(format("{} is missing; try: lookback {} --help", entry.name, verb));
    if (given.size() > 1 && !entry.repeats)
      refuse(format("{} is given {} times, must be once", entry.name, given.size()));
    for (const std::string& word : given) entry.take(word);
  }
};

Arguments::Arguments(const std::string& verb, const std::string& about, const std::string& examples)
    : parser_(std::make_unique<Parser>(verb, about)) {
  parser_->app.formatter(parser_->layout);
  parser_->app.set_help_flag("-h,--help", "Print this text");
  parser_->app.allow_extras();
  if (!examples.empty()) parser_->app.footer("Examples:\n" + examples);
}

Arguments::~Arguments() = default;

void Arguments::needed(const std::string& name, std::string& value, const std::string& help) {
  parser_->add(name, " ", help, [&value](const std::string& word) { value = word; });
  parser_->entries.back().needed = true;
}

void Arguments::optional(const std::string& name, std::string& value, const std::string& help) {
  parser_->add(name, " ", help, [&value](const std::string& word) { value = word; });
  parser_->layout->may_be_left_out.insert(name);
}

void Arguments::flag(const std::string& option, bool& value, const std::string& help) {
  Parser& parser = *parser_;
  CLI::Option* added = parser.app.add_flag(option, help);
  added->disable_flag_override()->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  parser.entries.push_back({.name = option,
                            .option = added,
                            .repeats = true,
                            .is_flag = true,
                            .take = [&value](const std::string&) { value = true; }});
}

void Arguments::text(const std::string& option, const std::string& form, std::string& value,
                     const std::string& help) {
  parser_->add(option, form, help, [&value](const std::string& word) { value = word; });
}

void Arguments::texts(const std::string& option, const std::string& form,
                      std::vector<std::string>& values, const std::string& help) {
  parser_->add(option, form, help, [&values](const std::string& word) { values.push_back(word); });
  parser_->entries.back().repeats = true;
}

void Arguments::choice(const std::string& option, std::string& value,
                       const std::vector<std::string>& known, const std::string& help) {
  std::string form;
  for (const std::string& name : known) form += (form.empty() ? "" : "|") + name;
  parser_->add(option, form, help, [=, this, &value](const std::string& word) {
    if (std::find(known.begin(), known.end(), word) == known.end())
      parser_->refuse(format("{}: {}", option, unknown_name("value", word, known)));
    value = word;
  });
}

void Arguments::whole(const std::string& option, int64_t& value, const Range& range,
                      const std::string& help) {
  parser_->add(option, "N", help, [=, this, &value](const std::string& word) {
    std::optional<int64_t> number = parse_whole(word);
    if (!number || !accepts(range, static_cast<double>(*number)))
      parser_->refuse(
          format("{}: must be a whole number {}, but is {}", option, text_of(range), word));
    value = *number;
  });
}

void Arguments::number(const std::string& option, double& value, const Range& range,
                       const std::string& help) {
  parser_->add(option, "X", help, [=, this, &value](const std::string& word) {
    std::optional<double> number = parse_number(word);
    if (!number || !accepts(range, *number))
      parser_->refuse(format("{}: must be a number {}, but is {}", option, text_of(range), word));
    value = *number;
  });
}

void Arguments::seed(const std::string& option, std::optional<uint64_t>& value,
                     const std::string& help) {
  parser_->add(option, "N", help, [=, this, &value](const std::string& word) {
    value = parse_unsigned(word);
    if (!value)
      parser_->refuse(format("{}: must be a whole number between 0 and {}, but is {}", option,
                             std::numeric_limits<uint64_t>::max(), word));
  });
}

void Arguments::threads() {
  whole("--threads", parser_->threads, between(1, 1024),
        "Threads; the results do not depend on it (default: the cores)");
}

int64_t Arguments::given_threads() const {
  return parser_->threads;
}

bool Arguments::parse(const Words& words) {
  try {
    parser_->split(words);
  } catch (const CLI::CallForHelp&) {
    print(parser_->app.help());
    return false;
  }
  for (const Parser::Entry& entry : parser_->entries) parser_->hand_over(entry);
  if (parser_->threads > 0) set_threads(static_cast<int>(parser_->threads));
  return true;
}

}  // namespace lookback::cli
