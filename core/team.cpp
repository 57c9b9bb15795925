#include "core/team.h"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/products.h"

namespace lookback {
namespace {

/// How often a waiting thread looks before it sleeps.
constexpr int kLooks = 2000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Waits until the value is no longer `old`.
void await_change(const std::atomic<int>& value, int old) {
  for (int i = 0; i < kLooks; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

/// One thread and the place where its work is left. The place outlives every use, so that a thread
/// which has just reported to be idle touches nothing of its caller's.
class Member {
 public:
  explicit Member(int number) : number_(number) {
    std::thread([this] { loop(); }).detach();
  }

  void start(void (*work)(void*, int), void* context) {
    work_ = work;
    context_ = context;
    products_ = products();
    become(kBusy);
  }
  void finish() const { await_change(state_, kBusy); }

 private:
  static constexpr int kIdle = 0, kBusy = 1;

  void become(int state) {
    state_.store(state, std::memory_order_release);
    state_.notify_one();
  }

  void loop() {
    for (;;) {
      await_change(state_, kIdle);
      detail::products = products_;
      work_(context_, number_);
      become(kIdle);
    }
  }

  int number_;
  void (*work_)(void*, int) = nullptr;
  void* context_ = nullptr;
  Products products_ = Products::kFloat;  // of the thread whose work it is
  std::atomic<int> state_{kIdle};
};

struct Team {
  std::mutex busy;
  std::vector<std::unique_ptr<Member>> members;  // member i + 1
};

/// Never destroyed: its threads sleep until the process ends.
Team* team = nullptr;

Team& the_team() {
  static std::once_flag once;
  std::call_once(once, [] {
    team = new Team;
    // A child process has only the thread that forked; it gets a team of its own.
    pthread_atfork(nullptr, nullptr, [] { team = new Team; });
  });
  return *team;
}

}  // namespace

void run_team(int count, void (*work)(void*, int), void* context) {
  Team& t = the_team();
  std::unique_lock lock(t.busy, std::try_to_lock);
  if (!lock.owns_lock() || count <= 1) {
    for (int i = 0; i < count; ++i) work(context, i);
    return;
  }
  while (static_cast<int>(t.members.size()) < count - 1)
    t.members.push_back(std::make_unique<Member>(static_cast<int>(t.members.size()) + 1));
  for (int i = 1; i < count; ++i) t.members[static_cast<size_t>(i - 1)]->start(work, context);
  work(context, 0);
  for (int i = 1; i < count; ++i) t.members[static_cast<size_t>(i - 1)]->finish();
}

}  // namespace lookback
