#pragma once

#include <optional>

#include "study/cell.h"

namespace lookback {

/// How a study went.
struct StudyResults {
  struct Entry {
    const StudyCell* cell;
    std::optional<CellResult> result;  ///< none where the cell failed, or was not reached
    std::string failure;               ///< why it failed; empty: it did not
    bool kept = false;                 ///< it had been finished before
  };
  std::vector<Entry> entries;  ///< a cell each, in the plan's order
  int64_t kept = 0;            ///< cells that had been finished before
  bool interrupted = false;

  int64_t finished() const;
  int64_t failed() const;
};

/// What is told while a study runs. Calls come from several threads, one at a time.
struct StudyWatch {
  std::function<void(int64_t cells, int64_t side_by_side)> on_start;
  std::function<void(const StudyCell&, const Progress&)> on_progress;
  /// A cell has ended; the counts include it.
  std::function<void(const StudyResults::Entry&, int64_t done, int64_t cells)> on_cell;
};

struct StudyRun {
  std::string folder;
  int64_t jobs = 0;        ///< cells side by side; 0: as many as threads() says
  bool overwrite = false;  ///< cells of another configuration are trained anew
  const std::atomic<bool>* stop = nullptr;
  StudyWatch watch = {};
};

/// Trains and measures every cell of a study, each on one thread, several side by side. The folder
/// then holds study.yaml (resolved), and cells/NAME/ with a run folder and a result.json each. Cells
/// that are finished are not repeated, an interrupted one goes on where it was; a cell that fails
/// is named with its reason, and the others go on. No result depends on `jobs`. `plan` must outlive
/// what is returned. UserError where another process works in the folder.
StudyResults run_study(const StudyPlan& plan, const StudyRun& run);

}  // namespace lookback
