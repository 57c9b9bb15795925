#include "study/labs.h"

#include <algorithm>
#include <chrono>

#include "cli/cli.h"
#include "core/error.h"
#include "core/log.h"
#include "study/text_width.h"

namespace lookback::cli {
namespace {

struct Outcome {
  std::string name;
  LabReport report;
  double seconds = 0;
};

const std::string& claim_of(const std::string& name) {
  return labs().entries().at(name).description;
}

Outcome measure(const std::string& name, const LabOptions& options) {
  const Lab& lab = labs().get(name);
  log_status("measuring " + name);
  auto begin = std::chrono::steady_clock::now();
  Outcome outcome{.name = name, .report = lab.run(options)};
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  log_status("");
  return outcome;
}

const char* verdict(const LabReport& report) {
  return report.holds() ? "holds" : "fails";
}

/// A paragraph in lines of at most 98 characters, two blanks before each.
std::string paragraph(const std::string& text) {
  std::string out;
  for (const std::string& line : wrapped(text, 96)) out += "  " + line + "\n";
  return out;
}

std::string as_text(const Outcome& outcome) {
  const LabReport& report = outcome.report;
  std::string text = format("{}  ({})\n{}\n", outcome.name, labs().get(outcome.name).section,
                            paragraph(claim_of(outcome.name)));
  size_t what = 0, claimed = 0;
  for (const Finding& finding : report.findings) {
    what = std::max(what, text_width(finding.what));
    claimed = std::max(claimed, text_width(finding.claimed));
  }
  for (const Finding& finding : report.findings)
    text +=
        format("  {:<5} {:<{}}  claimed {:<{}}  measured {}\n", finding.holds ? "ok" : "FAILS",
               finding.what + ":", what + 1, finding.claimed + ",", claimed + 1, finding.measured);
  if (report.findings.empty()) text += "  nothing was measured\n";
  text += "\n";
  if (!report.left_out.empty()) text += paragraph("Left to --full: " + report.left_out + ".");
  return text + format("  {} {} ({:.1f} s)\n\n", outcome.name, verdict(report), outcome.seconds);
}

Json as_json(const Outcome& outcome) {
  Json findings = Json::array();
  for (const Finding& f : outcome.report.findings)
    findings.push_back(
        {{"what", f.what}, {"claimed", f.claimed}, {"measured", f.measured}, {"holds", f.holds}});
  return {{"name", outcome.name},
          {"section", labs().get(outcome.name).section},
          {"claim", claim_of(outcome.name)},
          {"measured", outcome.report.numbers},
          {"findings", findings},
          {"verdict", verdict(outcome.report)},
          {"left_out", outcome.report.left_out},
          {"seconds", outcome.seconds}};
}

std::string summary(const std::vector<Outcome>& outcomes) {
  std::string failed;
  size_t holding = 0;
  double seconds = 0;
  for (const Outcome& outcome : outcomes) {
    seconds += outcome.seconds;
    if (outcome.report.holds())
      ++holding;
    else
      failed += (failed.empty() ? "" : ", ") + outcome.name;
  }
  std::string text = format("{}: {} hold{}", counted(static_cast<int64_t>(outcomes.size()), "lab"),
                            holding, holding == 1 ? "s" : "");
  size_t failing = outcomes.size() - holding;
  if (failing > 0) text += format(", {} fail{}: {}", failing, failing == 1 ? "s" : "", failed);
  return text + format(" ({:.1f} s)\n", seconds);
}

std::string list() {
  std::string text;
  for (const std::string& name : lab_order())
    text += format("{}  ({})\n{}\n", name, labs().get(name).section, paragraph(claim_of(name)));
  return text;
}

}  // namespace

int lab(const Words& words) {
  std::string name;
  bool full = false, json = false, listed = false;
  std::optional<uint64_t> seed;
  Arguments arguments(
      "lab",
      "Measures what the tutorial (section 2.4) claims, here and now, with this "
      "library's own layers. Exit code 0: all holds; 1: something does not.",
      "  lookback lab\n  lookback lab variance\n  lookback lab memory --full --json");
  arguments.optional("NAME", name, "One lab; without a name all of them, in the tutorial's order");
  arguments.flag("--list", listed, "Print the labs and their claims, and measure nothing");
  arguments.flag("--full", full, "More sizes and draws; minutes instead of seconds");
  arguments.seed("--seed", seed, "Of everything that is drawn (default: 1)");
  arguments.flag("--json", json,
                 "Print one JSON object: {labs: [{name, section, claim, measured, findings, "
                 "verdict, left_out, seconds}]}");
  arguments.threads();
  if (!arguments.parse(words)) return 0;
  if (listed && json) fail_user("lab: --list prints text; leave out --json");
  if (!name.empty()) labs().get(name);  // an unknown one is refused before anything is printed
  if (listed) {
    print(list());
    return 0;
  }

  listen_for_signals();
  LabOptions options{.full = full, .seed = seed.value_or(1), .stop = &interrupted()};
  std::vector<Outcome> outcomes;
  try {
    for (const std::string& each : name.empty() ? lab_order() : std::vector<std::string>{name}) {
      outcomes.push_back(measure(each, options));
      if (!json) print(as_text(outcomes.back()));
    }
  } catch (const Interrupted&) {
    log_status("");
    log_info("interrupted");
    return kInterrupted;
  }
  if (json) {
    Json all = Json::array();
    for (const Outcome& outcome : outcomes) all.push_back(as_json(outcome));
    print_json({{"labs", all}});
  } else if (outcomes.size() > 1) {
    print(summary(outcomes));
  }
  bool hold = std::all_of(outcomes.begin(), outcomes.end(),
                          [](const Outcome& outcome) { return outcome.report.holds(); });
  return hold ? 0 : 1;
}

}  // namespace lookback::cli
