//! `adaptive` where many threads share a connection: when a sender writes its message itself, and when
//! messages are held for the writing thread.
//!
//! A few messages at a time are written by their senders, one by one. If a burst, or the batch of a visit,
//! has more than a few, the messages of the next burst are held for the thread from the first on. How many
//! are few follows from two prices, which are measured while the connection is used: the time of a small
//! write that follows another, and the time until the thread comes when it is told. Until the first is known,
//! bursts of up to `MOST_FEW` are written by their senders.
//!
//! On the senders' core the thread comes when they rest. Where they do not, the next sender writes what is
//! held. Messages that come faster than they can be written one by one, or faster while none is written, are
//! held together for longer.
//! Whether they do shows only while none is written, so after many in a row the next is held to look.

#[cfg(test)]
mod tests;

use super::price::Price;
use super::{Moment, Policy, Writer};
use crate::Reason;

/// Until they are measured: the time of a small write, and the time until the thread comes.
const WRITE_NS: u32 = 4_000;
const WAKE_NS: u32 = 5_000;
/// More messages than these are never few, however dear a wake-up is.
const MOST_FEW: u64 = 8;
/// After so many writes of senders a price that is not known is taken as guessed: large writes do not
/// measure it.
const MOST_TRIES: u8 = 16;
/// Senders that have written nothing for this many times the price of a write are not busy.
const REST_WRITES: u64 = 12;
/// Messages that come within this part of the price of a write after one, or after each other, are a burst.
const CLOSE_SHARE: u64 = 3;
/// After this many messages, on average less than `DENSE_WRITES` times the price of a write apart, the next is
/// held: to its sender a write costs more than the time that the kernel takes.
const IN_A_ROW: u64 = 64;
const DENSE_WRITES: u64 = 5;
/// Senders wait for this many times the price of a write for the thread to come; then one of them writes.
const PATIENT_WRITES: u64 = 2;
/// Senders keep up with messages whose gaps are longer than the price of a write by this part of it.
const SPARE_SHARE: u64 = 4;
/// The wait doubles, up to `MOST_DOUBLINGS` times, while messages come within this part of the price of a
/// write of each other: the more messages a batch has, the less its write costs for each.
const FAST_SHARE: u64 = 2;
const MOST_DOUBLINGS: u32 = 7;
/// After so many visits of the thread in a row that find messages far apart, waiting brings no more.
const SLOW_VISITS: u32 = 8;
/// Within a burst, after which its sender may rest, the wait has doubled at least this often.
const DOUBLINGS_IN_BURST: u32 = 2;
/// A sender looks at the clock again after this part of the time for which messages have been held, and
/// after `MOST_STEP` messages at the latest.
const LOOKS: u64 = 4;
const MOST_STEP: u64 = 64;

#[derive(Debug)]
struct Told {
    at_ns: u64,
    /// Whether senders were not busy before.
    was_rested: bool,
}

#[derive(Debug)]
pub(in super::super) struct SharedAdaptive {
    /// No message is held for longer than this, as far as the scheduler lets a thread write it.
    most_ns: u64,
    write: Price,
    /// How many writes senders made, up to `MOST_TRIES`.
    tries: u8,
    /// The time until the thread comes while senders are busy, at best: it waits for them, too.
    wake: Price,
    /// The usual time until the thread comes when senders are not busy.
    rested_wake: Price,
    /// When the thread was told to come for what is held; `None`: it has come.
    told: Option<Told>,
    /// Messages handed over before the burst, and before the batch.
    before_burst: u64,
    before_batch: u64,
    /// Whether senders were not busy before the burst.
    is_rested: bool,
    /// Whether the last burst, or the thread's last visit, had more than a few messages.
    expects_many: bool,
    /// Whether the current message follows a write so soon that the receiver need not be woken for it.
    follows: bool,
    /// How many messages in a row were written by their senders, or held to look, without a gap, and when the
    /// first of them came.
    in_a_row: u64,
    row_since_ns: u64,
    /// How far apart messages came in the last such row; 0: nothing is known of it.
    written_gap_ns: u64,
    /// Whether the messages that a sender wrote in the thread's place had come faster than they could be
    /// written one by one: then the next messages are held, too.
    holds_on: bool,
    /// How often the wait for the thread has doubled.
    doublings: u32,
    /// How many times in a row the thread has come for messages that were not dense any more.
    slow_visits: u32,
    /// The number of the message whose sender looks at the clock.
    look_at: u64,
    last_write_ns: u64,
    /// Whether a batch that was taken out has been written since the burst began: that ends the burst.
    has_visited: bool,
}

impl Policy for SharedAdaptive {
    /// A message comes while nothing is held: decide whether its sender writes it.
    fn on_message(&mut self, at: Moment) -> Option<Reason> {
        let idle_ns = at.now_ns.saturating_sub(self.last_write_ns);
        // Not by the price alone: one that has risen by mistake would never be measured again.
        self.follows = idle_ns < self.write.ns().min(WRITE_NS.into());
        // Where waiting brings more, a short pause of the sender is no rest.
        let rest_writes = if self.doublings > 0 { REST_WRITES } else { 1 };
        if idle_ns >= rest_writes * self.write.ns() {
            self.stop_holding_on();
        }
        if self.has_visited || !self.is_close(idle_ns) {
            self.end_burst(at.messages);
            self.is_rested = idle_ns >= REST_WRITES * self.write.ns();
        }
        if self.holds_on {
            return None;
        }
        let is_one_of_few = !self.expects_many && self.are_few(at.messages - self.before_burst + 1);
        if !is_one_of_few {
            self.in_a_row = 0;
            return None;
        }
        (!self.ends_a_row(at.now_ns, idle_ns)).then_some(Reason::Idle)
    }

    fn on_batch(&mut self, messages: u64) {
        self.before_batch = messages;
        // The write of a batch is no small write that follows another.
        self.follows = false;
        // The second message's sender looks first.
        self.look_at = messages + 2;
    }

    /// The writing thread comes.
    fn on_tick(&mut self, at: Moment, _: bool) -> Option<Reason> {
        if let Some(told) = self.told.take() {
            let took_ns = at.now_ns.saturating_sub(told.at_ns);
            self.wake.note(took_ns);
            if told.was_rested {
                self.rested_wake.note(took_ns);
            }
        }
        if let Some(since_ns) = at.held_since_ns.filter(|_| self.doublings > 0) {
            self.on_visit(at, since_ns);
        }
        Some(Reason::Tick)
    }

    fn look_at(&self) -> u64 {
        self.look_at
    }

    fn on_look(&mut self, at: Moment) -> bool {
        let Some(since_ns) = at.held_since_ns else {
            return false;
        };
        let held_ns = at.now_ns.saturating_sub(since_ns);
        let batch = at.messages.saturating_sub(self.before_batch).max(1);
        let gap_ns = gap_ns(held_ns, batch);
        let left_ns = self.patience_ns(gap_ns).saturating_sub(held_ns);
        self.look_later(at.messages, batch, held_ns, gap_ns, left_ns);
        let is_overdue = !at.is_blocked && left_ns == 0;
        if is_overdue {
            // A rest before the batch is no gap of it.
            let before_ns = at.now_ns.saturating_sub(self.last_write_ns);
            let since_ns = before_ns.min(held_ns + gap_ns.max(self.write.ns()));
            let each_ns = (since_ns + self.write.ns()) / batch;
            self.end_look(at.messages, gap_ns, each_ns);
        }
        is_overdue
    }

    fn on_written(&mut self, end_ns: u64, by: Writer) {
        self.last_write_ns = end_ns;
        if by != Writer::Thread {
            self.tries = MOST_TRIES.min(self.tries + 1);
        } else {
            self.has_visited = true;
            // Where waiting brings more, a visit tells nothing: the scheduler lets the thread in now and then.
            if self.doublings == 0 {
                self.stop_holding_on();
            }
            // If the thread was told to write the rest of what was taken, its coming was no visit; and
            // if a sender has written a full batch in its place, there may be nothing to come for.
            self.told = None;
        }
    }

    fn on_small_write(&mut self, took_ns: u64) {
        // A write that wakes its receiver takes longer than the price: such a sample counts only if it
        // lowers the price. But writes into a full socket lower it, too, and no message follows within a
        // price that is too low.
        if self.follows || took_ns < self.write.ns() {
            self.write.note(took_ns);
        } else {
            self.write.doubt_if_low(WRITE_NS);
        }
    }

    fn on_told(&mut self, now_ns: u64) {
        self.told = Some(Told {
            at_ns: now_ns,
            was_rested: self.is_rested,
        });
    }
}

impl SharedAdaptive {
    pub(super) fn new(most_ns: u64) -> Self {
        Self {
            most_ns,
            write: Price::median(WRITE_NS),
            tries: 0,
            wake: Price::low(WAKE_NS),
            rested_wake: Price::median(WAKE_NS),
            told: None,
            before_burst: 0,
            before_batch: 0,
            is_rested: false,
            expects_many: false,
            follows: false,
            in_a_row: 0,
            row_since_ns: 0,
            written_gap_ns: 0,
            holds_on: false,
            doublings: 0,
            slow_visits: 0,
            look_at: 0,
            last_write_ns: 0,
            has_visited: false,
        }
    }

    /// Count a message that its sender would write. Returns whether it is to be held in place of that, to see
    /// how fast messages come while none is written: after many in a row, on average not far apart.
    fn ends_a_row(&mut self, now_ns: u64, idle_ns: u64) -> bool {
        if self.in_a_row == 0 || idle_ns >= REST_WRITES * self.write.ns() {
            self.in_a_row = 0;
            self.row_since_ns = now_ns;
        }
        self.in_a_row += 1;
        if self.in_a_row <= IN_A_ROW {
            return false;
        }
        self.in_a_row = 0;
        let gap_ns = now_ns.saturating_sub(self.row_since_ns) / IN_A_ROW;
        let is_dense = gap_ns < DENSE_WRITES * self.write.ns();
        self.written_gap_ns = if is_dense { gap_ns } else { 0 };
        is_dense
    }

    /// A burst has ended: expect the next one to be like it.
    fn end_burst(&mut self, messages: u64) {
        let burst = messages - self.before_burst;
        self.expects_many = !self.are_few(burst);
        if self.expects_many && burst <= MOST_FEW {
            self.write.doubt();
        }
        self.before_burst = messages;
        self.has_visited = false;
    }

    /// Whether a burst of so many messages costs no more when their senders write them, one after the other,
    /// than when they are left to the thread: the delays of all of them, plus the CPU time.
    fn are_few(&self, burst: u64) -> bool {
        if burst > MOST_FEW {
            return false;
        }
        if !self.write.is_known() && self.tries < MOST_TRIES {
            // Only writes of senders measure it.
            return true;
        }
        let wake = if self.is_rested {
            self.rested_wake
        } else {
            self.wake
        };
        let by_senders_ns = (burst + burst * (burst + 1) / 2) * self.write.ns();
        let by_thread_ns = (1 + burst) * (self.write.ns() + wake.ns());
        by_senders_ns <= by_thread_ns
    }

    fn is_close(&self, gap_ns: u64) -> bool {
        gap_ns < self.write.ns() / CLOSE_SHARE
    }

    /// How long senders leave messages that come one each `gap_ns` to the thread.
    fn patience_ns(&self, gap_ns: u64) -> u64 {
        let doublings = match self.is_close(gap_ns) {
            true => self.doublings.max(DOUBLINGS_IN_BURST),
            false => self.doublings,
        };
        ((PATIENT_WRITES << doublings) * self.write.ns()).min(self.most_ns)
    }

    /// A sender is about to write the messages that the thread has not come for. They came one each `gap_ns`;
    /// `each_ns` counts the gap before them and the time of a write, too.
    fn end_look(&mut self, messages: u64, gap_ns: u64, each_ns: u64) {
        let write_ns = self.write.ns();
        let are_let_come = self.are_let_come(each_ns);
        self.in_a_row = 0;
        self.slow_visits = 0;
        if !are_let_come {
            self.written_gap_ns = 0;
        }
        if each_ns >= write_ns + write_ns / SPARE_SHARE && !are_let_come {
            self.before_burst = messages;
            self.expects_many = false;
            self.stop_holding_on();
        } else {
            self.holds_on = true;
            self.doublings = match self.are_fast(gap_ns) || are_let_come {
                true => MOST_DOUBLINGS.min(self.doublings + 1),
                false => 0,
            };
        }
    }

    /// The thread comes for what is held, though waiting has brought more. Where it no longer does, several
    /// times in a row, senders write again: with a core of its own the thread would always come first.
    fn on_visit(&mut self, at: Moment, since_ns: u64) {
        let batch = at.messages.saturating_sub(self.before_batch).max(1);
        let gap_ns = gap_ns(at.now_ns.saturating_sub(since_ns), batch);
        if batch > 1 && (self.are_fast(gap_ns) || self.are_let_come(gap_ns)) {
            self.slow_visits = 0;
            return;
        }
        self.slow_visits += 1;
        if self.slow_visits == SLOW_VISITS {
            self.stop_holding_on();
        }
    }

    /// Whether messages come so fast that each write costs less for a message the longer they are held.
    fn are_fast(&self, gap_ns: u64) -> bool {
        gap_ns < self.write.ns() / FAST_SHARE
    }

    /// Whether waiting brings more: messages come faster than they did while each was written.
    fn are_let_come(&self, gap_ns: u64) -> bool {
        gap_ns < self.written_gap_ns - self.written_gap_ns / SPARE_SHARE
    }

    /// Senders keep up with what comes.
    fn stop_holding_on(&mut self) {
        self.holds_on = false;
        self.slow_visits = 0;
        self.doublings = 0;
        self.written_gap_ns = 0;
    }

    /// Decide when a sender looks again: not long after the wait is over, and at the latest when there are
    /// twice as many messages, for the next ones may come more slowly.
    fn look_later(&mut self, messages: u64, batch: u64, held_ns: u64, gap_ns: u64, left_ns: u64) {
        let part_ns = held_ns.max(PATIENT_WRITES * self.write.ns()) / LOOKS;
        let step = part_ns.min(left_ns) / gap_ns.max(1);
        self.look_at = messages + step.clamp(1, batch.min(MOST_STEP));
    }
}

/// How far apart the messages of a batch came, which were held for so long.
fn gap_ns(held_ns: u64, batch: u64) -> u64 {
    held_ns / (batch - 1).max(1)
}
