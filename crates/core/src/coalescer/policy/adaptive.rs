//! `adaptive` in a loop: messages leave at once when the connection is idle, otherwise at the end of the
//! iteration, and later only where waiting brings more messages.
//!
//! Iterations decide which messages leave together. The first message after a rest leaves at once, unless
//! the last iterations had several, or the messages that usually follow would wait longer for its write
//! than it waits for the iteration's end; those that follow in the iteration leave at its end, in one
//! write, however slow the program is between them. A foreign loop that has had single messages does not tell
//! of most ends: there a few that are apart leave by themselves first ([`NEXT_NS`]). Where messages come as fast
//! as the loop lets them ([`load`]), they are held for more iterations. An iteration without a message ends
//! every hold.

mod load;

use super::price::Price;
use super::{Moment, Policy, Writer};
use crate::Reason;
use load::Load;

/// A connection without a write for this time is idle, even if the loop was busy meanwhile: several
/// times the price of a write.
const IDLE_NS: u64 = 20_000;
/// A loop that does not say when it rests has rested if a message comes this long after the last tick or
/// write, and longer after it than an iteration lasts: about the price of a write.
const REST_NS: u64 = 5_000;
/// A loop that is not ours and does not tell of this iteration's end has begun another one if a message
/// comes this long after the last write: later than the next message of the same burst, and sooner than
/// an iteration ends. A program that computes for longer between messages pays for a write each, up to
/// `TOLD_EVERY` of them.
const NEXT_NS: u64 = 1_500;
/// A sender that has been silent for this long was not busy.
const PAUSE_NS: u64 = 100_000;
/// Messages of a closed load are held for no more than this part of the time that the loop has been busy.
const BUSY_SHARE: u64 = 4;

/// The price of a write until it is measured.
const WRITE_NS: u32 = 4_000;

/// An iteration that takes this long is slow: one more write costs less than a hundredth of it.
const SLOW_NS: u64 = 2_000_000;
/// Where many connections have messages in an iteration, their writes may be why it is long: it is
/// slow only if it takes this long for each of them, several times the price of a write.
const SLOW_EACH_NS: u64 = 40_000;
/// The next iteration is expected to have several messages after one that had more than two, or after two
/// that had two; where most have one, a pair by chance does not hold the next message.
const EXPECTED: u8 = 2;
/// A busy loop's iterations have several messages from this average on.
const SEVERAL: f32 = 1.5;
/// The average reaches back over this many iterations.
const REACH: f32 = 8.0;
/// The average counts no more messages of one iteration than this.
const MANY: u64 = 8;
/// The policy is told the end of each of this many iterations in a row that have one message.
const ALWAYS_TOLD: u32 = 8;
/// After those, it is told the end of one iteration in this many.
const TOLD_EVERY: u32 = 7;

/// The kind of loop that ticks, as far as the policy knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Loop {
    /// The program's own loop.
    Plain,
    /// An event loop that says when it is about to wait.
    Resting,
    /// An event loop that does other things between ticks, and does not say when it waits.
    Foreign,
}

/// The current iteration's first message.
#[derive(Clone, Copy, Debug)]
struct First {
    at_ns: u64,
    /// How many messages had been handed over before it.
    messages: u64,
    /// Whether there was a write between the first message of the iteration before and this one.
    has_write: bool,
}

#[derive(Debug)]
pub(in super::super) struct Adaptive {
    of_loop: Loop,
    /// No message is held for longer than this beyond its iteration.
    hold_ns: u64,
    /// The knob `max_hold`: no message is held for longer than this.
    max_hold_ns: u64,
    /// An iteration that takes this long is slow; within it no message is held for longer than this.
    slow_ns: u64,
    load: Load,
    first: Option<First>,
    /// When the first message came of the last iteration that had any, if the loop has not rested since.
    last_first_ns: Option<u64>,
    /// How sure it is that the next iteration has several messages, because the last ones had: from 0 to
    /// [`EXPECTED`].
    several: u8,
    /// How many iterations in a row had one message.
    single_iterations: u32,
    /// A moving average of the messages of an iteration.
    usual_messages: f32,
    /// Whether a write was made since the first message of the current iteration, or else of the last.
    has_written: bool,
    /// Whether the loop has had nothing to do since the last write.
    has_rested: bool,
    /// Whether the loop said with its last tick that it is about to wait.
    will_wait: bool,
    /// When the last write ended; 0 before there was one.
    last_write_ns: u64,
    last_tick_ns: u64,
    /// Whether the program of a plain loop polls also when nothing is held.
    polls_always: bool,
    iteration_ns: u64,
    /// The price of a write.
    write: Price,
    /// How long writes have taken since the current iteration's first message, or else the last one's.
    wrote_ns: u64,
    /// A moving average of how long an iteration lasts from its first message on, without its writes.
    usual_wait_ns: f32,
    /// The time since which the loop has had something to do, as far as we know.
    busy_since_ns: u64,
}

impl Policy for Adaptive {
    fn on_message(&mut self, at: Moment) -> Option<Reason> {
        if self.is_new_iteration(at) {
            self.begin_iteration(at);
        }
        if let Some(since_ns) = at.held_since_ns {
            let is_late = at.now_ns.saturating_sub(since_ns) >= self.slow_ns;
            return is_late.then_some(Reason::Deadline);
        }
        (!self.has_written && self.is_at_once()).then_some(Reason::Idle)
    }

    fn on_tick(&mut self, at: Moment, will_block: bool) -> Option<Reason> {
        let first_ns = self.first.map(|first| first.at_ns);
        let is_untold_pause = self.of_loop == Loop::Plain && at.held_since_ns.is_none();
        if let Some(begun_ns) = at.held_since_ns.into_iter().chain(first_ns).min() {
            if !is_untold_pause {
                self.iteration_ns = at.now_ns.saturating_sub(begun_ns.max(self.last_tick_ns));
                let waited_ns = self.iteration_ns.saturating_sub(self.wrote_ns);
                let waited_ns = waited_ns.min(self.slow_ns) as f32;
                self.usual_wait_ns += (waited_ns - self.usual_wait_ns) / REACH;
            }
        }
        self.last_tick_ns = at.now_ns;
        self.will_wait = will_block;
        let had_messages = self.end_iteration(at.messages);
        self.polls_always |= had_messages && at.held_since_ns.is_none();
        let rests = will_block || !had_messages;
        if rests && !at.is_blocked {
            self.rest(at.now_ns);
        }
        let held_since_ns = at.held_since_ns?;
        let holds_on = !rests && self.holds_on(at, held_since_ns);
        (!holds_on).then_some(Reason::Tick)
    }

    fn on_connections(&mut self, count: usize) {
        let of_all_ns = SLOW_EACH_NS.saturating_mul(count as u64);
        self.slow_ns = self.max_hold_ns.min(SLOW_NS.max(of_all_ns));
    }

    fn on_written(&mut self, end_ns: u64, _: Writer) {
        self.last_write_ns = end_ns;
        self.has_written = true;
        self.has_rested = self.will_wait;
    }

    fn on_small_write(&mut self, took_ns: u64) {
        self.write.note(took_ns);
        self.wrote_ns += took_ns;
    }

    /// Whether the loop must tell of the iteration's end even if nothing is held then: it shows which
    /// messages leave together, and whether the loop rests.
    fn wants_tick(&self) -> bool {
        match self.of_loop {
            Loop::Plain => false,
            Loop::Resting => !self.has_rested,
            Loop::Foreign => self.first.is_some() && self.is_end_told(),
        }
    }

    /// After a slow iteration, the messages of the next one come with their times, so that none is held
    /// for all of that iteration.
    fn watches_time(&self) -> bool {
        self.is_slow()
    }

    /// A plain loop that has nothing else to do says so by ticking again.
    fn asks_at_once(&self) -> bool {
        self.of_loop == Loop::Plain
    }
}

impl Adaptive {
    /// `hold_ns` bounds the holds that last beyond an iteration, `max_hold_ns` all holds.
    pub(super) fn new(hold_ns: u64, max_hold_ns: u64, of_loop: Loop) -> Self {
        Self {
            of_loop,
            hold_ns,
            max_hold_ns,
            slow_ns: max_hold_ns.min(SLOW_NS),
            load: Load::new(),
            first: None,
            last_first_ns: None,
            several: 0,
            single_iterations: 0,
            usual_messages: 1.0,
            has_written: false,
            has_rested: true,
            will_wait: false,
            last_write_ns: 0,
            last_tick_ns: 0,
            polls_always: false,
            iteration_ns: 0,
            write: Price::median(WRITE_NS),
            wrote_ns: 0,
            usual_wait_ns: 0.0,
            busy_since_ns: 0,
        }
    }

    /// Where the end of an iteration is not told, a message that finds nothing held and an idle
    /// connection begins the next one. Where it is told, such a message does so after the time of a slow
    /// iteration, for the end may have been missed: a plain loop no longer polls, or the socket was blocked.
    fn is_new_iteration(&self, at: Moment) -> bool {
        let idle_ns = match self.of_loop {
            _ if self.is_end_told() => self.slow_ns,
            Loop::Plain => IDLE_NS,
            Loop::Resting | Loop::Foreign => NEXT_NS,
        };
        let is_idle =
            at.held_since_ns.is_none() && at.now_ns.saturating_sub(self.last_write_ns) >= idle_ns;
        self.first.is_none() || is_idle
    }

    /// Whether a tick ends the current iteration, even if nothing is held. A loop that is not ours makes
    /// another iteration for that tick: where messages come singly, one in `TOLD_EVERY` is asked for.
    fn is_end_told(&self) -> bool {
        match self.of_loop {
            Loop::Plain => self.polls_always,
            Loop::Resting => true,
            Loop::Foreign => {
                self.single_iterations < ALWAYS_TOLD || self.single_iterations % TOLD_EVERY == 0
            }
        }
    }

    fn begin_iteration(&mut self, at: Moment) {
        if self.end_iteration(at.messages) {
            // No tick has told of the end.
            self.polls_always = false;
        }
        let last_ns = self.last_tick_ns.max(self.last_write_ns);
        let quiet_ns = at.now_ns.saturating_sub(last_ns);
        if quiet_ns >= PAUSE_NS {
            self.usual_messages = 1.0;
            self.rest(at.now_ns);
        }
        // The loop may have rested, or been busy with other things: the looks of `load` tell which.
        self.has_rested |= quiet_ns >= self.rest_ns();
        self.will_wait = false;
        self.wrote_ns = 0;
        self.first = Some(First {
            at_ns: at.now_ns,
            messages: at.messages,
            has_write: std::mem::replace(&mut self.has_written, false),
        });
    }

    /// Returns whether the iteration had messages; `messages` were handed over by its end.
    fn end_iteration(&mut self, messages: u64) -> bool {
        let Some(first) = self.first.take() else {
            return false;
        };
        let came = messages - first.messages;
        if let Some(last_ns) = self.last_first_ns.replace(first.at_ns) {
            let gap_ns = first.at_ns.saturating_sub(last_ns);
            self.load.note(came, gap_ns, first.has_write);
        }
        self.several = match came {
            0 | 1 => self.several.saturating_sub(1),
            2 => (self.several + 1).min(EXPECTED),
            _ => (self.several + 2).min(EXPECTED),
        };
        self.single_iterations = if came > 1 {
            0
        } else {
            self.single_iterations.wrapping_add(1)
        };
        self.usual_messages += (came.min(MANY) as f32 - self.usual_messages) / REACH;
        true
    }

    /// After this time without a tick or a write the loop has rested.
    fn rest_ns(&self) -> u64 {
        match self.of_loop {
            Loop::Resting => PAUSE_NS,
            Loop::Plain | Loop::Foreign => self.iteration_ns.clamp(REST_NS, IDLE_NS),
        }
    }

    /// The loop has nothing to do.
    fn rest(&mut self, now_ns: u64) {
        self.has_rested = true;
        self.last_first_ns = None;
        self.busy_since_ns = now_ns;
        self.load.forget();
    }

    /// Whether the first message of an iteration is written before others may come.
    fn is_at_once(&self) -> bool {
        let is_single = if self.has_rested {
            !(self.several == EXPECTED || self.is_worth_waiting()) || self.is_slow()
        } else {
            self.usual_messages < SEVERAL && !self.is_worth_waiting()
        };
        is_single && !self.is_held_for_more()
    }

    /// Whether the messages that usually follow the first one of an iteration would wait longer for its
    /// write, all together, than it waits for the iteration's end.
    fn is_worth_waiting(&self) -> bool {
        let followers = self.usual_messages - 1.0;
        !self.may_end_untold() && followers * self.write.ns() as f32 > self.usual_wait_ns
    }

    /// Whether the iteration of a plain loop may end without a tick, so that held messages would wait for
    /// the deadline.
    fn may_end_untold(&self) -> bool {
        self.of_loop == Loop::Plain && !self.polls_always
    }

    /// Whether even a single message is held, because others then come faster, or to see whether they do.
    fn is_held_for_more(&self) -> bool {
        let surely_rested = self.of_loop == Loop::Resting && self.has_rested;
        let may_gain = !(self.may_end_untold() || surely_rested || self.is_slow());
        may_gain && (self.load.is_closed() || self.load.is_to_look())
    }

    /// Whether the last iteration with messages was so long that one more write costs next to nothing.
    fn is_slow(&self) -> bool {
        self.iteration_ns >= self.slow_ns
    }

    /// Whether held messages wait for those of another iteration, which is taken to last as long as the
    /// last one.
    fn holds_on(&mut self, at: Moment, held_since_ns: u64) -> bool {
        let held_ns = at.now_ns.saturating_sub(held_since_ns) + self.iteration_ns;
        if self.load.is_closed() {
            let busy_ns = at.now_ns.saturating_sub(self.busy_since_ns);
            return held_ns < self.hold_ns.min(busy_ns / BUSY_SHARE);
        }
        let looks = self.load.is_to_look() && held_ns < self.hold_ns;
        if looks {
            self.load.begin_look();
        }
        looks
    }
}
