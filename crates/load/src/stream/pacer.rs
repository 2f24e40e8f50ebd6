//! Releases the messages of a schedule when they are due: never early, and all that are due.

mod pushed;

use crate::{
    margin::{Clock, Margin, spin_until_ns},
    process::set_exact_timers,
    schedule::{Schedule, Slices},
    write_counts,
};
use pushed::Pushed;
use std::{
    hint, io,
    ops::Range,
    os::fd::{AsRawFd, RawFd},
    thread,
};
use tinygram_core::Histogram;
use tinygram_net::{
    clock::{monotonic_ns, sleep_until_ns},
    timer::TimerFd,
};

/// How the last part of a wait passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spin {
    /// Spun: nobody else on this core has anything to send.
    Alone,
    /// Spun, but any other thread that wants the core gets it.
    Yielding,
    /// Slept.
    Never,
}

/// When the timer is to ring for the next message.
#[derive(Clone, Copy, Debug)]
enum Armed {
    /// When the message is due.
    Exactly,
    /// At this time, shortly before the message is due; the rest is spun.
    Early(u64),
    /// At once, and then once more: the event loop does all else that it has to do in between, and
    /// the whole wait is spun.
    AtOnce,
    /// At once, for the second time.
    AtOnceAgain,
}

/// The machine's clock, and how to spin.
struct Machine(Spin);

impl Clock for Machine {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn sleep_until_ns(&self, wake_ns: u64) {
        sleep_until_ns(wake_ns);
    }

    fn pause(&self) {
        match self.0 {
            Spin::Yielding => thread::yield_now(),
            Spin::Alone | Spin::Never => hint::spin_loop(),
        }
    }
}

/// The slices in which messages are due.
#[derive(Debug)]
struct Sliced {
    slices: Slices,
    /// The first part of each slice, whose errors are not noted.
    settling_ns: u64,
    /// How long was spun in each slice, settling included.
    spun_ns: Vec<u64>,
    /// The socket on which nothing is withheld between slices.
    pushed: Option<Pushed>,
}

/// Waits for the due times of a [`Schedule`] and says which messages to send now.
///
/// A wait sleeps until shortly before the due time and spins the rest, about 100 µs at most, so that
/// a wake-up's delay is not taken for latency. A wait that is shorter than that is spun whole.
#[derive(Debug)]
pub struct Pacer {
    schedule: Schedule,
    start_ns: u64,
    released: u64,
    releases: u64,
    errors: Histogram,
    /// The errors message by message, if asked for.
    late_ns: Option<Vec<u32>>,
    /// When the sender asked for the next message: lateness before that is not our error.
    asked_ns: u64,
    spin_cpu_ns: u64,
    slices: Option<Sliced>,
    margin: Margin,
    spin: Spin,
    /// Whether this thread's timers are exact, as it was last set.
    is_exact: Option<bool>,
    timer: Option<TimerFd>,
    armed: Armed,
}

impl Pacer {
    /// A pacer that waits for [`Pacer::start`].
    pub fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            start_ns: u64::MAX,
            released: 0,
            releases: 0,
            errors: Histogram::new(),
            late_ns: None,
            asked_ns: 0,
            spin_cpu_ns: 0,
            slices: None,
            margin: Margin::default(),
            spin: Spin::Alone,
            is_exact: None,
            timer: None,
            armed: Armed::Exactly,
        }
    }

    /// The same without spinning: for one of several senders, whose spinning would take the core
    /// from the others.
    #[must_use]
    pub fn without_spinning(self) -> Self {
        Self {
            spin: Spin::Never,
            ..self
        }
    }

    /// The same, but while it spins any other thread may have the core: for a sender that hands its
    /// messages to a thread or process on the same core.
    #[must_use]
    pub fn yielding(self) -> Self {
        Self {
            spin: Spin::Yielding,
            ..self
        }
    }

    /// The same with a note of how late each message was released: see [`Pacer::late_ns`].
    #[must_use]
    pub fn with_notes(self) -> Self {
        // Not zero, so that the pages are touched now.
        let mut late_ns = vec![1; self.schedule.messages() as usize];
        late_ns.clear();
        Self {
            late_ns: Some(late_ns),
            ..self
        }
    }

    /// The same for a schedule that is [in slices](Schedule::in_slices), of each of which the first
    /// `settling_ns` are not measured, with notes of each slice: see [`Pacer::spin_cpu_ns_by_slice`]
    /// and [`Pacer::errors_by_slice_ns`]. Of the socket `push_out_fd` nothing is withheld between
    /// slices: what their last and first messages leave withheld is pushed out.
    #[must_use]
    pub fn in_slices(self, slices: Slices, settling_ns: u64, push_out_fd: Option<RawFd>) -> Self {
        let spun_ns = vec![0; slices.count()];
        Self {
            slices: Some(Sliced {
                slices,
                settling_ns,
                spun_ns,
                pushed: push_out_fd.map(Pushed::new),
            }),
            ..self.with_notes()
        }
    }

    /// Let the schedule start at `start_ns` (CLOCK_MONOTONIC).
    pub fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// When the last message is due, in nanoseconds after the start.
    pub fn last_due_ns(&self) -> u64 {
        self.schedule.due_ns(self.schedule.messages() - 1)
    }

    /// When the next message is due; `None` when all are released.
    pub fn next_due_ns(&self) -> Option<u64> {
        (self.released < self.schedule.messages()).then(|| self.due_at_ns(self.released))
    }

    fn due_at_ns(&self, index: u64) -> u64 {
        self.start_ns.saturating_add(self.schedule.due_ns(index))
    }

    /// Block until something is due, or until `until_ns`: which messages to send now. The range
    /// is empty when the time passed with nothing due, or when all are released.
    pub fn wait(&mut self, until_ns: Option<u64>) -> Range<u64> {
        self.push_out();
        let Some(due_ns) = self.next_due_ns() else {
            return self.released..self.released;
        };
        self.asked_ns = monotonic_ns();
        let wake_ns = until_ns.map_or(due_ns, |until_ns| until_ns.min(due_ns));
        // `until_ns` is the sender's own: it gets an ordinary sleep, as without a pacer.
        let is_ours = wake_ns == due_ns;
        if self.is_exact != Some(is_ours) {
            set_exact_timers(is_ours);
            self.is_exact = Some(is_ours);
        }
        if wake_ns <= self.asked_ns {
            return self.release_due();
        }
        if is_ours && self.spin != Spin::Never {
            let spun_ns = self.margin.wait_until_ns(&Machine(self.spin), wake_ns);
            self.on_spun(due_ns, spun_ns);
        } else {
            sleep_until_ns(wake_ns);
            if !is_ours {
                // We could not release what came due during the sender's own sleep.
                self.asked_ns = monotonic_ns();
            }
        }
        self.release_due()
    }

    /// The descriptor of a timer for an event loop: readable when [`Pacer::on_timer`] should be
    /// called.
    ///
    /// # Errors
    /// When the kernel has no timerfd to give.
    pub fn timer_fd(&mut self) -> io::Result<RawFd> {
        Ok(self.timer()?.as_raw_fd())
    }

    fn timer(&mut self) -> io::Result<&TimerFd> {
        if self.timer.is_none() {
            self.timer = Some(TimerFd::new()?);
        }
        Ok(self.timer.as_ref().expect("just made"))
    }

    /// Set the timer for the next due time; false when all messages are released. With `spins`
    /// it is set early, and [`Pacer::on_timer`] spins the rest, which holds the event loop up.
    ///
    /// # Errors
    /// When the timer cannot be set.
    pub fn arm(&mut self, spins: bool) -> io::Result<bool> {
        let Some(due_ns) = self.next_due_ns() else {
            return Ok(false);
        };
        self.asked_ns = monotonic_ns();
        self.armed = Armed::Exactly;
        let mut wake_ns = due_ns;
        if spins && self.spin != Spin::Never && due_ns > self.asked_ns {
            // A time that is past rings at once, when the loop has done everything else.
            let sleeps_until_ns = self.margin.wake_ns(self.asked_ns, due_ns);
            self.armed = sleeps_until_ns.map_or(Armed::AtOnce, Armed::Early);
            wake_ns = sleeps_until_ns.unwrap_or(self.asked_ns);
        }
        self.timer()?.set(wake_ns)?;
        Ok(true)
    }

    /// The timer is readable: spin the rest of the wait and say which messages to send now. None:
    /// the timer will be readable again.
    ///
    /// # Errors
    /// When the timer cannot be read or set.
    pub fn on_timer(&mut self) -> io::Result<Range<u64>> {
        if !self.timer()?.take()? {
            return Ok(self.released..self.released);
        }
        match self.armed {
            Armed::Early(wake_ns) => self.margin.learn(monotonic_ns().saturating_sub(wake_ns)),
            Armed::AtOnce if self.next_due_ns() > Some(monotonic_ns()) => {
                // Loops differ in whether they run what is ready first or look at descriptors.
                self.armed = Armed::AtOnceAgain;
                let at_once_ns = self.asked_ns;
                self.timer()?.set(at_once_ns)?;
                return Ok(self.released..self.released);
            }
            Armed::Exactly | Armed::AtOnce | Armed::AtOnceAgain => {}
        }
        if let (Armed::Early(_) | Armed::AtOnceAgain, Some(due_ns)) =
            (self.armed, self.next_due_ns())
        {
            let spun_ns = spin_until_ns(&Machine(self.spin), due_ns);
            self.on_spun(due_ns, spun_ns);
        }
        Ok(self.release_due())
    }

    /// Release everything that is due now, without waiting.
    pub fn take_due(&mut self) -> Range<u64> {
        self.push_out();
        self.asked_ns = monotonic_ns();
        self.release_due()
    }

    fn push_out(&mut self) {
        let Some(sliced) = &mut self.slices else {
            return;
        };
        if let Some(pushed) = &mut sliced.pushed {
            let is_left = self.released < self.schedule.messages();
            let next_due_ns = is_left.then(|| self.schedule.due_ns(self.released));
            let slice = next_due_ns.and_then(|due_ns| sliced.slices.measuring(due_ns, 0));
            pushed.before(self.released, slice);
        }
    }

    fn on_spun(&mut self, due_ns: u64, spun_ns: u64) {
        self.spin_cpu_ns += spun_ns;
        write_counts::leave_out(spun_ns);
        if let Some(sliced) = &mut self.slices {
            if let Some(slice) = sliced.slices.measuring(due_ns - self.start_ns, 0) {
                sliced.spun_ns[slice] += spun_ns;
            }
        }
    }

    fn release_due(&mut self) -> Range<u64> {
        let now_ns = monotonic_ns();
        let elapsed_ns = now_ns.saturating_sub(self.start_ns);
        let first = self.released;
        self.released += self.schedule.due_count(first, elapsed_ns);
        if self.released > first {
            self.releases += 1;
        }
        for index in first..self.released {
            let late_since_ns = self.due_at_ns(index).max(self.asked_ns);
            let error_ns = now_ns - late_since_ns;
            self.errors.record(error_ns);
            if let Some(late_ns) = &mut self.late_ns {
                late_ns.push(u32::try_from(error_ns).unwrap_or(u32::MAX));
            }
        }
        first..self.released
    }

    /// How many wake-ups released something.
    pub fn releases(&self) -> u64 {
        self.releases
    }

    /// Time from due (or from when the sender asked, if that was later) to released, one value
    /// for each message.
    pub fn errors(&self) -> &Histogram {
        &self.errors
    }

    /// The errors in the order of the messages, at most 4 s each; empty unless
    /// [`Pacer::with_notes`] or [`Pacer::in_slices`].
    pub fn late_ns(&self) -> &[u32] {
        self.late_ns.as_deref().unwrap_or_default()
    }

    /// CPU time spent spinning, as seen by how the clock went on: the bench's own, not the sender's.
    pub fn spin_cpu_ns(&self) -> u64 {
        self.spin_cpu_ns
    }

    /// The same for each slice, whole; empty unless [`Pacer::in_slices`].
    pub fn spin_cpu_ns_by_slice(&self) -> &[u64] {
        self.slices.as_ref().map_or(&[], |sliced| &sliced.spun_ns)
    }

    /// The errors of the messages that are due in each slice once it has settled; empty unless
    /// [`Pacer::in_slices`].
    pub fn errors_by_slice_ns(&self) -> Vec<Vec<u32>> {
        let Some(sliced) = &self.slices else {
            return Vec::new();
        };
        let mut found = vec![Vec::new(); sliced.slices.count()];
        for (due_ns, &error_ns) in self.schedule.all_due_ns().zip(self.late_ns()) {
            if let Some(slice) = sliced.slices.measuring(due_ns, sliced.settling_ns) {
                found[slice].push(error_ns);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests;
