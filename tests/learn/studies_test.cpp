// Every study of configs/studies/ is read in both forms, and one model of each point of its grid is
// trained for a step and measured.

#include <gtest/gtest.h>

#include <filesystem>

#include "study/study.h"
#include "study/study_report.h"
#include "support/text_folder.h"

namespace lookback {
namespace {

const std::string kFolder = std::string(LOOKBACK_SOURCE_DIR) + "/configs/studies/";

std::vector<std::string> shipped() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    files.push_back(entry.path().filename().string());
  return files;
}

class ShippedStudy : public testing::TestWithParam<std::string> {};

TEST_P(ShippedStudy, IsReadInBothForms) {
  Config study = Config::from_file(kFolder + GetParam());
  StudyPlan quick = read_study(study), full = read_study(study, {.full = true});
  EXPECT_EQ(quick.name + ".yaml", GetParam());
  EXPECT_FALSE(quick.about.empty());
  EXPECT_GT(full.cells.size(), quick.cells.size());
}

TEST_P(ShippedStudy, TrainsOneStepOfEachPoint) {
  // The models of the study on text are stepped by ConfigFile; measuring them takes long.
  if (GetParam() == "multi30k.yaml") GTEST_SKIP() << "is on text";
  StudyPlan plan = read_study(Config::from_file(kFolder + GetParam()),
                              {.settings = {"train.steps=1", "data.held_out.examples=20",
                                            "test.examples=1", "test.gradient_examples=1"},
                               .seeds = 1});
  TextFolder folder;
  StudyResults results = run_study(plan, {.folder = folder.path("out")});
  for (const StudyResults::Entry& entry : results.entries)
    EXPECT_EQ(entry.failure, "") << entry.cell->label();
  StudyReport report = make_report(plan, results, folder.path("out"), "again");
  EXPECT_GE(report.figures.size(), 1u);
  write_report(plan, results, report, folder.path("out"));
}

INSTANTIATE_TEST_SUITE_P(Studies, ShippedStudy, testing::ValuesIn(shipped()), [](const auto& info) {
  return info.param.substr(0, info.param.find('.'));
});

}  // namespace
}  // namespace lookback
