#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lookback {

enum class Phase { kForward, kBackward, kAround };

/// What one kind of work took in all.
struct ProfileRow {
  Phase phase;
  std::string name;  ///< of an op, or of what was done around the ops
  int64_t calls = 0;
  double elsewhere = 0;  ///< seconds outside of matrix products
  double products = 0;   ///< seconds inside of them
  double flops = 0;      ///< of these products
  double seconds() const { return elsewhere + products; }
};

/// All rows and what they add up to: `seconds` is the sum of the rows and of `unattributed`.
struct ProfileReport {
  double seconds = 0;
  double unattributed = 0;
  std::vector<ProfileRow> rows;  ///< by phase, then by falling time
  double of(Phase phase) const;  ///< seconds
};

namespace detail {

/// Writes down what one thread spends its time on. Scopes nest: what an inner one takes is not
/// counted for the outer.
class ProfileClock {
 public:
  ProfileClock();
  void open(Phase phase, const char* name);
  void close();
  void lap(const char* op);
  void open_product();
  void close_product(double flops);

  /// What went by since the last call of any of these goes to the innermost scope.
  void catch_up() { scopes_.back().elsewhere += elapsed(); }
  /// Seconds since the last call of any of these, for the caller to count.
  double elapsed();
  void count(const ProfileRow& row);
  void count_unattributed(double seconds) { scopes_.front().elsewhere += seconds; }

  const std::vector<ProfileRow>& rows() const { return rows_; }
  double unattributed() const { return scopes_.front().elsewhere + scopes_.front().products; }

 private:
  struct Scope {
    Phase phase;
    const char* name;
    double elsewhere = 0, products = 0, flops = 0;
  };
  void count(Phase phase, const char* name, const Scope& what);
  ProfileRow& row(Phase phase, std::string_view name);

  int64_t mark_;
  std::vector<Scope> scopes_;  // open ones, innermost last; the first stands for whatever has none
  std::vector<ProfileRow> rows_;
};

/// Of this thread, or null: then nothing is measured.
inline constinit thread_local ProfileClock* profile_clock = nullptr;

}  // namespace detail

/// While one lives, the time of the thread that made it is written down by what it went to: ops
/// forward and backward, the matrix products in them, and whatever else has a ProfileScope. Without
/// one, each place that could be measured costs one comparison. No result depends on it.
///
/// A loop that an op hands out to several threads counts by how long the calling thread is in it.
/// Products inside such a loop are seen on the calling thread only.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  /// So far; outside of every scope.
  ProfileReport report();

 private:
  detail::ProfileClock clock_;
  detail::ProfileClock* before_;
};

/// Counts the time until its end, less that of scopes and products inside, for (phase, name).
class ProfileScope {
 public:
  ProfileScope(Phase phase, const char* name) : clock_(detail::profile_clock) {
    if (clock_) clock_->open(phase, name);
  }
  ~ProfileScope() {
    if (clock_) clock_->close();
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  detail::ProfileClock* clock_;
};

/// Ops have no scope: one that is done counts all that came since the one before it in a scope of
/// the forward phase. (What a module does between two ops, which is little, so counts for the second.)
inline void profile_op_done(const char* op) {
  if (detail::profile_clock) detail::profile_clock->lap(op);
}

/// A matrix product, inside of any scope.
class ProfileProduct {
 public:
  explicit ProfileProduct(double flops) : clock_(detail::profile_clock), flops_(flops) {
    if (clock_) clock_->open_product();
  }
  ~ProfileProduct() {
    if (clock_) clock_->close_product(flops_);
  }
  ProfileProduct(const ProfileProduct&) = delete;
  ProfileProduct& operator=(const ProfileProduct&) = delete;

 private:
  detail::ProfileClock* clock_;
  double flops_;
};

/// Around work that is shared out to several threads: their rows, each thread's waiting among them,
/// are divided by the number of threads, so that they add up to the time from begin to end.
class ProfileTeam {
 public:
  explicit ProfileTeam(int64_t threads);
  ~ProfileTeam();
  ProfileTeam(const ProfileTeam&) = delete;
  ProfileTeam& operator=(const ProfileTeam&) = delete;

  /// Around one thread's piece of the work, on that thread.
  class Piece {
   public:
    explicit Piece(ProfileTeam& team);
    ~Piece();
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

   private:
    ProfileTeam& team_;
    std::optional<detail::ProfileClock> clock_;  // none where nobody measures
    detail::ProfileClock* before_;
  };

 private:
  detail::ProfileClock* const owner_;
  const double threads_;
  double busy_ = 0;  // seconds of all threads so far, by threads_
  std::mutex mutex_;
};

}  // namespace lookback
