#include "cli/profile.h"

#include "cli/cli.h"

namespace lookback::cli {
namespace {

double percent(double seconds, const ProfileReport& profile) {
  return profile.seconds > 0 ? 100 * seconds / profile.seconds : 0;
}

}  // namespace

std::string profile_table(const ProfileReport& profile, int64_t steps) {
  auto per_step = [&](double value) { return value / static_cast<double>(steps); };
  auto line = [&](const std::string& name, double seconds) {
    return format("{:<26}{:>9.3f}{:>7.1f}%", name, 1e3 * per_step(seconds),
                  percent(seconds, profile));
  };
  std::string text = format("{:<26}{:>9}{:>8}{:>8}{:>13}{:>9}{:>15}\n", "", "ms", "share", "calls",
                            "products, ms", "GFLOP/s", "elsewhere, ms");
  auto phase = [&](const char* name, Phase which) {
    text += line(name, profile.of(which)) + "\n";
    for (const ProfileRow& row : profile.rows) {
      if (row.phase != which) continue;
      text += line("  " + row.name, row.seconds());
      text += format("{:>8.4g}", per_step(static_cast<double>(row.calls)));
      if (row.products > 0)
        text += format("{:>13.3f}{:>9.1f}{:>15.3f}", 1e3 * per_step(row.products),
                       row.flops / row.products / 1e9, 1e3 * per_step(row.elsewhere));
      text += "\n";
    }
  };
  phase("forward", Phase::kForward);
  phase("backward", Phase::kBackward);
  phase("around", Phase::kAround);
  text += line("unattributed", profile.unattributed) + "\n";
  text += line("all of a step", profile.seconds) + "\n";
  return text;
}

std::string time_line(const ProfileReport& profile, int64_t steps) {
  std::string text = format("where the time of {} went:\n{:<26}{:>9}{:>8}", counted(steps, "step"),
                            "", "s", "share");
  auto line = [&](const std::string& name, double seconds) {
    text += format("\n  {:<24}{:>9.3f}{:>7.2f}%", name, seconds, percent(seconds, profile));
  };
  line("forward", profile.of(Phase::kForward));
  line("backward", profile.of(Phase::kBackward));
  for (const ProfileRow& row : profile.rows)
    if (row.phase == Phase::kAround) line(row.name, row.seconds());
  line("unattributed", profile.unattributed);
  line("in all", profile.seconds);
  return text;
}

}  // namespace lookback::cli
