#pragma once

#include <string>
#include <utility>
#include <vector>

#include "study/page.h"
#include "study/results.h"

namespace lookback {

/// A study's report and the figures in it, by name.
struct StudyReport {
  Page page;
  std::vector<std::pair<std::string, Figure>> figures;
};

/// `folder` is the study's, for the learning curves of its cells; `command` repeats it.
StudyReport make_report(const StudyPlan& plan, const StudyResults& results,
                        const std::string& folder, const std::string& command);

/// Writes results.csv, means.csv, gradients.csv where there are any, figures/*.svg and report.html.
void write_report(const StudyPlan& plan, const StudyResults& results, const StudyReport& report,
                  const std::string& folder);

}  // namespace lookback
