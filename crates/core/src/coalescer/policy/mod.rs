//! Policies: the rules that decide when messages leave, a file for each rule.
//!
//! Laws: a policy is told what was handed over, when, and when it was written, and says what to do
//! now and when to ask again. It sees neither bytes nor statistics, reads no clock, and keeps what it
//! must know itself. Whatever the policy says, a full batch leaves, and so do messages whose hold has
//! ended: [`Coalescer`](super::Coalescer) sees to that for all policies.

mod adaptive;
mod coalesce;
mod competitive;
mod each_message;
mod price;
mod shared_adaptive;
mod tick;

pub(super) use adaptive::Loop;

use super::{Knobs, Reason, Strategy, strategy::nanoseconds};
use adaptive::Adaptive;
use coalesce::Coalesce;
use competitive::Competitive;
use each_message::EachMessage;
use shared_adaptive::SharedAdaptive;
use tick::Tick;

/// The state of the coalescer when it calls a policy. Times are nanoseconds of one clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now_ns: u64,
    /// How many messages were handed over so far.
    pub(super) messages: u64,
    /// When the first of the held messages came; `None`: nothing is held.
    pub(super) held_since_ns: Option<u64>,
    /// Whether the socket takes nothing now.
    pub(super) is_blocked: bool,
}

/// The side that has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// The sender of a message.
    Sender,
    /// A thread that writes what many others hand over.
    Thread,
}

/// Decides when messages leave. A policy implements only the calls that matter to it.
pub(super) trait Policy {
    /// A message comes that may begin a batch or an iteration, or, if the policy watches the time, any
    /// message; it is not counted yet. Returns the reason to write it now, after what is held; `None`:
    /// hold it.
    fn on_message(&mut self, at: Moment) -> Option<Reason>;

    /// The first message of a batch is held; `messages` were handed over before it.
    fn on_batch(&mut self, _messages: u64) {}

    /// An iteration ends, or the writing thread comes; `will_block`: the caller has nothing else to
    /// do. Returns the reason to write what is held now; `None`: keep holding.
    fn on_tick(&mut self, at: Moment, will_block: bool) -> Option<Reason>;

    /// In the iteration that is about to end, so many connections of the event loop had messages.
    fn on_connections(&mut self, _count: usize) {}

    /// From this number of messages on, a sender whose message was only held must call
    /// [`Policy::on_look`].
    fn look_at(&self) -> u64 {
        u64::MAX
    }

    /// A sender looks; returns whether it must write what is held.
    fn on_look(&mut self, _at: Moment) -> bool {
        false
    }

    /// A write has ended.
    fn on_written(&mut self, _end_ns: u64, _by: Writer) {}

    /// A sender's write of few bytes, all of which the socket took, lasted `_took_ns`.
    fn on_small_write(&mut self, _took_ns: u64) {}

    /// The writing thread is about to be told to come.
    fn on_told(&mut self, _now_ns: u64) {}

    /// Whether held messages leave only at a time, and not because of a tick.
    fn waits_for_time(&self) -> bool {
        false
    }

    /// Whether the policy must be told of each message and its time by [`Policy::on_message`], also while
    /// others are held. It is asked at the start and after each tick.
    fn watches_time(&self) -> bool {
        false
    }

    /// Whether the policy must be told when the iteration ends, though nothing may be held then.
    #[inline]
    fn wants_tick(&self) -> bool {
        false
    }

    /// Whether a caller that has nothing else to do must tick at once.
    fn asks_at_once(&self) -> bool {
        false
    }

    /// When what is held is due by the policy's own rule; `None`: it has no such time. It is asked
    /// only while something is held.
    #[inline]
    fn deadline_ns(&self) -> Option<u64> {
        None
    }

    /// Whether a writing thread that comes at `visit_ns` comes so late for what is held that it must
    /// be told to come sooner.
    #[inline]
    fn is_too_late(&self, _visit_ns: u64) -> bool {
        false
    }
}

/// The policy of a coalescer, which is chosen at run time and called without a pointer.
#[derive(Debug)]
pub(super) enum AnyPolicy {
    EachMessage(EachMessage),
    Tick(Tick),
    Coalesce(Coalesce),
    Competitive(Competitive),
    Adaptive(Adaptive),
    SharedAdaptive(SharedAdaptive),
}

impl AnyPolicy {
    /// The policy for the one thread of a loop. `hold_ns`: how long a message is held at most.
    pub(super) fn of_loop(knobs: &Knobs, hold_ns: Option<u64>, of_loop: Loop) -> Self {
        match knobs.strategy {
            Strategy::NoDelay | Strategy::Nagle => Self::EachMessage(EachMessage),
            Strategy::Tick | Strategy::Combine => Self::Tick(Tick),
            Strategy::Coalesce { .. } => Self::Coalesce(Coalesce),
            Strategy::Competitive { price } => Self::Competitive(Competitive::new(
                nanoseconds(price),
                hold_ns.unwrap_or(u64::MAX),
            )),
            Strategy::Adaptive => Self::Adaptive(Adaptive::new(
                hold_ns.unwrap_or(u64::MAX),
                knobs.max_hold_ns(),
                of_loop,
            )),
        }
    }

    /// The policy for many threads that share a connection and its writing thread.
    pub(super) fn of_threads(knobs: &Knobs, hold_ns: Option<u64>) -> Self {
        match knobs.strategy {
            Strategy::Adaptive => {
                Self::SharedAdaptive(SharedAdaptive::new(hold_ns.unwrap_or(u64::MAX)))
            }
            _ => Self::of_loop(knobs, hold_ns, Loop::Plain),
        }
    }
}

macro_rules! each_policy {
    ($any:expr, $policy:ident => $call:expr) => {
        match $any {
            AnyPolicy::EachMessage($policy) => $call,
            AnyPolicy::Tick($policy) => $call,
            AnyPolicy::Coalesce($policy) => $call,
            AnyPolicy::Competitive($policy) => $call,
            AnyPolicy::Adaptive($policy) => $call,
            AnyPolicy::SharedAdaptive($policy) => $call,
        }
    };
}

impl Policy for AnyPolicy {
    fn on_message(&mut self, at: Moment) -> Option<Reason> {
        each_policy!(self, policy => policy.on_message(at))
    }

    #[inline]
    fn on_batch(&mut self, messages: u64) {
        each_policy!(self, policy => policy.on_batch(messages))
    }

    fn on_tick(&mut self, at: Moment, will_block: bool) -> Option<Reason> {
        each_policy!(self, policy => policy.on_tick(at, will_block))
    }

    fn on_connections(&mut self, count: usize) {
        each_policy!(self, policy => policy.on_connections(count))
    }

    fn look_at(&self) -> u64 {
        each_policy!(self, policy => policy.look_at())
    }

    fn on_look(&mut self, at: Moment) -> bool {
        each_policy!(self, policy => policy.on_look(at))
    }

    fn on_written(&mut self, end_ns: u64, by: Writer) {
        each_policy!(self, policy => policy.on_written(end_ns, by))
    }

    fn on_small_write(&mut self, took_ns: u64) {
        each_policy!(self, policy => policy.on_small_write(took_ns))
    }

    fn on_told(&mut self, now_ns: u64) {
        each_policy!(self, policy => policy.on_told(now_ns))
    }

    fn waits_for_time(&self) -> bool {
        each_policy!(self, policy => policy.waits_for_time())
    }

    fn watches_time(&self) -> bool {
        each_policy!(self, policy => policy.watches_time())
    }

    #[inline]
    fn wants_tick(&self) -> bool {
        each_policy!(self, policy => policy.wants_tick())
    }

    fn asks_at_once(&self) -> bool {
        each_policy!(self, policy => policy.asks_at_once())
    }

    #[inline]
    fn deadline_ns(&self) -> Option<u64> {
        each_policy!(self, policy => policy.deadline_ns())
    }

    fn is_too_late(&self, visit_ns: u64) -> bool {
        each_policy!(self, policy => policy.is_too_late(visit_ns))
    }
}
