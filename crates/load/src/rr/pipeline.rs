//! Callers that share one connection: their requests follow each other on it, a bounded number of them
//! in flight, and the replies come in the same order.
//!
//! One thread works for all of them, and never waits to write without looking for replies: otherwise
//! both sides could wait for each other for ever.

use super::{
    caller::{connected, part_of},
    options::{CallOptions, Span},
    tally::{CallError, Tally},
};
use crate::{
    messages::CallContent,
    socket::{receive_now, wait_ready},
};
use std::{
    collections::VecDeque,
    net::TcpStream,
    os::fd::{AsRawFd, RawFd},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use tinygram_net::{
    clock::{monotonic_ns, sleep_until_ns},
    socket::send_now,
};

const BUFFER_BYTES: usize = 64 << 10;

/// The shared connection.
#[derive(Debug)]
pub struct Pipeline<'a> {
    options: &'a CallOptions,
    content: &'a CallContent,
    depth: usize,
    socket: TcpStream,
    connect_ns: u64,
    /// Requests that were sent whole, and bytes of replies that came.
    requests: u64,
    received: u64,
    buffer: Vec<u8>,
}

/// The request that is being sent: how far it has come.
#[derive(Debug, Default)]
struct Sending {
    /// When its caller wanted to call.
    wanted_ns: u64,
    /// Writes that are done, and bytes of the next one that the kernel has.
    parts: usize,
    sent: usize,
}

/// The callers, sorted by what they wait for.
#[derive(Debug)]
struct Waiting {
    span: Span,
    /// The times since which callers have wanted to send.
    to_send: VecDeque<u64>,
    sending: Option<Sending>,
    /// For each request in flight, the time since which its caller wanted to call.
    in_flight: VecDeque<u64>,
    /// Calls that may still begin.
    calls_left: u64,
}

impl<'a> Pipeline<'a> {
    /// Connect, and make the calls to warm up. Returns their tally, too.
    pub fn prepare(
        options: &'a CallOptions,
        content: &'a CallContent,
        depth: usize,
        is_stopped: &AtomicBool,
    ) -> Result<(Self, Tally), CallError> {
        let (socket, connect_ns) = connected(options)?;
        let mut pipeline = Self {
            options,
            content,
            depth,
            socket,
            connect_ns,
            requests: 0,
            received: 0,
            buffer: vec![1; BUFFER_BYTES],
        };
        let warm_up = Span {
            calls: Some(options.warm_up_calls),
            ..Span::always()
        };
        let mut tally = Tally::default();
        pipeline.call(warm_up, &mut tally, is_stopped)?;
        Ok((pipeline, tally))
    }

    /// Let all callers call in each of the spans, or until told to stop. Returns their tally.
    pub fn run(mut self, spans: &[Span], is_stopped: &AtomicBool) -> Result<Tally, CallError> {
        let mut tally = Tally::default();
        for span in spans {
            sleep_until_ns(span.start_ns);
            tally.begin(span);
            // The thread may have slept through its slice, and now another case has its turn.
            if monotonic_ns() < span.end_ns {
                self.call(*span, &mut tally, is_stopped)?;
            }
        }
        tally.connect.record(self.connect_ns);
        Ok(tally)
    }

    fn call(
        &mut self,
        span: Span,
        tally: &mut Tally,
        is_stopped: &AtomicBool,
    ) -> Result<(), CallError> {
        let mut waiting = Waiting::at_start(span, self.options.callers);
        while !waiting.is_done() && !is_stopped.load(Relaxed) {
            let is_blocked = self.send(&mut waiting)?;
            if !self.receive(&mut waiting, tally)? {
                wait_ready(self.fd(), is_blocked).map_err(|source| CallError::Receive {
                    index: self.received / self.content.reply_bytes(),
                    source,
                })?;
            }
        }
        Ok(())
    }

    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Send the requests that may be in flight. Returns whether the kernel takes no more now.
    fn send(&mut self, waiting: &mut Waiting) -> Result<bool, CallError> {
        let sends = self.options.sends_per_request;
        while waiting.may_send(self.depth) {
            let Some(sending) = waiting.sending.as_mut() else {
                break;
            };
            let request = self.content.request(self.requests);
            let part = part_of(request, sending.parts, sends);
            let failed = |source| CallError::Send {
                index: self.requests,
                source,
            };
            let rest = &part[sending.sent..];
            let sent = send_now(self.fd(), rest, b"").map_err(failed)?;
            if sent < rest.len() {
                sending.sent += sent;
                return Ok(true);
            }
            sending.sent = 0;
            sending.parts += 1;
            if sending.parts == sends {
                waiting.in_flight.push_back(sending.wanted_ns);
                waiting.sending = None;
                self.requests += 1;
            }
        }
        Ok(false)
    }

    /// Take the bytes that have come. Returns whether there were any.
    fn receive(&mut self, waiting: &mut Waiting, tally: &mut Tally) -> Result<bool, CallError> {
        let (fd, expected) = (self.fd(), self.content.reply_bytes());
        let index = self.received / expected;
        let count = receive_now(fd, &mut self.buffer)
            .map_err(|source| CallError::Receive { index, source })?;
        let Some(count) = count else {
            return Ok(false);
        };
        let ended_ns = monotonic_ns();
        if count == 0 {
            return Err(CallError::ShortReply {
                index,
                received: self.received % expected,
                expected,
            });
        }
        let read = &self.buffer[..count];
        if let Some(index) = self.content.wrong_reply(self.received, read) {
            return Err(CallError::WrongReply { index });
        }
        self.received += count as u64;
        for index in index..self.received / expected {
            let wanted_ns = waiting.in_flight.pop_front();
            let wanted_ns = wanted_ns.ok_or(CallError::EarlyReply { index })?;
            tally.record_call(&waiting.span, wanted_ns, ended_ns);
            let time_ns = waiting.on_reply(wanted_ns, ended_ns, tally);
            tally.callers_time_ns += time_ns;
        }
        Ok(true)
    }
}

impl Waiting {
    fn at_start(span: Span, callers: usize) -> Self {
        let most = span
            .calls
            .map_or(u64::MAX, |calls| calls.saturating_mul(callers as u64));
        let now = (callers as u64).min(most);
        Self {
            to_send: (0..now).map(|_| span.start_ns).collect(),
            sending: None,
            in_flight: VecDeque::new(),
            calls_left: most - now,
            span,
        }
    }

    fn is_done(&self) -> bool {
        self.to_send.is_empty() && self.sending.is_none() && self.in_flight.is_empty()
    }

    /// Whether there is a request to send that may be in flight.
    fn may_send(&mut self, depth: usize) -> bool {
        if self.sending.is_none() && self.in_flight.len() < depth {
            self.sending = self.to_send.pop_front().map(|wanted_ns| Sending {
                wanted_ns,
                ..Sending::default()
            });
        }
        self.sending.is_some()
    }

    /// A caller has its reply to the request of `wanted_ns`, and calls again while there is time: otherwise
    /// it is done, and its time is recorded.
    fn on_reply(&mut self, wanted_ns: u64, now_ns: u64, tally: &mut Tally) -> u64 {
        if self.span.is_measured(wanted_ns) {
            // A caller's measured calls follow each other without a pause: their sum is its time.
            tally.record_caller(wanted_ns, now_ns);
        }
        if now_ns < self.span.end_ns && self.calls_left > 0 {
            self.calls_left -= 1;
            self.to_send.push_back(now_ns);
            return 0;
        }
        now_ns - self.span.start_ns
    }
}
