//! The relay's thread: takes packets from both devices, and delivers each when it is due.
//!
//! It sleeps until shortly before a packet is due, by a margin that it learns from past oversleep, and
//! spins the rest; it never spins without a packet that is due so soon.

use super::{
    Settings, State, calibrating,
    departures::Watch,
    errno_of,
    lane::{BATCH, Lane},
    locked,
    priority::Priority,
    stops::{BEAT_NS, LastLook},
};
use crate::model::LinkSpec;
use std::{
    fs::File,
    hint, io,
    os::{fd::AsRawFd, unix::net::UnixStream},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};
use tinygram_load::{
    margin::Margin,
    process::{thread_cpu_clock, thread_cpu_ns},
};
use tinygram_net::{clock::monotonic_ns, timer::TimerFd};

/// The packet that is due first, and when to wake for it.
#[derive(Clone, Copy, Debug, Default)]
struct Awaited {
    due_ns: Option<u64>,
    wake_ns: Option<u64>,
}

impl Awaited {
    fn new(due_ns: Option<u64>, margin: Margin) -> Self {
        let wake_ns = due_ns.map(|due_ns| due_ns.saturating_sub(margin.ns()));
        Self { due_ns, wake_ns }
    }
}

/// The state that only the relay's thread has.
#[derive(Debug)]
pub(super) struct Carrier {
    pub(super) devices: [File; 2],
    pub(super) lanes: [Lane; 2],
    pub(super) spec: LinkSpec,
    pub(super) watch: Watch,
    pub(super) settings: Settings,
    pub(super) state: Arc<Mutex<State>>,
}

/// The second device is the far one.
const FAR: usize = 1;

impl Carrier {
    pub(super) fn run(mut self, stopped: &UnixStream) {
        locked(&self.state).clock = thread_cpu_clock();
        // A panic is told as a failure: a link that carries nothing must not look like one that does.
        let ended = catch_unwind(AssertUnwindSafe(|| self.carry(stopped)));
        let mut state = locked(&self.state);
        state.clock = None;
        state.report.cpu_ns = thread_cpu_ns();
        state.report.failed_errno = errno_of(ended);
    }

    fn carry(&mut self, stopped: &UnixStream) -> io::Result<()> {
        let shared = Arc::clone(&self.state);
        let timer = TimerFd::new()?;
        let beat = TimerFd::new()?;
        beat.set_every(BEAT_NS)?;
        let mut last_look = LastLook::new(monotonic_ns());
        let mut priority = Priority::new();
        let mut margin = Margin::default();
        // When to wake for the first packet that is due.
        let mut awaited = Awaited::default();
        // Devices that may have something: no other is read, for each read is a system call.
        let mut may_have = [true; 2];
        // Frames read and written since both were looked at.
        let mut moved = 0;
        loop {
            let just_moved = {
                let mut state = locked(&shared);
                if state.is_stopping {
                    return Ok(());
                }
                self.adopt(state.settings);
                let now_ns = monotonic_ns();
                let stopped_ns = last_look.look(now_ns, &mut state.report.stops);
                if stopped_ns > 0 {
                    state.stood_still_ns.push((now_ns - stopped_ns, now_ns));
                    // Packets that wait in a device may have come when the stop began.
                    may_have = [true; 2];
                    for lane in &mut self.lanes {
                        lane.unseen_ns = stopped_ns;
                    }
                }
                self.turn(&mut state, &mut may_have)?
            };
            if just_moved > 0 {
                moved += just_moved;
                if moved >= BATCH {
                    priority.moved(moved);
                    // While there is something to do, poll is not called: read both devices now and then,
                    // so that neither waits for the end of that.
                    (may_have, moved) = ([true; 2], 0);
                }
                continue;
            }
            let due_ns = self.lanes.iter().filter_map(Lane::next_due_ns).min();
            let is_new = awaited.due_ns != due_ns;
            if is_new {
                awaited = Awaited::new(due_ns, margin);
            }
            let has_come = |wake_ns| wake_ns <= monotonic_ns();
            if awaited.wake_ns.is_some_and(has_come) {
                // Packets that come meanwhile are read, so that they are not late either.
                may_have = [true; 2];
                hint::spin_loop();
                continue;
            }
            if let (true, Some(wake_ns)) = (is_new, awaited.wake_ns) {
                timer.set(wake_ns)?;
            }
            let has_timer_rung;
            priority.moved(moved);
            (may_have, has_timer_rung) = self.sleep(stopped, &timer, &beat)?;
            moved = 0;
            if has_timer_rung {
                timer.take()?;
                if let (Some(wake_ns), [false, false]) = (awaited.wake_ns, may_have) {
                    margin.learn(monotonic_ns().saturating_sub(wake_ns));
                }
            }
        }
    }

    fn adopt(&mut self, settings: Settings) {
        if settings == self.settings {
            return;
        }
        self.settings = settings;
        let spec = if settings.is_calibrating {
            calibrating(self.spec)
        } else {
            self.spec
        };
        for lane in &mut self.lanes {
            lane.direction.set_spec(spec);
            lane.direction.set_excess_ns(settings.excess_ns / 2);
        }
    }

    /// Write what is due, and read from the devices that may have something, in both directions.
    /// Returns how many frames moved.
    fn turn(&mut self, state: &mut State, may_have: &mut [bool; 2]) -> io::Result<usize> {
        let mut moved = 0;
        let watch = &mut self.watch;
        for (from, lane) in self.lanes.iter_mut().enumerate() {
            let counts = &mut state.report.counts[from];
            let departures = &mut state.report.departures;
            let to = &self.devices[1 - from];
            moved += lane.deliver(to, counts, &mut state.lateness, |packet, at_ns| {
                if from == FAR {
                    watch.came(packet, at_ns);
                }
            });
            if may_have[from] {
                let taken = lane.take_in(&self.devices[from], counts, |packet, at_ns| {
                    if from != FAR {
                        watch.left(packet, at_ns, departures);
                    }
                })?;
                moved += taken;
                may_have[from] = taken == BATCH;
            }
        }
        Ok(moved)
    }

    /// Wait until a packet comes, the timer rings, a beat has passed, or the relay is to stop. Returns
    /// which devices have a packet, and whether the timer rang.
    fn sleep(
        &self,
        stopped: &UnixStream,
        timer: &TimerFd,
        beat: &TimerFd,
    ) -> io::Result<([bool; 2], bool)> {
        let [near, far] = &self.devices;
        let fds = [
            near.as_raw_fd(),
            far.as_raw_fd(),
            timer.as_raw_fd(),
            stopped.as_raw_fd(),
            beat.as_raw_fd(),
        ];
        let mut watched = fds.map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: the kernel reads and writes `watched`, which outlives the call.
        let count = unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, -1) };
        if count < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                // Poll did not report what is there: read both devices.
                io::ErrorKind::Interrupted => Ok(([true; 2], false)),
                _ => Err(error),
            };
        }
        // An error of a device is read from it, too.
        let [near, far, rang, _, beats] = watched.map(|each| each.revents != 0);
        if beats {
            beat.take()?;
        }
        Ok(([near, far], rang))
    }
}
