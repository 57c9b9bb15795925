#include <algorithm>
#include <csignal>
#include <exception>
#include <new>

#include "cli/cli.h"
#include "core/error.h"
#include "core/log.h"

namespace lookback::cli {
namespace {

constexpr const char* kVersion = "lookback " LOOKBACK_VERSION;

struct Verb {
  const char* name;
  const char* form;
  const char* about;
  int (*run)(const Words&);
};

constexpr Verb kVerbs[] = {
    {"train", "CONFIG", "train the model that a configuration describes", train},
    {"evaluate", "MODEL_OR_RUN", "accuracy, perplexity and BLEU, by source length", evaluate},
    {"translate", "MODEL_OR_RUN < SOURCE > TARGET", "one line in, one line out", translate},
    {"score", "MODEL_OR_RUN SOURCE TARGET", "log-probabilities of given translations", score},
    {"tasks", "", "the made-up tasks that are built in, with their options", tasks},
    {"generate", "TASK", "write a task's examples as text", generate},
    {"bench", "CONFIG", "time training steps of an exact shape", bench},
    {"report", "RUN", "a run's curves, accuracy and attention as one page", report},
    {"explain", "MODEL_OR_RUN --input TEXT", "attention weights beside what moves the output",
     explain},
    {"study", "STUDY", "many models of one question, trained, measured and drawn", study},
    {"lab", "[NAME]", "the tutorial's claims, measured here and now", lab},
};

/// Verbs that are planned. Naming them keeps `unknown verb` for what is a mistake.
constexpr const char* kLater[] = {"average", "vocab", "doctor"};

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) names.push_back(verb.name);
  return names;
}

std::string overview() {
  std::string text =
      "lookback trains sequence-to-sequence models on the CPU and shows what attention changes.\n\n"
      "Usage: lookback VERB [arguments]\n\nVerbs:\n";
  for (const Verb& verb : kVerbs)
    text += format("  {:<42}{}\n", format("{} {}", verb.name, verb.form), verb.about);
  text +=
      "\n"
      "  lookback VERB --help     all that a verb understands\n"
      "  lookback --version       the version\n"
      "\n"
      "A first run:\n"
      "  lookback train configs/copy_bahdanau.yaml\n"
      "  lookback evaluate runs/copy_bahdanau\n"
      "  echo \"a b c d\" | lookback translate runs/copy_bahdanau\n"
      "\n"
      "Results go to standard output, all else to standard error. Exit codes: 0 all went well; 1 "
      "the run\n"
      "failed; 2 a mistake in the arguments, the configuration or the data; 130 interrupted.\n";
  return text;
}

int dispatch(const Words& words) {
  std::string name = words.empty() ? "help" : words[0];
  Words rest(words.begin() + (words.empty() ? 0 : 1), words.end());
  if (name == "help" && !rest.empty()) {  // `lookback help train`
    name = rest[0];
    rest = {"--help"};
  }
  if (name == "help" || name == "--help" || name == "-h") {
    print(overview());
    return 0;
  }
  if (name == "--version" || name == "-V") {
    print(std::string(kVersion) + "\n");
    return 0;
  }
  for (const Verb& verb : kVerbs)
    if (name == verb.name) return verb.run(rest);
  for (const char* later : kLater)
    if (name == later)
      fail_user("this version ({}) has no verb \"{}\" yet; a later one brings it", kVersion, name);
  if (name.starts_with("-"))
    throw UserError(unknown_name("option", name, {"--help", "--version"}) +
                    "; a verb comes first: lookback train CONFIG");
  throw UserError(unknown_name("verb", name, verb_names()));
}

/// Errors are one line, whatever library their text comes from.
void complain(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  log_status("");
  log_error("{}", text);
}

int run(const Words& words) {
  try {
    return dispatch(words);
  } catch (const ReaderGone&) {
    return 0;
  } catch (const UserError& error) {
    complain(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    complain("not enough memory; a smaller batch or model needs less");
  } catch (const std::exception& error) {
    complain(error.what());
  } catch (...) {
    complain("failed for a reason that it did not tell");
  }
  return 1;
}

}  // namespace
}  // namespace lookback::cli

int main(int count, char** words) {
  if (count > 0) lookback::cli::set_program(words[0]);
  // A reader that has gone, and a file over the size limit, are told by write()'s result instead.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return lookback::cli::run({words + std::min(1, count), words + count});
}
