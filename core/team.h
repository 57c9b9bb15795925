#pragma once

namespace lookback {

/// Threads that wait for work, kept for the life of the process. A member that waits looks out for
/// work for some 50 microseconds and then sleeps, so that it neither costs a wake-up in the middle
/// of a training step nor takes a core from somebody else between steps. (OpenMP's teams do one or
/// the other, as an environment variable says that a program cannot set for itself:
/// docs/performance.md has the difference.)
///
/// Runs work(context, member) for member = 0 .. members - 1, member 0 on the calling thread, and
/// returns when all are done. The work must not throw. Where the team is busy with another caller's
/// work, all members run on the calling thread, one after the other.
void run_team(int members, void (*work)(void* context, int member), void* context);

}  // namespace lookback
