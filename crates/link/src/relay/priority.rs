//! When the relay runs before the programs at the ends of its link.

use rustix::process::setpriority_process;
use tinygram_net::clock::monotonic_ns;

/// Nice value of a thread that normally runs before others.
const NICE: i32 = -20;
/// How often the load is judged anew, in nanoseconds.
const WINDOW_NS: u64 = 10_000_000;
/// The frames read and written in a window, at 8,000 packets a second: from so many on the relay goes
/// first; below half of them it no longer does.
const BUSY_FRAMES: usize = 160;

/// The calling thread's priority, as far as it is permitted.
///
/// If many packets come, the ends are busy, and a relay that waits for its turn on their cores is late:
/// then it runs before all of them (SCHED_FIFO). If few come, only its wake-ups matter, and these are
/// quicker, and go to an idle core, without SCHED_FIFO.
#[derive(Debug)]
pub(super) struct Priority {
    is_first: bool,
    may_be_first: bool,
    frames: usize,
    since_ns: u64,
}

impl Priority {
    /// Before others as a rule, until many packets come.
    pub(super) fn new() -> Self {
        // If this is not permitted, nothing changes, and the histogram of lateness shows it.
        let _may_be_refused = setpriority_process(None, NICE);
        Self {
            is_first: false,
            may_be_first: true,
            frames: 0,
            since_ns: monotonic_ns(),
        }
    }

    /// Note how many frames were read and written since the last call.
    pub(super) fn moved(&mut self, frames: usize) {
        self.frames += frames;
        let now_ns = monotonic_ns();
        if now_ns - self.since_ns < WINDOW_NS {
            return;
        }
        let is_busy = is_busy(self.is_first, self.frames, now_ns - self.since_ns);
        (self.frames, self.since_ns) = (0, now_ns);
        if is_busy != self.is_first && self.may_be_first {
            // After one refusal it is not asked for again.
            self.may_be_first = set_first(is_busy);
            self.is_first = is_busy && self.may_be_first;
        }
    }
}

/// `frames` within `took_ns`, a window or more.
fn is_busy(was_busy: bool, frames: usize, took_ns: u64) -> bool {
    let needed = if was_busy {
        BUSY_FRAMES / 2
    } else {
        BUSY_FRAMES
    };
    frames as u64 * WINDOW_NS >= (needed as u64).saturating_mul(took_ns)
}

fn set_first(is_first: bool) -> bool {
    let (policy, sched_priority) = match is_first {
        true => (libc::SCHED_FIFO, 1),
        false => (libc::SCHED_OTHER, 0),
    };
    let priority = libc::sched_param { sched_priority };
    // SAFETY: 0 is the calling thread; the kernel reads one sched_param.
    unsafe { libc::sched_setscheduler(0, policy, &priority) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_busy_from_a_rate_on_and_until_half_of_it() {
        assert!(!is_busy(false, BUSY_FRAMES - 1, WINDOW_NS));
        assert!(is_busy(false, BUSY_FRAMES, WINDOW_NS));
        assert!(is_busy(true, BUSY_FRAMES / 2, WINDOW_NS));
        assert!(!is_busy(true, BUSY_FRAMES / 2 - 1, WINDOW_NS));
    }

    #[test]
    fn what_comes_after_a_long_rest_is_a_low_rate() {
        assert!(!is_busy(true, BUSY_FRAMES, 100 * WINDOW_NS));
        assert!(!is_busy(false, 0, u64::MAX));
    }
}
