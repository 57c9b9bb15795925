#include "core/profile.h"

#include <gtest/gtest.h>

#include <chrono>

#include "core/gemm.h"
#include "core/threads.h"

namespace lookback {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

constexpr double kSpin = 2e-3;

void spin() {
  for (Clock::time_point begin = Clock::now(); seconds_since(begin) < kSpin;) {
  }
}

/// The report of what `body` does. Its sum, that of the rows and the rest, is held between a clock
/// inside and a clock around: rows that counted a time twice, or left one out, would not fit.
ProfileReport profiled(auto&& body) {
  Clock::time_point around = Clock::now();
  Profile profile;
  Clock::time_point inside = Clock::now();
  body();
  double least = seconds_since(inside);
  ProfileReport report = profile.report();
  double most = seconds_since(around);
  constexpr double kRounding = 1e-9;
  EXPECT_GE(report.seconds, least - kRounding);
  EXPECT_LE(report.seconds, most + kRounding);
  EXPECT_GE(report.unattributed, 0);
  double sum = report.unattributed;
  for (const ProfileRow& row : report.rows) {
    EXPECT_GE(row.elsewhere, 0) << row.name;
    EXPECT_GE(row.products, 0) << row.name;
    sum += row.seconds();
  }
  EXPECT_DOUBLE_EQ(sum, report.seconds);
  return report;
}

const ProfileRow& find(const ProfileReport& report, Phase phase, const std::string& name) {
  static const ProfileRow none{};
  for (const ProfileRow& row : report.rows)
    if (row.phase == phase && row.name == name) return row;
  ADD_FAILURE() << "no row " << name;
  return none;
}

TEST(Profile, is_off_unless_one_lives) {
  EXPECT_EQ(detail::profile_clock, nullptr);
  { ProfileScope nobody_measures(Phase::kAround, "outside"); }
  profile_op_done("outside");
  {
    Profile profile;
    EXPECT_NE(detail::profile_clock, nullptr);
    EXPECT_TRUE(profile.report().rows.empty());
  }
  EXPECT_EQ(detail::profile_clock, nullptr);
}

TEST(Profile, a_scope_inside_takes_its_time_from_the_one_around) {
  ProfileReport report = profiled([] {
    spin();
    ProfileScope outer(Phase::kAround, "outer");
    spin();
    for (int i = 0; i < 3; ++i) {
      ProfileScope inner(Phase::kAround, "inner");
      spin();
    }
  });
  EXPECT_GE(report.unattributed, kSpin);
  EXPECT_GE(find(report, Phase::kAround, "outer").elsewhere, kSpin);
  EXPECT_EQ(find(report, Phase::kAround, "outer").calls, 1);
  EXPECT_GE(find(report, Phase::kAround, "inner").elsewhere, 3 * kSpin);
  EXPECT_EQ(find(report, Phase::kAround, "inner").calls, 3);
  EXPECT_DOUBLE_EQ(report.of(Phase::kAround), report.seconds - report.unattributed);
}

TEST(Profile, an_op_has_what_came_since_the_op_before_it) {
  ProfileReport report = profiled([] {
    profile_op_done("outside of the forward phase");
    ProfileScope forward(Phase::kForward, "the rest");
    spin();
    profile_op_done("a");
    spin();
    spin();
    profile_op_done("b");
    {
      ProfileScope backward(Phase::kBackward, "a");
      profile_op_done("in a backward");
    }
    profile_op_done("a");
  });
  EXPECT_EQ(report.rows.size(), 4u);
  EXPECT_EQ(find(report, Phase::kForward, "a").calls, 2);
  EXPECT_GE(find(report, Phase::kForward, "a").elsewhere, kSpin);
  EXPECT_EQ(find(report, Phase::kForward, "b").calls, 1);
  EXPECT_GE(find(report, Phase::kForward, "b").elsewhere, 2 * kSpin);
  EXPECT_EQ(find(report, Phase::kForward, "the rest").calls, 1);
  EXPECT_EQ(find(report, Phase::kBackward, "a").calls, 1);
}

TEST(Profile, products_are_told_from_the_rest_of_their_op) {
  std::vector<Real> a(6, 1), b(12, 1), c(8);
  ProfileReport report = profiled([&] {
    ProfileScope forward(Phase::kForward, "the rest");
    for (int i = 0; i < 5; ++i)
      gemm(matrix(a.data(), 2, 3), matrix(b.data(), 3, 4), mutable_matrix(c.data(), 2, 4));
    profile_op_done("op");
  });
  const ProfileRow& op = find(report, Phase::kForward, "op");
  EXPECT_EQ(op.flops, 5 * 2 * 2 * 3 * 4);
  EXPECT_GT(op.products, 0);
  EXPECT_EQ(find(report, Phase::kForward, "the rest").products, 0);
  EXPECT_EQ(find(report, Phase::kForward, "the rest").flops, 0);
}

TEST(Profile, of_threads_side_by_side_the_mean_counts) {
  int before = threads();
  for (int count : {1, 2, 3}) {
    set_threads(count);
    ProfileReport report = profiled([&] {
      ProfileTeam team(count);
      parallel_tasks(3, [&](int64_t i) {
        ProfileTeam::Piece piece(team);
        ProfileScope scope(Phase::kAround, i == 0 ? "long" : "short");
        for (int64_t spins = i == 0 ? 4 : 1; spins > 0; --spins) spin();
      });
    });
    EXPECT_EQ(find(report, Phase::kAround, "long").calls, 1);
    EXPECT_GE(find(report, Phase::kAround, "long").elsewhere, 4 * kSpin / count);
    EXPECT_EQ(find(report, Phase::kAround, "short").calls, 2);
    EXPECT_GE(find(report, Phase::kAround, "short").elsewhere, 2 * kSpin / count);
    find(report, Phase::kAround, "waiting for other shards");
  }
  set_threads(before);
}

TEST(Profile, one_inside_another_has_its_own_rows) {
  ProfileReport outer = profiled([] {
    ProfileReport inner = profiled([] { ProfileScope scope(Phase::kAround, "inner"); });
    EXPECT_EQ(inner.rows.size(), 1u);
    ProfileScope scope(Phase::kAround, "outer");
  });
  EXPECT_EQ(outer.rows.size(), 1u);
  EXPECT_EQ(outer.rows[0].name, "outer");
}

}  // namespace
}  // namespace lookback
