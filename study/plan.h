#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config.h"
#include "train/recipe.h"

namespace lookback {

/// What is measured of a trained cell: the section `test` of a study.
struct StudyTest {
  /// Source lengths of a made-up task, the trained ones and longer; empty: those it was trained on.
  std::vector<int64_t> lengths;
  int64_t examples = 100;  ///< of each length
  int64_t bucket = 5;      ///< of text: source lengths that a row of the results covers
  bool bleu = false;       ///< also translate the test set and measure BLEU-4
  /// A length whose sources are followed back from the last output: the norm of d nll / d (word
  /// vector) at every position, before the first step and after the last; 0: not measured.
  int64_t gradient_length = 0;
  int64_t gradient_examples = 20;
  std::string checkpoint = "last";  ///< which model is measured: last (equal steps) or best
};

/// How results are shown: the section `show`.
struct StudyShow {
  std::string metric = "sequence_accuracy";
  std::string panels;  ///< an axis with a figure for each of its choices; empty: one figure
  /// An axis of numbers (sizes) over which a second figure is drawn: where the models' accuracy
  /// falls to one half.
  std::string across;
};

/// One thing that varies, and what it may be.
struct StudyAxis {
  std::string name;
  std::vector<std::string> labels;
};

/// One model to train: a point of the grid, with one seed.
struct StudyCell {
  std::string folder;                ///< under the study's: `copy-gru-fixed-seed1`
  std::vector<std::string> choices;  ///< a label of each axis
  uint64_t seed = 1;
  Config config;  ///< as given to read_recipe
  Recipe recipe;
  StudyTest test;
  std::optional<TaskDataOptions> test_data;  ///< what it is tested on; none for text

  std::string label() const;  ///< `copy, GRU fixed, seed 1`
};

/// A study, read and checked: nothing is trained and no data is opened yet.
struct StudyPlan {
  std::string name;
  std::string title, about;
  StudyShow show;
  std::vector<StudyAxis> axes;
  std::vector<StudyCell> cells;  ///< in the order of the grid, seeds last
  Config resolved;               ///< what was read, the form (quick or full) merged in
};

/// How a study is asked for.
struct StudyForm {
  bool full = false;  ///< what stands under the key `full` is laid over the rest first
  /// `train.steps=100`, `test.examples=20`: keys of every cell, whatever the study says of them.
  std::vector<std::string> settings = {};
  int64_t seeds = 0;  ///< 1, 2, .. up to this; 0: those of the study
};

/// Reads a study. UserError, with its place, for the first thing that is wrong in it, in the form
/// that is not asked for, or in any cell's configuration.
StudyPlan read_study(const Config& study, const StudyForm& form = {});

}  // namespace lookback
