//! Callers with a connection each, all on one thread: [`by_epoll`] makes a system call for each send and
//! each read, [`by_ring`] hands many of both over at one go.

mod by_epoll;
mod by_ring;
mod callers;
mod connecting;

use super::{error::CallError, options::CallOptions, tally::Tally};
use crate::{
    messages::CallContent,
    schedule::{Agenda, Span},
};
use by_epoll::ByEpoll;
use by_ring::ByRing;
use callers::Callers;
use std::{
    fmt::Debug,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use tinygram_net::clock::{monotonic_ns, sleep_until_ns};

/// While nothing comes, the waiting thread looks this often whether it must stop, in milliseconds.
const LONGEST_WAIT_MS: i32 = 100;

/// Moves the requests and replies of all callers.
trait Calls: Debug {
    /// Send what a caller that has begun a call sends first.
    fn begin(&mut self, callers: &mut Callers<'_>, caller: usize) -> Result<(), CallError>;

    /// Wait until something has come or gone, until `until_ns` (CLOCK_MONOTONIC), or for
    /// [`LONGEST_WAIT_MS`], and let callers go on with it.
    fn advance(
        &mut self,
        callers: &mut Callers<'_>,
        until_ns: Option<u64>,
    ) -> Result<(), CallError>;
}

/// The callers, connected.
#[derive(Debug)]
pub struct Many<'a> {
    callers: Callers<'a>,
    calls: Box<dyn Calls>,
}

impl<'a> Many<'a> {
    /// Connect, and make the calls to warm up; with `is_ring` by io_uring. Returns their tally, too.
    pub fn prepare(
        options: &'a CallOptions,
        content: &'a CallContent,
        is_ring: bool,
        is_stopped: &AtomicBool,
    ) -> Result<(Self, Tally), CallError> {
        let (lines, first_calls) = connecting::connected(options, content, is_stopped)?;
        let fds = lines.iter().map(callers::fd_of).collect::<Vec<_>>();
        let failed = |error: std::io::Error| CallError::Thread(error.to_string());
        let calls: Box<dyn Calls> = if is_ring {
            Box::new(ByRing::new(&fds, content).map_err(failed)?)
        } else {
            Box::new(ByEpoll::new(fds).map_err(failed)?)
        };
        let callers = Callers::new(lines, options.sends_per_request, content);
        let mut many = Self { callers, calls };
        let rest = Span {
            calls: Some(options.warm_up_calls.saturating_sub(1)),
            ..Span::always()
        };
        many.call(rest, is_stopped)?;
        let mut warm_up = many.callers.take_tally();
        if warm_up.calls == 0 {
            warm_up = first_calls.clone();
        }
        many.callers.after_warm_up(&first_calls);
        Ok((many, warm_up))
    }

    /// Let all callers call in each of the spans, at a rate by its agenda, or until told to stop. Returns
    /// their tally.
    pub fn run(
        mut self,
        spans: &[Span],
        agenda: Option<Agenda>,
        is_stopped: &AtomicBool,
    ) -> Result<Tally, CallError> {
        if let Some(agenda) = agenda {
            self.callers.keep_to(agenda, spans);
        }
        for span in spans {
            sleep_until_ns(span.start_ns);
            self.call(*span, is_stopped)?;
        }
        self.callers.record_not_begun();
        Ok(self.callers.take_tally())
    }

    fn call(&mut self, span: Span, is_stopped: &AtomicBool) -> Result<(), CallError> {
        self.callers.begin_span(span);
        // The thread may have slept through its slice, and now another case has its turn.
        if monotonic_ns() < span.end_ns && !is_stopped.load(Relaxed) {
            self.call_until_over(is_stopped)?;
        }
        self.callers.end_span();
        Ok(())
    }

    /// Let all of them call, until the span is over and every call has its reply, or until told to stop.
    fn call_until_over(&mut self, is_stopped: &AtomicBool) -> Result<(), CallError> {
        // At a rate, those that were due before.
        for caller in 0..self.callers.len() {
            self.begin(caller)?;
        }
        while !is_stopped.load(Relaxed) {
            while let Some(caller) = self.callers.release() {
                self.begin(caller)?;
            }
            let next_due_at_ns = self.callers.next_due_at_ns();
            if !self.callers.is_calling() && next_due_at_ns.is_none() {
                break;
            }
            self.calls.advance(&mut self.callers, next_due_at_ns)?;
        }
        Ok(())
    }

    /// Let a caller call, if it may, and send what it sends first.
    fn begin(&mut self, caller: usize) -> Result<(), CallError> {
        if self.callers.begin(caller)? {
            self.calls.begin(&mut self.callers, caller)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
