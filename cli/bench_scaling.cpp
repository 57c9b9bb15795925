#include <filesystem>

#include "cli/bench.h"
#include "cli/cli.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "study/scaling.h"

namespace lookback::cli {

void bench_scaling(const Config& config, const BenchOptions& shape, const std::string& report,
                   const std::string& command, bool json) {
  // Before minutes of measuring, not after them.
  std::filesystem::path folder = std::filesystem::path(report).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    fail_user("bench: --report {}: there is no folder {}", report, folder.string());
  if (!report.empty() && std::filesystem::is_directory(report))
    fail_user("bench: --report {} is a folder; name a file", report);
  Scaling scaling = measure_scaling(config, shape);
  Page page = scaling_page(scaling, command);
  if (!report.empty()) write_file(report, html(page));
  if (json) {
    print_json(scaling.json());
  } else {
    print(plain_text(page));
  }
}

}  // namespace lookback::cli
