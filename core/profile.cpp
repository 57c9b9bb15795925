#include "core/profile.h"

#include <algorithm>
#include <chrono>

namespace lookback {

namespace {

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

namespace detail {

ProfileClock::ProfileClock() : mark_(now_ns()) {
  scopes_.push_back({Phase::kAround, "unattributed"});
}

double ProfileClock::elapsed() {
  int64_t before = mark_;
  mark_ = now_ns();
  return static_cast<double>(mark_ - before) / 1e9;
}

void ProfileClock::open(Phase phase, const char* name) {
  catch_up();
  scopes_.push_back({phase, name});
}

void ProfileClock::close() {
  catch_up();
  Scope scope = scopes_.back();
  scopes_.pop_back();
  count(scope.phase, scope.name, scope);
}

void ProfileClock::lap(const char* op) {
  Scope& scope = scopes_.back();
  if (scope.phase != Phase::kForward) return;
  catch_up();
  count(Phase::kForward, op, scope);
  scope = {scope.phase, scope.name};
}

void ProfileClock::open_product() {
  catch_up();
}

void ProfileClock::close_product(double flops) {
  scopes_.back().products += elapsed();
  scopes_.back().flops += flops;
}

void ProfileClock::count(Phase phase, const char* name, const Scope& what) {
  ProfileRow& to = row(phase, name);
  ++to.calls;
  to.elsewhere += what.elsewhere;
  to.products += what.products;
  to.flops += what.flops;
}

void ProfileClock::count(const ProfileRow& what) {
  ProfileRow& to = row(what.phase, what.name);
  to.calls += what.calls;
  to.elsewhere += what.elsewhere;
  to.products += what.products;
  to.flops += what.flops;
}

// A step has a few dozen rows: to look through them costs less than the strings of a map.
ProfileRow& ProfileClock::row(Phase phase, std::string_view name) {
  for (ProfileRow& row : rows_)
    if (row.phase == phase && row.name == name) return row;
  return rows_.emplace_back(ProfileRow{.phase = phase, .name = std::string(name)});
}

}  // namespace detail

using detail::profile_clock;

Profile::Profile() : before_(profile_clock) {
  profile_clock = &clock_;
}

Profile::~Profile() {
  profile_clock = before_;
}

ProfileReport Profile::report() {
  clock_.catch_up();
  ProfileReport out{.unattributed = clock_.unattributed(), .rows = clock_.rows()};
  std::stable_sort(out.rows.begin(), out.rows.end(), [](const ProfileRow& a, const ProfileRow& b) {
    return a.phase != b.phase ? a.phase < b.phase : a.seconds() > b.seconds();
  });
  out.seconds = out.unattributed;
  for (const ProfileRow& row : out.rows) out.seconds += row.seconds();
  return out;
}

double ProfileReport::of(Phase phase) const {
  double sum = 0;
  for (const ProfileRow& row : rows)
    if (row.phase == phase) sum += row.seconds();
  return sum;
}

ProfileTeam::ProfileTeam(int64_t threads)
    : owner_(profile_clock), threads_(static_cast<double>(threads)) {
  if (owner_) owner_->catch_up();
}

ProfileTeam::~ProfileTeam() {
  if (!owner_) return;
  owner_->count({.phase = Phase::kAround,
                 .name = "waiting for other shards",
                 .calls = 1,
                 .elsewhere = owner_->elapsed() - busy_});
}

ProfileTeam::Piece::Piece(ProfileTeam& team) : team_(team), before_(profile_clock) {
  if (team_.owner_) profile_clock = &clock_.emplace();
}

ProfileTeam::Piece::~Piece() {
  if (!clock_) return;
  profile_clock = before_;
  clock_->catch_up();
  double unattributed = clock_->unattributed() / team_.threads_;
  std::lock_guard lock(team_.mutex_);
  team_.owner_->count_unattributed(unattributed);
  team_.busy_ += unattributed;
  for (ProfileRow row : clock_->rows()) {
    row.elsewhere /= team_.threads_;
    row.products /= team_.threads_;
    team_.owner_->count(row);
    team_.busy_ += row.seconds();
  }
}

}  // namespace lookback
