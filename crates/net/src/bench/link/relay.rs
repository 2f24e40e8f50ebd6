//! Carries packets between two devices as a link does: one thread for both directions.
//!
//! It sleeps until shortly before a packet is due, as early as it has learned to oversleep, and
//! spins the rest; it never spins without a packet that is due so soon.

use super::{
    device::take_missed,
    framing::Framing,
    lane::{BATCH, Counts, Lane},
    priority::Priority,
    stops::{BEAT_NS, LastLook, Stops},
};
use crate::{
    bench::margin::Margin,
    clock::{monotonic_ns, read_clock, thread_cpu_clock, thread_cpu_ns},
    process::with_signals_blocked,
    timer::TimerFd,
};
use std::{
    fs::File,
    hint, io, mem,
    net::Shutdown,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};
use thiserror::Error;
use tinygram_core::{
    Histogram,
    link::{Direction, LinkError, LinkSpec},
};

/// While it calibrates the delay is this at most, each way, so that it does not take long.
pub const CALIBRATION_DELAY_NS: u64 = 5_000_000;
/// And the bandwidth is this at least.
pub const CALIBRATION_BITS_PER_S: u64 = 10_000_000;

/// Why there is no relay.
#[derive(Debug, Error)]
pub enum RelayError {
    /// No link can be like that.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// No more descriptors are to be had.
    #[error("a device cannot be held: {0}")]
    Descriptors(#[from] io::Error),
}

/// What a relay did so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Of what came from the near device, and of what came from the far one.
    pub counts: [Counts; 2],
    /// When it stood still itself.
    pub stops: Stops,
    /// CPU time of its thread, in nanoseconds.
    pub cpu_ns: u64,
    /// Why it carries nothing any more, where it ended by itself.
    pub failed_errno: Option<i32>,
}

/// A relay between the near device, which is the first, and the far one.
#[derive(Debug)]
pub struct Relay {
    spec: LinkSpec,
    state: Arc<Mutex<State>>,
    /// The relay's devices, where it has to be asked of those what they dropped.
    packet_sockets: Vec<OwnedFd>,
    idle: Option<Carrier>,
    running: Option<(UnixStream, JoinHandle<()>)>,
}

/// What the relay's thread and its owner share; held for a batch of packets at most.
#[derive(Debug)]
struct State {
    settings: Settings,
    report: Report,
    lateness: Histogram,
    is_stopping: bool,
    /// The CPU clock of its thread, while that runs.
    clock: Option<libc::clockid_t>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Settings {
    excess_ns: u64,
    is_calibrating: bool,
}

impl Relay {
    /// Of two devices that do not block, and what the link between them is like, each way.
    ///
    /// # Errors
    /// [`RelayError`], for a link that cannot be.
    pub fn new(
        devices: [OwnedFd; 2],
        spec: LinkSpec,
        seed: u64,
        framing: Framing,
    ) -> Result<Self, RelayError> {
        spec.check()?;
        let state = Arc::new(Mutex::new(State {
            settings: Settings::default(),
            report: Report::default(),
            lateness: Histogram::new(),
            is_stopping: false,
            clock: None,
        }));
        let packet_sockets = match framing {
            Framing::Ethernet => devices.iter().map(OwnedFd::try_clone).collect(),
            Framing::Tun | Framing::TunOffload => Ok(Vec::new()),
        }?;
        // Each direction has its own luck.
        let lanes = [seed, !seed].map(|seed| Lane::new(Direction::new(spec, seed), framing));
        let carrier = Carrier {
            devices: devices.map(File::from),
            lanes,
            spec,
            settings: Settings::default(),
            state: Arc::clone(&state),
        };
        Ok(Self {
            spec,
            state,
            packet_sockets,
            idle: Some(carrier),
            running: None,
        })
    }

    /// Start its thread.
    ///
    /// # Errors
    /// Where there is none to be had; the second time.
    pub fn start(&mut self) -> io::Result<()> {
        let carrier = self
            .idle
            .take()
            .ok_or_else(|| io::Error::other("a relay is started once"))?;
        let (stop, stopped) = UnixStream::pair()?;
        let thread = with_signals_blocked(|| {
            thread::Builder::new()
                .name("tg-relay".into())
                .spawn(move || carrier.run(&stopped))
        })?;
        self.running = Some((stop, thread));
        Ok(())
    }

    /// End its thread, and forget what is on the way.
    pub fn stop(&mut self) {
        self.idle = None;
        if let Some((stop, thread)) = self.running.take() {
            locked(&self.state).is_stopping = true;
            // It may sleep, and this wakes it. Not the end of the descriptor, of which a forked process
            // may have another. It fails only where the relay has ended.
            let _ended = stop.shutdown(Shutdown::Both);
            // What it broke of is in the report.
            let _broken = thread.join();
        }
    }

    /// Take half of this off the delay of each direction.
    pub fn set_excess_ns(&self, excess_ns: u64) {
        locked(&self.state).settings.excess_ns = excess_ns;
    }

    /// Be without jitter and loss, and of little delay: see [`Relay::calibration_rtt_ns`].
    pub(super) fn set_calibrating(&self, is_calibrating: bool) {
        locked(&self.state).settings.is_calibrating = is_calibrating;
    }

    /// What a round trip of packets of that length is to take while it calibrates.
    pub(super) fn calibration_rtt_ns(&self, packet_bytes: u32) -> u64 {
        let spec = calibrating(self.spec);
        2 * (spec.one_way_ns + spec.serialisation_ns(packet_bytes))
    }

    /// What it did so far.
    pub fn report(&self) -> Report {
        let mut state = locked(&self.state);
        for (counts, socket) in state.report.counts.iter_mut().zip(&self.packet_sockets) {
            counts.missed += take_missed(socket.as_fd());
        }
        let mut report = state.report;
        if let Some(clock) = state.clock {
            report.cpu_ns = read_clock(clock);
        }
        report
    }

    /// Let its thread stand still meanwhile, as one that is stopped.
    #[cfg(test)]
    pub(super) fn stand_still(&self, while_so: impl FnOnce()) {
        let _held = locked(&self.state);
        while_so();
    }

    /// How late each packet was delivered since this was last asked: from when it was due to when the
    /// relay began to hand it over.
    pub fn take_lateness(&self) -> Histogram {
        // Made before, for it is large, and the relay waits.
        let empty = Histogram::new();
        mem::replace(&mut locked(&self.state).lateness, empty)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop();
    }
}

/// As a link is while it is calibrated.
fn calibrating(spec: LinkSpec) -> LinkSpec {
    let at_least = |bits_per_s: u64| bits_per_s.max(CALIBRATION_BITS_PER_S);
    LinkSpec {
        one_way_ns: spec.one_way_ns.min(CALIBRATION_DELAY_NS),
        jitter_ns: 0,
        bandwidth_bits_per_s: spec.bandwidth_bits_per_s.map(at_least),
        loss: 0.0,
        ..spec
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // Numbers are right after each line of ours, whoever broke.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a relay ended by itself; `None`: it was told to.
pub(super) fn errno_of(ended: thread::Result<io::Result<()>>) -> Option<i32> {
    match ended {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.raw_os_error().unwrap_or(libc::EIO)),
        // It panicked, and what it had to say is on stderr.
        Err(_) => Some(libc::EIO),
    }
}

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

/// What the thread has.
#[derive(Debug)]
struct Carrier {
    devices: [File; 2],
    lanes: [Lane; 2],
    spec: LinkSpec,
    settings: Settings,
    state: Arc<Mutex<State>>,
}

impl Carrier {
    fn run(mut self, stopped: &UnixStream) {
        locked(&self.state).clock = thread_cpu_clock();
        // One that broke carries nothing, and may not look as if it did.
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
        let mut margin = Margin::new();
        // Of the first packet that is due: when to wake for it.
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
                let stopped_ns = last_look.look(monotonic_ns(), &mut state.report.stops);
                if stopped_ns > 0 {
                    // Whatever waits in a device may have come when the stop began.
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
                    // Poll is not asked while there is something to do, and neither device may wait
                    // for that.
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
                // What comes meanwhile is read: it is not late either.
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
    /// How many frames.
    fn turn(&mut self, state: &mut State, may_have: &mut [bool; 2]) -> io::Result<usize> {
        let mut moved = 0;
        for (from, lane) in self.lanes.iter_mut().enumerate() {
            let counts = &mut state.report.counts[from];
            let to = &self.devices[1 - from];
            moved += lane.deliver(to, counts, &mut state.lateness);
            if may_have[from] {
                let taken = lane.take_in(&self.devices[from], counts)?;
                moved += taken;
                may_have[from] = taken == BATCH;
            }
        }
        Ok(moved)
    }

    /// Wait until a packet comes, the timer's time has, a beat has passed, or it is to stop. Which device has a packet,
    /// and whether the timer rang.
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
                // What is there was not looked for.
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
