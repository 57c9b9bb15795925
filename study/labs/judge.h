#pragma once

#include <string>
#include <vector>

#include "study/labs.h"

namespace lookback {

using Numbers = std::vector<double>;

/// Gathers findings. Every comparison is false for what is no number, so a NaN never holds.
class Judge {
 public:
  /// `claimed` says in words what `holds` has decided.
  void check(const std::string& what, const std::string& claimed, const std::string& measured,
             bool holds);
  /// |measured - claimed| <= tolerance
  void near(const std::string& what, double claimed, double measured, double tolerance);
  /// The same for several numbers, shown with `places` after the point.
  void near(const std::string& what, const Numbers& claimed, const Numbers& measured,
            double tolerance, int places);
  /// |measured / claimed - 1| <= share
  void within_share(const std::string& what, double claimed, double measured, double share);
  void at_most(const std::string& what, double limit, double measured);
  void at_least(const std::string& what, double limit, double measured);
  void between(const std::string& what, double low, double high, double measured);
  void exactly(const std::string& what, uint64_t claimed, uint64_t measured);

  Json& numbers() { return report_.numbers; }
  LabReport report(const std::string& left_out = "") &&;

 private:
  LabReport report_;
};

/// `3.98`, `4.54e-05`: four digits that count.
std::string short_text(double value);
/// `17,179,869,184`
std::string grouped(uint64_t value);
std::string joined(const Numbers& values, int places);
/// `a -> b -> c`: how a quantity goes.
std::string course(const Numbers& values);
bool rises(const Numbers& values);
bool falls(const Numbers& values);

/// Of two; what is no number stays, so that nothing that comes later hides it.
double larger(double a, double b);
double smaller(double a, double b);
double median(Numbers values);
/// k of y = a x^k: the slope of log y over log x by least squares.
double exponent(const Numbers& x, const Numbers& y);

}  // namespace lookback
