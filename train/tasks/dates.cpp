#include "train/tasks/dates.h"

#include <array>
#include <chrono>
#include <set>

#include "core/error.h"

namespace lookback {
namespace {

struct DateOptions {
  int64_t first_year = 1900;
  int64_t last_year = 2099;
};

constexpr std::array<const char*, 12> kMonths = {"january",   "february", "march",    "april",
                                                 "may",       "june",     "july",     "august",
                                                 "september", "october",  "november", "december"};
constexpr std::array<const char*, 7> kWeekdays = {"sunday",   "monday", "tuesday", "wednesday",
                                                  "thursday", "friday", "saturday"};

/// How a date may be written: D a day of one or two digits, O its ending, M a month, Y a year of
/// four digits; other words stand as they are.
constexpr std::array<const char*, 4> kForms = {"D M Y", "M D , Y", "M D O , Y", "the D O of M Y"};
/// Tokens of each form beside the day's digits.
constexpr std::array<int64_t, 4> kFormLengths = {5, 6, 7, 8};
constexpr int64_t kWeekdayLength = 2;  // `friday ,` before a form

constexpr int64_t kMinLength = 6, kMaxLength = 12;

/// What a length leaves open.
struct Shape {
  size_t form;
  bool weekday;
  bool two_digits;  ///< of the day
};

std::vector<Shape> shapes_of(int64_t length) {
  std::vector<Shape> shapes;
  for (size_t form = 0; form < kForms.size(); ++form)
    for (bool weekday : {false, true})
      for (bool two_digits : {false, true})
        if (kFormLengths[form] + weekday * kWeekdayLength + 1 + two_digits == length)
          shapes.push_back({form, weekday, two_digits});
  return shapes;
}

std::string spaced(const std::string& digits) {
  std::string text;
  for (char digit : digits) text += std::string(text.empty() ? "" : " ") + digit;
  return text;
}

const char* ending(unsigned day) {
  if (day / 10 == 1) return "th";
  return day % 10 == 1 ? "st" : day % 10 == 2 ? "nd" : day % 10 == 3 ? "rd" : "th";
}

std::vector<std::string> digits() {
  return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
}

std::vector<std::string> source_words() {
  std::vector<std::string> words = digits();
  for (const char* word : {"st", "nd", "rd", "th", "the", "of", ","}) words.push_back(word);
  for (const char* weekday : kWeekdays) words.push_back(weekday);
  std::set<std::string> months;  // `may` is short already
  for (const char* month : kMonths)
    for (const std::string& word : {std::string(month), std::string(month, 3)})
      if (months.insert(word).second) words.push_back(word);
  return words;
}

std::vector<std::string> target_words() {
  std::vector<std::string> words = digits();
  words.push_back("-");
  return words;
}

class DatesTask final : public Task {
 public:
  explicit DatesTask(const DateOptions& options)
      : options_(options), source_(source_words()), target_(target_words()) {}

  const Vocabulary& source_vocabulary() const override { return source_; }
  const Vocabulary& target_vocabulary() const override { return target_; }
  int64_t min_length() const override { return kMinLength; }
  int64_t max_length() const override { return kMaxLength; }

  Example sample(int64_t length, Random& random) const override {
    std::vector<Shape> shapes = shapes_of(length);
    Shape shape = shapes[static_cast<size_t>(random.below(static_cast<int64_t>(shapes.size())))];
    std::chrono::year_month_day date = draw_date(shape.two_digits, random);
    bool short_month = random.below(2) == 1;
    int year = static_cast<int>(date.year());
    unsigned month = static_cast<unsigned>(date.month()), day = static_cast<unsigned>(date.day());

    std::string text;
    if (shape.weekday)
      text = format("{} , ",
                    kWeekdays[std::chrono::weekday(std::chrono::sys_days(date)).c_encoding()]);
    for (const char* c = kForms[shape.form]; *c; ++c) {
      if (*c == 'D')
        text += spaced(std::to_string(day));
      else if (*c == 'O')
        text += ending(day);
      else if (*c == 'M')
        text += std::string(kMonths[month - 1]).substr(0, short_month ? 3 : 9);
      else if (*c == 'Y')
        text += spaced(std::to_string(year));
      else
        text += *c;
    }
    return {source_.encode(text),
            target_.encode(spaced(format("{:04}-{:02}-{:02}", year, month, day)))};
  }

  std::string description() const override {
    return format("dates, years {} to {}", options_.first_year, options_.last_year);
  }

 private:
  /// A day that exists, of one or two digits.
  std::chrono::year_month_day draw_date(bool two_digits, Random& random) const {
    using namespace std::chrono;
    year y(static_cast<int>(options_.first_year +
                            random.below(options_.last_year - options_.first_year + 1)));
    month m(static_cast<unsigned>(1 + random.below(12)));
    unsigned last = static_cast<unsigned>((y / m / std::chrono::last).day());
    int64_t d = two_digits ? 10 + random.below(last - 9) : 1 + random.below(9);
    return y / m / day(static_cast<unsigned>(d));
  }

  DateOptions options_;
  Vocabulary source_, target_;
};

}  // namespace

std::unique_ptr<Task> make_dates(Section& section) {
  DateOptions options;
  section.read("first_year", options.first_year, between(1000, 9999));
  section.read("last_year", options.last_year, between(1000, 9999));
  if (options.last_year < options.first_year)
    section.refuse("last_year", format("{} is before first_year, which is {}", options.last_year,
                                       options.first_year));
  return std::make_unique<DatesTask>(options);
}

}  // namespace lookback
