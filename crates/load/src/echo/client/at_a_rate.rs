//! An open loop: messages are due at times that are known beforehand, whatever the server does, and count
//! from then. What is due while `depth` messages of its worker are in flight is sent as soon as one has come
//! back, in the case's next slice if need be.

pub use super::due::Paced;
use super::{ClientError, EchoClient, POLL_NS, due::Due};
use crate::{
    alarm::Alarm,
    echo::{
        exchange::{RoundTrips, Turn},
        run::{Run, Window},
    },
    process::{set_exact_timers, thread_cpu_ns},
    schedule::{Agenda, LATE_NS, Slices, Span},
};
use std::io::ErrorKind;
use tinygram_net::clock::{monotonic_ns, sleep_until_ns};

impl EchoClient {
    /// Send messages for `lasts_ns` from now on, each when it is due: `due_ns` are nanoseconds from the
    /// start, in order, and message i is that of worker i modulo their number. What has been sent by then is
    /// waited for.
    ///
    /// # Errors
    /// [`ClientError`] at the first fault, or when it takes `timeout_ns` longer.
    ///
    /// # Panics
    /// When `due_ns` are not in order.
    pub fn run_at_a_rate(
        &mut self,
        due_ns: Vec<u64>,
        lasts_ns: u64,
        timeout_ns: u64,
    ) -> Result<Paced, ClientError> {
        let start_ns = monotonic_ns();
        let whole = Span {
            start_ns,
            end_ns: start_ns.saturating_add(lasts_ns),
            calls: None,
            settled_ns: None,
            own_ns: 0,
        };
        self.keep_to(due_ns, vec![whole], timeout_ns)
    }

    /// The same in slices, with `due_ns` in the case's own time, which stands still between them. What
    /// cannot be sent in a slice is sent at the beginning of the next one. Messages that are due in the
    /// first `settling_ns` of a slice are not measured. `start_ns` is when the first cycle begins,
    /// CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// [`ClientError`] at the first fault, or when a slice takes `timeout_ns` longer than it lasts.
    ///
    /// # Panics
    /// When `due_ns` are not in order.
    pub fn run_at_a_rate_in_slices(
        &mut self,
        due_ns: Vec<u64>,
        slices: &Slices,
        settling_ns: u64,
        start_ns: u64,
        timeout_ns: u64,
    ) -> Result<Paced, ClientError> {
        self.keep_to(due_ns, slices.spans(start_ns, settling_ns), timeout_ns)
    }

    fn keep_to(
        &mut self,
        due_ns: Vec<u64>,
        spans: Vec<Span>,
        timeout_ns: u64,
    ) -> Result<Paced, ClientError> {
        let agenda = Agenda::new(due_ns, self.workers.len());
        let mut due = Due::new(agenda, spans.clone());
        let mut alarm = Alarm::default();
        let mut turns = Vec::with_capacity(spans.len());
        // A message that is due must not wait for the kernel to gather timers.
        set_exact_timers(true);
        for span in spans {
            sleep_until_ns(span.start_ns);
            due.begin(span);
            let window = Window {
                start_ns: monotonic_ns(),
                settled_ns: span.settled_ns,
                stop_ns: span.end_ns,
                give_up_ns: span.end_ns.saturating_add(timeout_ns),
            };
            turns.push(self.exchange_due(window, &mut due, &mut alarm)?);
        }
        set_exact_timers(false);
        Ok(due.ended(turns))
    }

    fn exchange_due(
        &mut self,
        window: Window,
        due: &mut Due,
        alarm: &mut Alarm,
    ) -> Result<Turn, ClientError> {
        // The client may have slept through its slice, and now another case has its turn.
        if window.start_ns < window.stop_ns {
            for (number, worker) in self.workers.iter_mut().enumerate() {
                worker.echoes.allow(due.outstanding(number));
            }
        }
        // This loop says when no more are begun, and `due` has the round trips.
        let until_told = Window {
            stop_ns: u64::MAX,
            ..window
        };
        let mut run = Run::begun(&self.workers, until_told, RoundTrips::Each(Vec::new()));
        for number in 0..self.workers.len() {
            run.exchange.writes += self.send(number)?;
        }
        let mut is_open = true;
        loop {
            let now_ns = monotonic_ns();
            if is_open {
                if now_ns < window.stop_ns.saturating_add(LATE_NS) {
                    self.send_due(now_ns, &mut run, due)?;
                }
                if now_ns >= window.stop_ns {
                    self.close(&mut run)?;
                    is_open = false;
                }
            }
            if !is_open && run.left == 0 {
                break;
            }
            let next_ns = is_open.then(|| {
                let due_at_ns = due.next_due_at_ns().unwrap_or(u64::MAX);
                due_at_ns.min(window.stop_ns)
            });
            let count = self.wait_until(next_ns, &mut run, alarm)?;
            if is_open && monotonic_ns() >= window.stop_ns.saturating_add(LATE_NS) {
                // It woke up too late to send what waits for room.
                self.close(&mut run)?;
                is_open = false;
            }
            for index in 0..count {
                let ready = self.epoll.ready(index);
                let Some(&number) = self.numbers.get(ready.fd) else {
                    alarm.clear().map_err(|error| self.broken(0, error))?;
                    continue;
                };
                self.serve(
                    number,
                    ready.is_readable,
                    &mut run,
                    |_, begun_ns, value_ns, count| {
                        due.on_returned(number, begun_ns, begun_ns + value_ns, count);
                    },
                )?;
            }
        }
        Ok(run.ended(&self.workers))
    }

    /// Begin no other message.
    fn close(&mut self, run: &mut Run) -> Result<(), ClientError> {
        let now_ns = monotonic_ns();
        if run.has_settled(now_ns) {
            // Nothing has come since.
            run.begin_anew(&self.workers, now_ns);
        }
        self.stop(run)
    }

    /// Send what has come due by now, as far as there is room.
    fn send_due(&mut self, now_ns: u64, run: &mut Run, due: &mut Due) -> Result<(), ClientError> {
        while let Some(number) = due.release(now_ns) {
            self.workers[number].echoes.allow_another();
            run.left += 1;
            run.exchange.writes += self.send(number)?;
        }
        Ok(())
    }

    /// Wait until something is ready, or until `next_ns`. Returns how many are ready; the alarm is one.
    fn wait_until(
        &mut self,
        next_ns: Option<u64>,
        run: &mut Run,
        alarm: &mut Alarm,
    ) -> Result<usize, ClientError> {
        let mut wake_ns = next_ns;
        if self.is_polling {
            let polled = self.poll_until(next_ns, run);
            if polled > 0 {
                return Ok(polled);
            }
            // It is awake, and polls, when the next message comes due.
            wake_ns = next_ns.map(|next_ns| next_ns.saturating_sub(POLL_NS));
        }
        let now_ns = monotonic_ns();
        if let Some(wake_ns) = wake_ns {
            if now_ns >= wake_ns {
                return Ok(0);
            }
            let set = alarm.set(&self.epoll, wake_ns);
            set.map_err(|error| self.broken(0, error))?;
        } else if now_ns >= run.give_up_ns {
            return Err(self.silent());
        }
        let left_ns = run.give_up_ns.saturating_sub(now_ns);
        let timeout_ms = i32::try_from(left_ns.div_ceil(1_000_000)).unwrap_or(i32::MAX);
        match self.epoll.wait(timeout_ms) {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
            waited => waited.map_err(|error| self.broken(0, error)),
        }
    }

    /// Poll until something is ready, until `next_ns`, and for `POLL_NS` at most; an error is left to the
    /// next wait.
    fn poll_until(&mut self, next_ns: Option<u64>, run: &mut Run) -> usize {
        let is_before = || next_ns.is_none_or(|next_ns| monotonic_ns() < next_ns);
        let mut count = self.epoll.wait(0).unwrap_or(0);
        if count == 0 {
            // The share of CPU time is measured as `poll` does.
            let start_ns = thread_cpu_ns();
            let mut polled_ns = 0;
            while count == 0 && polled_ns < POLL_NS && is_before() {
                polled_ns = thread_cpu_ns() - start_ns;
                count = self.epoll.wait(0).unwrap_or(0);
            }
            run.exchange.polled_ns += polled_ns;
        }
        count
    }
}
