//! Whether waiting brings more messages: the load of a loop that never rests.
//!
//! Two kinds of load keep a loop busy. The messages of an *open* one have times of their own: an
//! iteration that lasts twice as long, because a write is in it, finds twice as many of them. Those of
//! a *closed* one come as fast as the loop lets them: the same number in each iteration, however long it
//! lasts. Only a closed load gains from waiting for more iterations, since all its messages come sooner
//! for each write that is left out; an open one only waits. So iterations with a write in them are
//! compared with iterations without one.

/// An average reaches back over this many samples.
const REACH: f32 = 16.0;
/// A longer gap than this between two iterations says nothing about the load.
const LONGEST_GAP_NS: u64 = 200_000;
/// A verdict needs this many samples with and without a write.
const LEAST_WITH: u32 = 16;
const LEAST_WITHOUT: u32 = 8;
/// Where the last verdict was closed, this many samples without a write are enough after a rest, and a
/// look comes after this many iterations with a write.
const LEAST_WITHOUT_AGAIN: u32 = 4;
const LOOK_AGAIN: u32 = 2;
/// A load is closed only if iterations with a write are longer by this factor than those without.
const LEAST_LONGER: f32 = 1.05;
/// A load is closed where iterations that are longer by a factor f have fewer than f^`CLOSES_BELOW` times
/// as many messages, and stays closed until they have f^`OPENS_ABOVE` times as many or more.
const CLOSES_BELOW: f32 = 0.5;
const OPENS_ABOVE: f32 = 0.75;
/// A look at an iteration without a write comes after `FIRST_LOOK` iterations with one, and after up to
/// `RAREST_LOOK` where looks have found that waiting brings nothing.
const FIRST_LOOK: u32 = 8;
const RAREST_LOOK: u32 = 64;
/// Before the first look at an iteration without a write, this many with one must be known.
const BEFORE_LOOK: u32 = 4;

/// Moving averages over iterations of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    messages: f32,
    gap_ns: f32,
    samples: u32,
}

impl Seen {
    fn note(&mut self, messages: f32, gap_ns: f32) {
        self.samples = self.samples.saturating_add(1);
        let part = f32::max(1.0 / REACH, 1.0 / self.samples as f32);
        self.messages += part * (messages - self.messages);
        self.gap_ns += part * (gap_ns - self.gap_ns);
    }
}

/// The load since the loop last rested, as far as it is known, and whether it was closed before.
#[derive(Debug)]
pub(super) struct Load {
    with_write: Seen,
    without: Seen,
    is_closed: bool,
    /// Whether the last verdict was closed, unless the loop has been busy without a verdict since.
    was_closed: bool,
    /// How many iterations with a write came since the last look, and how many must come before the next.
    since_look: u32,
    look_after: u32,
    /// Whether an iteration without a write is being looked at.
    looks: bool,
}

impl Load {
    pub(super) fn new() -> Self {
        Self {
            with_write: Seen::default(),
            without: Seen::default(),
            is_closed: false,
            was_closed: false,
            since_look: 0,
            look_after: FIRST_LOOK,
            looks: false,
        }
    }

    /// The loop has rested, so messages do not come as fast as it lets them. If the load was closed, fewer
    /// looks are needed to find it so again, unless a busy phase ended without a closed verdict.
    pub(super) fn forget(&mut self) {
        let was_busy = self.with_write.samples >= BEFORE_LOOK;
        let was_closed = self.was_closed && (self.is_closed || !was_busy);
        let look_after = match (self.looks, was_closed) {
            (true, _) => self.rarer_look(),
            (false, true) => LOOK_AGAIN,
            (false, false) => self.look_after.max(FIRST_LOOK),
        };
        *self = Self {
            was_closed,
            look_after,
            ..Self::new()
        };
    }

    fn rarer_look(&self) -> u32 {
        (self.look_after.max(FIRST_LOOK) * 2).min(RAREST_LOOK)
    }

    /// An iteration brought `messages`, the first of them `gap_ns` after the first of the iteration
    /// before; `has_write`: there was a write between the two.
    pub(super) fn note(&mut self, messages: u64, gap_ns: u64, has_write: bool) {
        self.looks = false;
        if gap_ns > LONGEST_GAP_NS {
            return;
        }
        let (messages, gap_ns) = (messages as f32, gap_ns as f32);
        if has_write {
            self.with_write.note(messages, gap_ns);
            self.since_look = self.since_look.saturating_add(1);
        } else {
            self.without.note(messages, gap_ns);
            self.judge();
        }
    }

    /// Whether messages come as fast as the loop lets them.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether an iteration without a write should be looked at.
    pub(super) fn is_to_look(&self) -> bool {
        self.with_write.samples >= BEFORE_LOOK && self.since_look >= self.look_after
    }

    /// The look begins.
    pub(super) fn begin_look(&mut self) {
        self.since_look = 0;
        self.looks = true;
    }

    fn judge(&mut self) {
        let is_enough = if self.was_closed {
            self.without.samples >= LEAST_WITHOUT_AGAIN
        } else {
            self.with_write.samples >= LEAST_WITH && self.without.samples >= LEAST_WITHOUT
        };
        if !is_enough {
            return;
        }
        let longer = self.with_write.gap_ns / self.without.gap_ns.max(1.0);
        let more = self.with_write.messages / self.without.messages;
        let power = if self.is_closed {
            OPENS_ABOVE
        } else {
            CLOSES_BELOW
        };
        self.is_closed = longer > LEAST_LONGER && more < longer.powf(power);
        self.was_closed = self.is_closed;
        self.look_after = if self.is_closed {
            FIRST_LOOK
        } else {
            self.rarer_look()
        };
    }
}
