#include <csignal>

#include "cli/cli.h"

namespace lookback::cli {
namespace {

std::atomic<bool> arrived = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal may set the flag at any time");

}  // namespace

void listen_for_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { arrived.store(true); };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

const std::atomic<bool>& interrupted() {
  return arrived;
}

}  // namespace lookback::cli
