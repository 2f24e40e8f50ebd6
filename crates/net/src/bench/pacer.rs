//! Releases the messages of a schedule when they are due: never early, everything that is due.

use crate::{
    bench::margin::Margin,
    clock::{monotonic_ns, set_exact_timers, sleep_until_ns, thread_cpu_ns},
    timer::TimerFd,
};
use std::{
    hint, io,
    ops::Range,
    os::fd::{AsRawFd, RawFd},
};
use tinygram_core::{Histogram, Schedule};

/// Waits for the due times of a [`Schedule`] and says which messages to send now.
///
/// A wait sleeps until shortly before the due time and spins the rest, at most 100 µs, so that a
/// wake-up's delay is not taken for latency. It does not spin where the gap is short: there the
/// sender needs the core.
#[derive(Debug)]
pub struct Pacer {
    schedule: Schedule,
    start_ns: u64,
    released: u64,
    releases: u64,
    errors: Histogram,
    /// The same message by message, where it is asked for.
    late_ns: Option<Vec<u32>>,
    /// When the sender asked for what is due next: what is late before that is not our error.
    asked_ns: u64,
    spin_cpu_ns: u64,
    margin: Margin,
    spins: bool,
    timer: Option<TimerFd>,
    armed_ns: Option<u64>,
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
            margin: Margin::new(),
            spins: true,
            timer: None,
            armed_ns: None,
        }
    }

    /// The same without spinning: for one of several senders, whose spinning would take the core
    /// from the others.
    #[must_use]
    pub fn without_spinning(self) -> Self {
        Self {
            spins: false,
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
        let Some(due_ns) = self.next_due_ns() else {
            return self.released..self.released;
        };
        let now_ns = monotonic_ns();
        self.asked_ns = now_ns;
        let wake_ns = until_ns.map_or(due_ns, |until_ns| until_ns.min(due_ns));
        // `until_ns` is the sender's own affair: it gets an ordinary sleep, as it would by itself.
        let is_ours = wake_ns == due_ns;
        set_exact_timers(is_ours);
        if is_ours && self.spins && wake_ns > now_ns + 2 * self.margin.ns() {
            let early_ns = wake_ns - self.margin.ns();
            sleep_until_ns(early_ns);
            self.margin.learn(monotonic_ns().saturating_sub(early_ns));
            self.spin_until(wake_ns);
        } else if wake_ns > now_ns {
            sleep_until_ns(wake_ns);
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
        let is_early = spins && self.spins && due_ns > self.asked_ns + 2 * self.margin.ns();
        let wake_ns = if is_early {
            due_ns - self.margin.ns()
        } else {
            due_ns
        };
        self.timer()?.set(wake_ns)?;
        self.armed_ns = is_early.then_some(wake_ns);
        Ok(true)
    }

    /// The timer is readable: spin the rest of the wait and say which messages to send now.
    ///
    /// # Errors
    /// When the timer cannot be read.
    pub fn on_timer(&mut self) -> io::Result<Range<u64>> {
        if !self.timer()?.take()? {
            return Ok(self.released..self.released);
        }
        if let Some(armed_ns) = self.armed_ns.take() {
            self.margin.learn(monotonic_ns().saturating_sub(armed_ns));
            if let Some(due_ns) = self.next_due_ns() {
                self.spin_until(due_ns);
            }
        }
        Ok(self.release_due())
    }

    /// Release everything that is due now, without waiting.
    pub fn take_due(&mut self) -> Range<u64> {
        self.asked_ns = monotonic_ns();
        self.release_due()
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

    fn spin_until(&mut self, wake_ns: u64) {
        let before_ns = thread_cpu_ns();
        while monotonic_ns() < wake_ns {
            hint::spin_loop();
        }
        self.spin_cpu_ns += thread_cpu_ns() - before_ns;
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
    /// [`Pacer::with_notes`].
    pub fn late_ns(&self) -> &[u32] {
        self.late_ns.as_deref().unwrap_or_default()
    }

    /// CPU time spent spinning: the bench's own, not the sender's.
    pub fn spin_cpu_ns(&self) -> u64 {
        self.spin_cpu_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinygram_core::Arrival;

    fn pacer(rate: f64, count: u64) -> Pacer {
        let duration_ns = (count as f64 * 1e9 / rate) as u64;
        let schedule = Schedule::new(rate, Arrival::Constant, 1, duration_ns, 0).unwrap();
        let mut pacer = Pacer::new(schedule);
        pacer.start(monotonic_ns());
        pacer
    }

    fn wait_readable(fd: RawFd) {
        let mut poll = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one valid pollfd.
        assert_eq!(unsafe { libc::poll(&mut poll, 1, 5_000) }, 1);
    }

    #[test]
    fn every_message_is_released_once_in_order_and_never_early() {
        let mut pacer = pacer(20_000.0, 400);
        let mut next = 0;
        while pacer.next_due_ns().is_some() {
            let range = pacer.wait(None);
            assert_eq!(range.start, next);
            assert!(range.end > range.start);
            assert!(monotonic_ns() >= pacer.start_ns + pacer.schedule.due_ns(range.end - 1));
            next = range.end;
        }
        assert_eq!(next, 400);
        assert_eq!(pacer.errors().count(), 400);
        assert!(pacer.wait(None).is_empty());
    }

    #[test]
    fn a_pacer_that_sleeps_spins_nowhere_and_notes_how_late_each_message_was() {
        let mut pacer = pacer(2_000.0, 20).without_spinning().with_notes();
        let fd = pacer.timer_fd().unwrap();
        while pacer
            .next_due_ns()
            .is_some_and(|due| due < pacer.due_at_ns(10))
        {
            pacer.wait(None);
        }
        while pacer.arm(true).unwrap() {
            wait_readable(fd);
            pacer.on_timer().unwrap();
        }
        assert_eq!(pacer.spin_cpu_ns(), 0);
        assert_eq!(pacer.late_ns().len(), 20);
        let mut same = Histogram::new();
        for late_ns in pacer.late_ns() {
            same.record(u64::from(*late_ns));
        }
        assert_eq!(same.max_ns(), pacer.errors().max_ns());
    }

    #[test]
    fn a_wait_ends_at_its_deadline_with_nothing() {
        let mut pacer = pacer(1.0 / 60.0, 1);
        let until_ns = monotonic_ns() + 2_000_000;
        assert!(pacer.wait(Some(until_ns)).is_empty());
        let due_ns = pacer.next_due_ns().unwrap();
        assert!((until_ns..due_ns).contains(&monotonic_ns()));
    }

    #[test]
    fn a_late_sender_gets_everything_that_is_due() {
        let mut pacer = pacer(1_000.0, 100).with_notes();
        sleep_until_ns(pacer.start_ns + 50_000_000);
        let asked_ns = monotonic_ns();
        let range = pacer.wait(None);
        let waited_ns = monotonic_ns() - asked_ns;
        assert!(range.end >= 50, "{range:?}");
        // The sender was late, not the pacer: that errs by no more than it took to answer.
        let late_ns = pacer.late_ns().iter().map(|&late_ns| u64::from(late_ns));
        assert!(late_ns.max().unwrap() <= waited_ns);
        assert_eq!(pacer.releases(), 1);
    }

    #[test]
    fn the_timer_releases_what_is_due() {
        let mut pacer = pacer(1_000.0, 5);
        let fd = pacer.timer_fd().unwrap();
        let mut released = 0;
        while pacer.arm(true).unwrap() {
            wait_readable(fd);
            let range = pacer.on_timer().unwrap();
            assert!(monotonic_ns() >= pacer.start_ns + pacer.schedule.due_ns(range.start));
            released += range.end - range.start;
        }
        assert_eq!(released, 5);
    }
}
