//! Callers with a connection each, all on one thread: [`by_epoll`] makes a system call for each send and
//! each read, [`by_ring`] hands many of both over at one go.

mod by_epoll;
mod by_ring;
mod callers;
mod connecting;

use super::{
    options::{CallOptions, Span},
    tally::{CallError, Tally},
};
use crate::messages::CallContent;
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
    /// Let all of them call, until the span of `callers` is over and every call has its reply, or until
    /// told to stop.
    fn call(&mut self, callers: &mut Callers<'_>, is_stopped: &AtomicBool)
    -> Result<(), CallError>;
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

    /// Let all callers call in each of the spans, or until told to stop. Returns their tally.
    pub fn run(mut self, spans: &[Span], is_stopped: &AtomicBool) -> Result<Tally, CallError> {
        for span in spans {
            sleep_until_ns(span.start_ns);
            self.call(*span, is_stopped)?;
        }
        Ok(self.callers.take_tally())
    }

    fn call(&mut self, span: Span, is_stopped: &AtomicBool) -> Result<(), CallError> {
        self.callers.begin_span(span);
        // The thread may have slept through its slice, and now another case has its turn.
        if monotonic_ns() < span.end_ns && !is_stopped.load(Relaxed) {
            self.calls.call(&mut self.callers, is_stopped)?;
        }
        self.callers.end_span();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
