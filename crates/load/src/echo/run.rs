//! A run of the client, or a slice of one, while it lasts: which part of it counts, and when it ends.

use super::{
    exchange::{Exchange, RoundTrips, Turn},
    worker::Worker,
};
use crate::{messages::Echoes, process::Usage};
use std::mem;

/// When a turn begins and ends, and which part of it counts. All times are CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub start_ns: u64,
    /// If only a part counts: it begins here, and ends at `stop_ns`.
    pub settled_ns: Option<u64>,
    /// No message is begun later.
    pub stop_ns: u64,
    pub give_up_ns: u64,
}

/// The state at the moment from which on messages count.
struct Mark {
    usage: Usage,
    /// How many messages of each worker had come back.
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
    /// The state when `exchange` began.
    since: Mark,
    /// Round trips of messages that were begun before this time do not count, CLOCK_MONOTONIC.
    counts_from_ns: u64,
    /// The part that counts, once it is over.
    measured: Option<Exchange>,
    /// Messages that must still come back.
    pub left: u64,
    /// When counting begins anew; `None`: it has.
    settled_ns: Option<u64>,
    /// When the last message may be begun; `None`: that time is past.
    stop_ns: Option<u64>,
    /// Whether messages that come back after `stop_ns` do not count.
    is_cut: bool,
    pub give_up_ns: u64,
    /// How many messages of the workers had come back when the run began.
    earlier_messages: u64,
    /// The time after the last read.
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

    /// A round trip has ended, perhaps after the part that counts. Whether it counts depends on when it
    /// began: if its end decided, long ones would be left out for being long.
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

    /// Begin counting anew: what was counted until now does not count.
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

    /// Begin no more messages: what comes back from now on was begun before.
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

    /// Take what was counted so far, and end the part that counts.
    fn counted(&mut self, workers: &[Worker]) -> Exchange {
        let now = Mark::at(workers, self.last_ns);
        let rest = Exchange::new(self.last_ns, RoundTrips::Each(Vec::new()));
        let mut found = mem::replace(&mut self.exchange, rest);
        found.end_ns = self.last_ns;
        let of_each = now.completed.iter().zip(&self.since.completed);
        found.messages_of = of_each.map(|(now, then)| now - then).collect();
        // Until now it is the whole round trips of the messages that came back. The part of them before this
        // stretch does not belong here, and the time so far of messages still in flight does.
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
