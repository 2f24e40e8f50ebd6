//! When to write what: the rule of every strategy, without a socket or a clock.
//!
//! Laws: what leaves is the concatenation of what came, whatever the socket takes. A message is
//! copied only when it is held. Nothing here waits: an answer says what to do now, and
//! [`Coalescer::deadline_ns`] when to ask again. Bytes never wait for the peer's acknowledgement.
//!
//! The caller's side is in the crate's documentation.

mod adaptive;
mod stats;
mod strategy;
mod threads;

#[cfg(test)]
mod driver;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use adaptive::{LONGEST_GAP_NS, Loop};
pub use stats::{Reason, Stats};
pub use strategy::{KnobError, Knobs, Strategy};

/// After this time without a write a message leaves at once: about five times a write's cost.
const IDLE_NS: u64 = 20_000;

/// What to do next. It is exhaustive on purpose: a caller that did nothing at an answer that it does
/// not know would lose bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "bytes wait until this is done"]
pub enum Next {
    /// Nothing: the bytes are held, and what releases them is on its way.
    Wait,
    /// The first bytes of a batch are held: call [`Coalescer::on_tick`] when the iteration ends, and
    /// have the loop wait no longer than until [`Coalescer::deadline_ns`].
    Arm,
    /// Write what is pending, and after it the message that was just handed over, if there is one;
    /// then call [`Coalescer::on_written`].
    Write(Reason),
    /// Write what is pending, because of [`Reason::Full`], then hand the message over again: it was
    /// not taken.
    WriteFirst,
    /// [`Knobs::max_buffered_bytes`] would be exceeded: nothing of the message was taken. Wait until
    /// the socket is writable, and try again.
    Refuse,
}

/// Holds messages of one connection, and says when they leave.
///
/// Times are nanoseconds of one clock that does not go back, from any start that the caller likes.
#[derive(Debug)]
pub struct Coalescer {
    strategy: Strategy,
    hold_ns: Option<u64>,
    max_bytes: usize,
    max_buffered_bytes: usize,
    /// What is held begins at `written`: what the socket took is cut off when all was.
    buffer: Vec<u8>,
    written: usize,
    is_blocked: bool,
    has_queue_behind: bool,
    /// When the first of the held bytes came.
    held_since_ns: u64,
    /// How many messages had come before the first of the batch, or the one written through.
    messages_before: u64,
    /// Whether the last batch had more than one message: then the next one is expected to.
    is_bursty: bool,
    last_write_ns: Option<u64>,
    last_tick_ns: u64,
    /// Whether no message came since the last tick.
    is_quiet: bool,
    /// Whether none had come before it either.
    was_quiet: bool,
    /// From the end of an iteration to the next message, a moving average.
    gap_ns: u64,
    of_loop: Loop,
    /// Since when the loop has had something to do, as far as we know.
    busy_since_ns: u64,
    stats: Stats,
}

impl Coalescer {
    /// A coalescer that has nothing.
    ///
    /// # Errors
    /// Which knob is outside its range.
    pub fn new(knobs: Knobs) -> Result<Self, KnobError> {
        let knobs = knobs.checked()?;
        Ok(Self {
            strategy: knobs.strategy,
            hold_ns: knobs.hold_ns(Knobs::ADAPTIVE_HOLD),
            max_bytes: knobs.max_bytes,
            max_buffered_bytes: knobs.max_buffered_bytes.unwrap_or(usize::MAX),
            buffer: Vec::new(),
            written: 0,
            is_blocked: false,
            has_queue_behind: false,
            held_since_ns: 0,
            messages_before: 0,
            is_bursty: false,
            last_write_ns: None,
            last_tick_ns: 0,
            is_quiet: true,
            was_quiet: true,
            gap_ns: LONGEST_GAP_NS,
            of_loop: Loop::Plain,
            busy_since_ns: 0,
            stats: Stats::default(),
        })
    }

    /// A message is handed over. It is held, unless the answer is to write or to refuse it. `clock`
    /// is read for the first message of a batch and after a tick only.
    pub fn on_message(&mut self, message: &[u8], clock: impl FnOnce() -> u64) -> Next {
        if self.hold_with_others(message) {
            return Next::Wait;
        }
        let held_bytes = self.pending().len();
        let total_bytes = held_bytes + message.len();
        if total_bytes > self.max_buffered_bytes {
            return self.make_room(held_bytes);
        }
        self.stats.messages += 1;
        if held_bytes > 0 && !self.is_quiet && !self.is_blocked {
            return Next::Write(Reason::Full);
        }
        self.on_first_message(message, total_bytes, clock())
    }

    /// Hold the message if others are held and nothing else is to do: the short way of
    /// [`Coalescer::on_message`], which is to be called when it was not held.
    #[inline]
    #[must_use]
    pub fn hold_with_others(&mut self, message: &[u8]) -> bool {
        let held_bytes = self.pending().len();
        let total_bytes = held_bytes + message.len();
        let is_plain = held_bytes > 0
            && total_bytes < self.max_bytes
            && total_bytes <= self.max_buffered_bytes
            && !self.is_quiet
            && !self.is_blocked
            && !message.is_empty();
        if is_plain {
            self.stats.messages += 1;
            self.buffer.extend_from_slice(message);
        }
        is_plain
    }

    /// The first message of a batch, or since the last tick.
    fn on_first_message(&mut self, message: &[u8], total_bytes: usize, now_ns: u64) -> Next {
        self.note_gap(now_ns);
        let is_first = total_bytes == message.len();
        let is_idle = self.is_idle(now_ns);
        if is_first && is_idle {
            self.messages_before = self.stats.messages - 1;
        }
        let reason = if self.is_blocked {
            self.reason_to_pass_on(total_bytes)
        } else {
            self.reason_to_write_now(is_first && is_idle, total_bytes)
        };
        if let Some(reason) = reason {
            return Next::Write(reason);
        }
        if is_first {
            self.held_since_ns = now_ns;
        }
        self.buffer.extend_from_slice(message);
        if is_first && !self.is_blocked {
            Next::Arm
        } else {
            Next::Wait
        }
    }

    fn reason_to_write_now(&self, is_idle: bool, total_bytes: usize) -> Option<Reason> {
        match self.strategy {
            Strategy::NoDelay | Strategy::Nagle => Some(Reason::EachMessage),
            _ if total_bytes >= self.max_bytes => Some(Reason::Full),
            Strategy::Adaptive if is_idle && !self.is_bursty => Some(Reason::Idle),
            _ => None,
        }
    }

    fn reason_to_pass_on(&self, total_bytes: usize) -> Option<Reason> {
        let is_unbounded = self.max_buffered_bytes == usize::MAX;
        (self.has_queue_behind && is_unbounded && total_bytes >= self.max_bytes)
            .then_some(Reason::Full)
    }

    fn is_idle(&self, now_ns: u64) -> bool {
        self.last_write_ns
            .is_none_or(|last_ns| now_ns.saturating_sub(last_ns) >= IDLE_NS)
    }

    #[cold]
    fn make_room(&self, held_bytes: usize) -> Next {
        if self.is_blocked || held_bytes == 0 {
            Next::Refuse
        } else {
            Next::WriteFirst
        }
    }

    /// An iteration of the loop ends, or a deadline has come; `will_block`: nothing else is to do,
    /// and the loop is about to wait. It answers [`Next::Write`] or [`Next::Wait`].
    pub fn on_tick(&mut self, now_ns: u64, will_block: bool) -> Next {
        let had_messages = !self.is_quiet;
        self.is_quiet = true;
        self.was_quiet = !had_messages;
        let previous_ns = std::mem::replace(&mut self.last_tick_ns, now_ns);
        if will_block {
            self.busy_since_ns = now_ns;
        }
        if self.pending().is_empty() || self.is_blocked {
            return Next::Wait;
        }
        let held_ns = now_ns.saturating_sub(self.held_since_ns);
        match (self.strategy, self.hold_ns) {
            (_, Some(hold_ns)) if held_ns >= hold_ns => Next::Write(Reason::Deadline),
            (Strategy::Coalesce { .. }, _) => Next::Wait,
            (Strategy::Adaptive, Some(hold_ns)) => {
                let iteration_ns = now_ns.saturating_sub(previous_ns.max(self.held_since_ns));
                let may_wait = had_messages && !will_block;
                if may_wait && self.more_is_near(now_ns, hold_ns, iteration_ns) {
                    Next::Wait
                } else {
                    Next::Write(Reason::Tick)
                }
            }
            _ => Next::Write(Reason::Tick),
        }
    }

    /// What is held, in order.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        &self.buffer[self.written..]
    }

    /// By when [`Coalescer::on_tick`] must be called again, in nanoseconds of the caller's clock;
    /// `None`: nothing waits for a time.
    ///
    /// For [`Strategy::Tick`] without a `max_hold_ns` the time is now: there is no later iteration
    /// that a caller could know of.
    pub fn deadline_ns(&self) -> Option<u64> {
        if self.pending().is_empty() || self.is_blocked {
            return None;
        }
        Some(self.held_since_ns.saturating_add(self.hold_ns.unwrap_or(0)))
    }

    /// The socket took the first `written` bytes of what is pending and then of `message`, which is
    /// empty where none was written with it; the rest is held. `reason` is that of the answer, or
    /// the caller's: [`Reason::Asked`], [`Reason::Writable`]. `start_ns`, `end_ns`: when the write
    /// began and ended.
    ///
    /// # Panics
    /// When it took more than there was.
    pub fn on_written(
        &mut self,
        written: usize,
        message: &[u8],
        reason: Reason,
        start_ns: u64,
        end_ns: u64,
    ) {
        let held_bytes = self.pending().len();
        debug_assert!(written <= held_bytes + message.len());
        self.last_write_ns = Some(end_ns);
        if self.is_quiet {
            // The write itself is no gap.
            self.last_tick_ns = end_ns;
        }
        if held_bytes > 0 && written > 0 {
            self.is_bursty = self.stats.messages - self.messages_before > 1;
            self.messages_before = self.stats.messages;
            let held_ns = start_ns.saturating_sub(self.held_since_ns);
            self.stats.record_hold(held_ns, self.hold_ns);
        }
        if written > 0 {
            self.stats.record_write(written, reason);
        }
        self.cut(written.min(held_bytes));
        let rest = &message[written.saturating_sub(held_bytes)..];
        if !rest.is_empty() && self.pending().is_empty() {
            self.held_since_ns = start_ns;
        }
        self.buffer.extend_from_slice(rest);
    }

    fn cut(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written == self.buffer.len() {
            self.buffer.clear();
            self.written = 0;
            // What a stalled peer made us gather is given back.
            if self.buffer.capacity() > 4 * self.max_bytes {
                self.buffer.shrink_to(2 * self.max_bytes);
            }
        } else if self.written >= self.max_bytes.max(self.buffer.len() / 2) {
            self.buffer.drain(..self.written);
            self.written = 0;
        }
    }

    /// Its rule.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// How long a message is held at most, in nanoseconds; `None`: no time ends its hold.
    pub fn hold_ns(&self) -> Option<u64> {
        self.hold_ns
    }

    /// Whether [`Coalescer::on_tick`] need not be called before [`Coalescer::deadline_ns`]: only a
    /// time lets held messages go, and they have stopped coming. While they come, each iteration's
    /// end tells the time more cheaply than a timer, and sooner.
    pub fn waits_for_time(&self) -> bool {
        self.was_quiet && matches!(self.strategy, Strategy::Coalesce { .. })
    }

    /// Behind the socket is a queue of the caller's, without a bound of its own, where what the socket
    /// does not take waits. A batch of [`Knobs::max_bytes`] then leaves while the socket is blocked,
    /// too, for that queue, so that nothing large is copied here; with
    /// [`Knobs::max_buffered_bytes`] it is held, and bounded.
    pub fn set_queue_behind(&mut self) {
        self.has_queue_behind = true;
    }

    /// From now on a batch this large leaves at once, in bytes.
    pub fn set_max_bytes(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes.max(1);
    }

    /// The socket takes nothing now: hold everything until [`Coalescer::on_writable`].
    pub fn on_blocked(&mut self) {
        self.is_blocked = true;
    }

    /// The socket takes bytes again: whether there are any to write, because of
    /// [`Reason::Writable`].
    pub fn on_writable(&mut self) -> bool {
        self.is_blocked = false;
        !self.pending().is_empty()
    }

    /// Whether the socket took nothing the last time.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// Forget what is held, which nobody will write: after an error, for example. How many bytes it
    /// was.
    pub fn discard(&mut self) -> usize {
        let bytes = self.pending().len();
        self.buffer = Vec::new();
        self.written = 0;
        bytes
    }

    /// What happened so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}
