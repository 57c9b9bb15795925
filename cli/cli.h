#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"
#include "core/json.h"

namespace lookback::cli {

/// The words after the verb.
using Words = std::vector<std::string>;

// One verb each; what they return is the program's exit code.
int train(const Words& words);
int evaluate(const Words& words);
int translate(const Words& words);
int score(const Words& words);
int tasks(const Words& words);
int generate(const Words& words);
int bench(const Words& words);
int lab(const Words& words);
int study(const Words& words);
int explain(const Words& words);
int report(const Words& words);

/// What one verb understands. Each call names an argument and the variable that it fills; a
/// variable whose argument is not given keeps its value, which is the default.
class Arguments {
 public:
  /// `about` and `examples` open and close the text of --help.
  Arguments(const std::string& verb, const std::string& about, const std::string& examples);
  ~Arguments();

  /// An argument without a name, which must be given.
  void needed(const std::string& name, std::string& value, const std::string& help);
  /// An argument without a name, which may be left out.
  void optional(const std::string& name, std::string& value, const std::string& help);
  void flag(const std::string& option, bool& value, const std::string& help);
  void text(const std::string& option, const std::string& form, std::string& value,
            const std::string& help);
  /// An option that may be given several times.
  void texts(const std::string& option, const std::string& form, std::vector<std::string>& values,
             const std::string& help);
  void choice(const std::string& option, std::string& value, const std::vector<std::string>& known,
              const std::string& help);
  void whole(const std::string& option, int64_t& value, const Range& range,
             const std::string& help);
  void number(const std::string& option, double& value, const Range& range,
              const std::string& help);
  void seed(const std::string& option, std::optional<uint64_t>& value, const std::string& help);
  /// `--threads N`; parse() then sets the threads of this process.
  void threads();

  /// Fills the variables. False when --help was asked for and printed. UserError, one line, for
  /// what is unknown, missing, given twice or out of range.
  bool parse(const Words& words);
  int64_t given_threads() const;  ///< 0 when --threads was not given

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// Whoever reads our standard output has gone (`| head`): the program ends without a complaint.
struct ReaderGone {};

/// Writes to standard output at once. ReaderGone, or UserError where it cannot be written.
void print(std::string_view text);
/// One JSON object, and nothing else on standard output.
void print_json(const Json& json);

/// Error where a measured value is not finite: a model that has run away must not look measured.
void refuse_not_finite(double value, const std::string& model);
/// report.html of a run folder that holds a model.
void write_run_report(const std::string& folder);
/// How this program was called, for commands that can be pasted.
const std::string& program();
void set_program(const std::string& name);
/// A word of a command line as a shell reads it.
std::string quoted(const std::string& word);

/// After SIGINT or SIGTERM interrupted() is true, and the run ends as soon as it can; the second
/// signal ends the program at once.
void listen_for_signals();
const std::atomic<bool>& interrupted();
constexpr int kInterrupted = 130;  ///< the exit code

/// Everything on standard input.
std::string read_standard_input();

/// `1 step`, `2 steps`
std::string counted(int64_t count, const std::string& thing);

}  // namespace lookback::cli
