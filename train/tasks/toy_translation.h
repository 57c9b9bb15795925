#pragma once

#include <memory>

#include "train/task.h"

namespace lookback {

/// From a small English to an invented language, one right translation each:
///
///     those wild white fish heard these black clever trout
///     lupi sikan nuti kiri kake lomel lede boke gedant
///
/// For the curves of translation quality by sentence length without a corpus. The grammar:
///
/// - sentence = clause (conjunction clause)*; clause = NP verb NP; NP = determiner adjective* noun,
///   with at most three adjectives, all different.
/// - Verbs go to the end of their clause (subject, object, verb), adjectives behind their noun.
/// - Nouns are masculine (-an) or feminine (-el). Determiners and adjectives agree with their noun in
///   gender and number: -o masculine, -a feminine, -i masculine plural, -e feminine plural. Number
///   stands in the determiners (this, that, these, those; nouns of the English side are spelled alike
///   in both, as sheep is).
/// - Verbs agree with the subject's number: -at, plural -ant.
std::unique_ptr<Task> make_toy_translation(Section& section);

}  // namespace lookback
