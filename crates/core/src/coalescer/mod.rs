//! When to write what, without a socket or a clock: a buffer, and the policy of a strategy.
//!
//! Laws: what leaves is the concatenation of what came, whatever the socket takes. A message is
//! copied only when it is held. Nothing here waits: an answer says what to do now, and
//! [`Coalescer::deadline_ns`] says when to ask again. Bytes never wait for the peer's acknowledgement.
//!
//! The crate's documentation describes the caller's side.

mod buffer;
mod bytes;
mod policy;
mod room;
mod stats;
mod strategy;
mod threads;
mod written;

#[cfg(test)]
mod driver;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use buffer::Buffer;
pub use bytes::Bytes;
use policy::{AnyPolicy, Loop, Moment, Policy, Writer};
use room::Room;
pub use stats::{Reason, Stats};
pub use strategy::{KnobError, Knobs, Strategy};

/// What to do next. The enum is exhaustive on purpose: a caller that ignored an answer it does not
/// know would lose bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "bytes wait until this is done"]
pub enum Next {
    /// Nothing: the bytes are held, and what releases them is on its way.
    Wait,
    /// The first bytes of a batch are held, or further bytes that have moved its deadline: call
    /// [`Coalescer::on_tick`] when the iteration ends, and have the loop wait no longer than until
    /// [`Coalescer::deadline_ns`].
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
    policy: AnyPolicy,
    buffer: Buffer,
    hold_ns: Option<u64>,
    max_bytes: usize,
    max_buffered_bytes: usize,
    is_blocked: bool,
    has_queue_behind: bool,
    room: Room,
    /// Whether each message must come with its time, as the policy said at the last tick.
    watches_time: bool,
    /// Whether no message came since the last tick.
    is_quiet: bool,
    /// Whether no message came between the last two ticks.
    was_quiet: bool,
}

impl Coalescer {
    /// A coalescer for a plain loop, with nothing held.
    ///
    /// # Errors
    /// Which knob is outside its range.
    pub fn new(knobs: Knobs) -> Result<Self, KnobError> {
        Self::of_loop(knobs, Loop::Plain)
    }

    /// A coalescer of an event loop that says when it is about to wait ([`Coalescer::on_tick`]).
    ///
    /// No message is held while such a loop waits.
    ///
    /// # Errors
    /// Which knob is outside its range.
    pub fn of_resting_loop(knobs: Knobs) -> Result<Self, KnobError> {
        Self::of_loop(knobs, Loop::Resting)
    }

    /// A coalescer of an event loop that does not say when it is about to wait.
    ///
    /// If the next iteration begins within about the time of a write, the loop is taken not to have
    /// rested.
    ///
    /// # Errors
    /// Which knob is outside its range.
    pub fn of_foreign_loop(knobs: Knobs) -> Result<Self, KnobError> {
        Self::of_loop(knobs, Loop::Foreign)
    }

    fn of_loop(knobs: Knobs, of_loop: Loop) -> Result<Self, KnobError> {
        let hold_ns = knobs.hold_ns(Knobs::ADAPTIVE_HOLD);
        Self::with(knobs, hold_ns, |knobs| {
            AnyPolicy::of_loop(knobs, hold_ns, of_loop)
        })
    }

    fn with(
        knobs: Knobs,
        hold_ns: Option<u64>,
        policy_of: impl FnOnce(&Knobs) -> AnyPolicy,
    ) -> Result<Self, KnobError> {
        let knobs = knobs.checked()?;
        let policy = policy_of(&knobs);
        let watches_time = policy.watches_time();
        Ok(Self {
            policy,
            buffer: Buffer::default(),
            hold_ns,
            max_bytes: knobs.max_bytes,
            max_buffered_bytes: knobs.max_buffered_bytes.unwrap_or(usize::MAX),
            is_blocked: false,
            has_queue_behind: false,
            room: Room::default(),
            watches_time,
            is_quiet: true,
            was_quiet: true,
        })
    }

    /// A message is handed over. It is held, unless the answer is to write or to refuse it. `clock`
    /// is read only for the first message of a batch and the first after a tick, and for each message
    /// while the socket is blocked or if the strategy needs its time ([`Coalescer::watches_time`]).
    pub fn on_message(&mut self, message: &[u8], clock: impl FnOnce() -> u64) -> Next {
        if self.hold_with_others(message) {
            return Next::Wait;
        }
        self.close_room();
        let next = self.on_unusual_message(message, clock);
        if matches!(next, Next::Wait | Next::Arm) {
            self.open_room_of_loop();
        }
        next
    }

    fn on_unusual_message(&mut self, message: &[u8], clock: impl FnOnce() -> u64) -> Next {
        let held_bytes = self.pending().len();
        let total_bytes = held_bytes + message.len();
        if total_bytes > self.max_buffered_bytes {
            return self.make_room(held_bytes);
        }
        let is_plain = !self.is_quiet && !self.watches_time;
        if held_bytes > 0 && is_plain && !self.is_blocked {
            self.buffer.count_message();
            if total_bytes >= self.max_bytes {
                return Next::Write(Reason::Full);
            }
            self.buffer.push(message);
            return Next::Wait;
        }
        self.on_timed_message(message, total_bytes, clock())
    }

    /// Take a message whose time the policy must know: the first of a batch or since the last tick, for
    /// example.
    fn on_timed_message(&mut self, message: &[u8], total_bytes: usize, now_ns: u64) -> Next {
        let is_first = total_bytes == message.len();
        self.is_quiet = false;
        let before_ns = (!is_first).then(|| self.policy.deadline_ns());
        let asked = self.policy.on_message(self.moment(now_ns));
        let messages = self.buffer.messages();
        self.buffer.count_message();
        let is_full = total_bytes >= self.max_bytes;
        let reason = match asked {
            _ if self.is_blocked => self.reason_to_pass_on(total_bytes),
            None | Some(Reason::Idle) if is_full => Some(Reason::Full),
            asked => asked,
        };
        if let Some(reason) = reason {
            return Next::Write(reason);
        }
        if is_first {
            self.buffer.begin(now_ns);
            self.policy.on_batch(messages);
        }
        self.buffer.push(message);
        let has_news = before_ns.is_none_or(|before_ns| self.policy.deadline_ns() != before_ns);
        if has_news && !self.is_blocked {
            Next::Arm
        } else {
            Next::Wait
        }
    }

    fn moment(&self, now_ns: u64) -> Moment {
        Moment {
            now_ns,
            messages: self.buffer.messages(),
            held_since_ns: self.buffer.since_ns(),
            is_blocked: self.is_blocked,
        }
    }

    fn reason_to_pass_on(&self, total_bytes: usize) -> Option<Reason> {
        let is_unbounded = self.max_buffered_bytes == usize::MAX;
        (self.has_queue_behind && is_unbounded && total_bytes >= self.max_bytes)
            .then_some(Reason::Full)
    }

    #[cold]
    fn make_room(&self, held_bytes: usize) -> Next {
        if self.is_blocked || held_bytes == 0 {
            Next::Refuse
        } else {
            Next::WriteFirst
        }
    }

    /// An iteration of the loop ends, or a deadline has come; `will_block`: the loop has nothing else to
    /// do, and is about to wait. Returns [`Next::Write`] or [`Next::Wait`].
    pub fn on_tick(&mut self, now_ns: u64, will_block: bool) -> Next {
        self.close_room();
        self.was_quiet = std::mem::replace(&mut self.is_quiet, true);
        let asked = self.policy.on_tick(self.moment(now_ns), will_block);
        self.watches_time = self.policy.watches_time();
        let Some(since_ns) = self.buffer.since_ns() else {
            return Next::Wait;
        };
        let held_ns = now_ns.saturating_sub(since_ns);
        match asked {
            _ if self.is_blocked => Next::Wait,
            _ if self.hold_ns.is_some_and(|hold_ns| held_ns >= hold_ns) => {
                Next::Write(Reason::Deadline)
            }
            Some(reason) => Next::Write(reason),
            None => Next::Wait,
        }
    }

    /// In the iteration that ends, `count` connections of the event loop had messages.
    pub fn on_connections(&mut self, count: usize) {
        self.policy.on_connections(count);
    }

    /// The held bytes, in order.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.buffer.pending()
    }

    /// By when [`Coalescer::on_tick`] must be called again, in nanoseconds of the caller's clock;
    /// `None`: nothing waits for a time.
    ///
    /// For [`Strategy::Tick`] without a [`Knobs::max_hold`], and for [`Strategy::Adaptive`] in a plain
    /// loop, the time has come already: there is no later iteration that a caller could know of. A tick
    /// may hold messages for one more iteration; a tick before which no message came lets them go.
    pub fn deadline_ns(&self) -> Option<u64> {
        let since_ns = self.buffer.since_ns().filter(|_| !self.is_blocked)?;
        if self.policy.asks_at_once() {
            return Some(since_ns);
        }
        Some(self.due_ns().unwrap_or(since_ns))
    }

    /// Whether what is held is due, and must leave.
    pub fn is_due(&self, now_ns: u64) -> bool {
        let due_ns = self.due_ns().filter(|_| !self.is_blocked);
        due_ns.is_some_and(|due_ns| now_ns >= due_ns)
    }

    /// Whether [`Coalescer::on_tick`] must be called when the iteration ends, though nothing is held.
    #[inline]
    pub fn wants_tick(&self) -> bool {
        !self.is_blocked && self.policy.wants_tick()
    }

    /// When what is held is due: at the end of its hold, or sooner if the policy says so. `None`:
    /// nothing is held, or no time ends its hold.
    fn due_ns(&self) -> Option<u64> {
        let since_ns = self.buffer.since_ns()?;
        let by_hold_ns = self.hold_ns.map(|hold_ns| since_ns.saturating_add(hold_ns));
        match (by_hold_ns, self.policy.deadline_ns()) {
            (Some(by_hold_ns), Some(by_rule_ns)) => Some(by_hold_ns.min(by_rule_ns)),
            (by_hold_ns, by_rule_ns) => by_hold_ns.or(by_rule_ns),
        }
    }

    /// How long a message is held at most, in nanoseconds; `None`: no time ends its hold. With
    /// [`Strategy::Competitive`] it may be due before.
    pub fn hold_ns(&self) -> Option<u64> {
        self.hold_ns
    }

    /// Whether [`Coalescer::on_tick`] need not be called before [`Coalescer::deadline_ns`]: held
    /// messages leave only at a time, and no more have come. While more come, it is cheaper to look at
    /// the time at the end of each iteration than to set a timer, and they leave sooner.
    pub fn waits_for_time(&self) -> bool {
        self.was_quiet && self.policy.waits_for_time()
    }

    /// Whether, until the next tick, each message must come with its time, because the time at which
    /// held messages leave depends on it. [`Coalescer::hold_with_others`] then holds none.
    #[inline]
    pub fn watches_time(&self) -> bool {
        self.watches_time
    }

    /// Declare that the caller has an unbounded queue for what the socket does not take. A batch of
    /// [`Knobs::max_bytes`] then leaves for that queue even while the socket is blocked, so that
    /// nothing large is copied here; with [`Knobs::max_buffered_bytes`] it is held, and bounded.
    pub fn set_queue_behind(&mut self) {
        self.has_queue_behind = true;
    }

    /// From now on a batch of `max_bytes` leaves at once.
    pub fn set_max_bytes(&mut self, max_bytes: usize) {
        self.close_room();
        self.max_bytes = max_bytes.max(1);
    }

    /// The socket takes nothing now: hold everything until [`Coalescer::on_writable`].
    pub fn on_blocked(&mut self) {
        self.close_room();
        self.is_blocked = true;
    }

    /// The socket takes bytes again. Returns whether there are any to write, because of
    /// [`Reason::Writable`].
    pub fn on_writable(&mut self) -> bool {
        self.close_room();
        self.is_blocked = false;
        !self.buffer.is_empty()
    }

    /// Whether the socket takes nothing now, or a batch is being written elsewhere.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// Forget what is held, because nobody will write it: after an error, for example. Returns how many
    /// bytes were held.
    pub fn discard(&mut self) -> usize {
        self.close_room();
        self.buffer.discard()
    }

    /// The counts so far.
    pub fn stats(&self) -> &Stats {
        self.buffer.stats()
    }
}
