#include "study/labs/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lookback {

void Judge::check(const std::string& what, const std::string& claimed, const std::string& measured,
                  bool holds) {
  report_.findings.push_back(
      {.what = what, .claimed = claimed, .measured = measured, .holds = holds});
}

void Judge::near(const std::string& what, double claimed, double measured, double tolerance) {
  std::string text = tolerance == 0 ? "exactly " + short_text(claimed)
                                    : format("{} ± {}", short_text(claimed), short_text(tolerance));
  check(what, text, short_text(measured), std::abs(measured - claimed) <= tolerance);
}

void Judge::near(const std::string& what, const Numbers& claimed, const Numbers& measured,
                 double tolerance, int places) {
  bool holds = claimed.size() == measured.size();
  for (size_t i = 0; holds && i < claimed.size(); ++i)
    holds = std::abs(measured[i] - claimed[i]) <= tolerance;
  check(what, joined(claimed, places), joined(measured, places), holds);
}

void Judge::within_share(const std::string& what, double claimed, double measured, double share) {
  check(what, format("{} within {}%", short_text(claimed), short_text(100 * share)),
        short_text(measured), std::abs(measured / claimed - 1) <= share);
}

void Judge::at_most(const std::string& what, double limit, double measured) {
  check(what, format("at most {}", short_text(limit)), short_text(measured), measured <= limit);
}

void Judge::at_least(const std::string& what, double limit, double measured) {
  check(what, format("at least {}", short_text(limit)), short_text(measured), measured >= limit);
}

void Judge::between(const std::string& what, double low, double high, double measured) {
  check(what, format("{} to {}", short_text(low), short_text(high)), short_text(measured),
        measured >= low && measured <= high);
}

void Judge::exactly(const std::string& what, uint64_t claimed, uint64_t measured) {
  check(what, grouped(claimed), grouped(measured), claimed == measured);
}

LabReport Judge::report(const std::string& left_out) && {
  report_.left_out = left_out;
  return std::move(report_);
}

std::string short_text(double value) {
  return format("{:.4g}", value);
}

std::string grouped(uint64_t value) {
  std::string digits = format("{}", value), out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string joined(const Numbers& values, int places) {
  std::string out;
  for (double value : values) out += format("{}{:.{}f}", out.empty() ? "" : " ", value, places);
  return out;
}

std::string course(const Numbers& values) {
  std::string out;
  for (double value : values) out += (out.empty() ? "" : " -> ") + short_text(value);
  return out;
}

bool rises(const Numbers& values) {
  for (size_t i = 1; i < values.size(); ++i)
    if (!(values[i] > values[i - 1])) return false;
  return values.size() > 1;
}

bool falls(const Numbers& values) {
  for (size_t i = 1; i < values.size(); ++i)
    if (!(values[i] < values[i - 1])) return false;
  return values.size() > 1;
}

double larger(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

double smaller(double a, double b) {
  return -larger(-a, -b);
}

double median(Numbers values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double exponent(const Numbers& x, const Numbers& y) {
  double n = static_cast<double>(x.size()), sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double a = std::log(x[i]), b = std::log(y[i]);
    sx += a;
    sy += b;
    sxx += a * a;
    sxy += a * b;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

}  // namespace lookback
