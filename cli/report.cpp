#include "cli/cli.h"
#include "core/files.h"
#include "core/log.h"
#include "study/page_figures.h"
#include "study/run_report.h"

namespace lookback::cli {

void write_run_report(const std::string& folder) {
  Page page = run_report(folder, quoted(program()));
  write_file(folder + "/report.html", html(page));
  write_figures(svg_figures(page), folder);
}

int report(const Words& words) {
  std::string folder;
  bool text = false;
  Arguments arguments(
      "report",
      "Writes report.html into a run folder: learning curves, accuracy by source length, where the "
      "decoder looks,\n"
      "the configuration. `train` does so at its end; this is for runs that were interrupted or "
      "moved.",
      "  lookback report runs/copy_bahdanau\n"
      "  lookback report runs/copy_bahdanau --text");
  arguments.needed("RUN", folder, "A run folder");
  arguments.flag("--text", text, "Print it instead, as text");
  arguments.threads();
  if (!arguments.parse(words)) return 0;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (text) {
    print(plain_text(run_report(folder, quoted(program()))));
    return 0;
  }
  write_run_report(folder);
  log_info("{}/report.html", folder);
  return 0;
}

}  // namespace lookback::cli
