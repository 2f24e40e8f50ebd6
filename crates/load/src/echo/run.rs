//! A run of the client, or a slice of one, while it lasts: what counts of it, and when it ends.

use super::{
    exchange::{Exchange, RoundTrips, Turn},
    worker::Worker,
};
use crate::{messages::Echoes, process::Usage};
use std::mem;

/// When a turn begins and ends, and which part of it counts. All are CLOCK_MONOTONIC, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub start_ns: u64,
    /// Where only a part counts: from here on, and until no message is begun any more.
    pub settled_ns: Option<u64>,
    /// No message is begun later.
    pub stop_ns: u64,
    pub give_up_ns: u64,
}

/// What is known at a moment, from which on messages count.
struct Mark {
    usage: Usage,
    /// What each worker did.
    completed: Vec<u64>,
    in_flight_ns: u64,
}

impl Mark {
    fn at(workers: &[Worker], at_ns: u64) -> Self {
        let echoes = || workers.iter().map(|worker| &worker.echoes);
        Self {
            usage: Usage::of_thread(),
            completed: echoes().map(Echoes::completed_messages).collect(),
            in_flight_ns: echoes().map(|each| each.in_flight_ns(at_ns)).sum(),
        }
    }
}

/// See the module.
pub(super) struct Run {
    /// What counts so far.
    pub exchange: Exchange,
    /// When that began.
    since: Mark,
    /// Round trips of what was begun earlier do not count, CLOCK_MONOTONIC.
    counts_from_ns: u64,
    /// What counts, when that is known.
    measured: Option<Exchange>,
    /// Messages that must still come back.
    pub left: u64,
    /// When counting begins anew; `None`: by now it has.
    settled_ns: Option<u64>,
    /// When no more are begun; `None`: by now none are.
    stop_ns: Option<u64>,
    /// Whether what comes after that does not count.
    is_cut: bool,
    pub give_up_ns: u64,
    /// All messages of the workers when it began.
    earlier_messages: u64,
    /// After the last read.
    pub last_ns: u64,
}

impl Run {
    pub fn begun(workers: &[Worker], window: Window, round_trips: RoundTrips) -> Self {
        let start_ns = window.start_ns;
        let since = Mark::at(workers, start_ns);
        Self {
            exchange: Exchange::new(start_ns, round_trips),
            measured: None,
            left: left_messages(workers),
            settled_ns: window.settled_ns,
            stop_ns: Some(window.stop_ns),
            is_cut: window.settled_ns.is_some(),
            give_up_ns: window.give_up_ns,
            earlier_messages: since.completed.iter().sum(),
            last_ns: start_ns,
            counts_from_ns: start_ns,
            since,
        }
    }

    /// A round trip has ended. Also after what counts: which ones do is decided by when they began, for
    /// by when they end a long one would be left out for being long.
    pub fn record(&mut self, begun_ns: u64, value_ns: u64, count: u64) {
        if begun_ns >= self.counts_from_ns {
            let exchange = self.measured.as_mut().unwrap_or(&mut self.exchange);
            exchange.round_trips.record(value_ns, count);
        }
    }

    /// Whether counting must begin anew.
    pub fn has_settled(&self, now_ns: u64) -> bool {
        self.settled_ns.is_some_and(|at_ns| now_ns >= at_ns)
    }

    /// What was counted until now does not count.
    pub fn begin_anew(&mut self, workers: &[Worker], now_ns: u64) {
        self.settled_ns = None;
        self.last_ns = now_ns;
        self.exchange = Exchange::new(now_ns, RoundTrips::Each(Vec::new()));
        self.since = Mark::at(workers, now_ns);
        self.counts_from_ns = now_ns;
    }

    /// Whether no more messages may be begun from now on, and this is not known yet.
    pub fn must_stop(&self, now_ns: u64) -> bool {
        self.stop_ns.is_some_and(|at_ns| now_ns >= at_ns)
    }

    /// What comes from now on belongs to messages that were begun before.
    pub fn stop(&mut self, workers: &[Worker]) {
        self.stop_ns = None;
        if self.is_cut {
            self.measured = Some(self.counted(workers));
        }
    }

    /// Whether only what was in flight at the end of what counts is still waited for.
    pub fn is_draining(&self) -> bool {
        self.measured.is_some()
    }

    pub fn ended(mut self, workers: &[Worker]) -> Turn {
        let measured = match self.measured.take() {
            Some(measured) => measured,
            None => self.counted(workers),
        };
        let echoes = workers.iter().map(|worker| &worker.echoes);
        let completed: u64 = echoes.map(Echoes::completed_messages).sum();
        Turn {
            measured,
            all_messages: completed - self.earlier_messages,
            last_ns: self.last_ns,
        }
    }

    /// What was counted so far; from now on nothing is that counts.
    fn counted(&mut self, workers: &[Worker]) -> Exchange {
        let now = Mark::at(workers, self.last_ns);
        let rest = Exchange::new(self.last_ns, RoundTrips::Each(Vec::new()));
        let mut found = mem::replace(&mut self.exchange, rest);
        found.end_ns = self.last_ns;
        let of_each = now.completed.iter().zip(&self.since.completed);
        found.messages_of = of_each.map(|(now, then)| now - then).collect();
        // It has the whole round trips of the messages that came back. What they had taken before is
        // not of this stretch, and what others have taken by now is.
        found.in_flight_ns =
            (found.in_flight_ns + now.in_flight_ns).saturating_sub(self.since.in_flight_ns);
        found.usage = now.usage.since(self.since.usage);
        let cpu_ns = &mut found.usage.cpu_ns;
        *cpu_ns = cpu_ns.saturating_sub(found.polled_ns);
        found
    }
}

/// How many messages must still come back.
pub(super) fn left_messages(workers: &[Worker]) -> u64 {
    let echoes = workers.iter().map(|worker| &worker.echoes);
    echoes.map(Echoes::left_messages).sum()
}
