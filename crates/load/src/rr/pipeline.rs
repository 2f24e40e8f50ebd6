//! Callers that share one connection: their requests follow each other on it, a bounded number of them
//! in flight, and the replies come in the same order.
//!
//! One thread works for all of them, and never waits to write without looking for replies: otherwise
//! both sides could wait for each other for ever.

use super::{
    caller::{connected, part_of},
    error::CallError,
    options::CallOptions,
    tally::{Called, Tally},
};
use crate::{
    messages::{CallContent, ReplyReader},
    schedule::{Agenda, Book, Span},
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
    /// Requests that were sent whole.
    requests: u64,
    replies: ReplyReader,
    buffer: Vec<u8>,
}

/// A call that a caller wants to make, or makes.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    caller: usize,
    /// The time since which the caller has wanted to call.
    since_ns: u64,
    /// At a rate, when the call was due, in the case's own time.
    due_ns: Option<u64>,
}

/// The request that is being sent: how far it has come.
#[derive(Debug)]
struct Sending {
    wanted: Wanted,
    /// Writes that are done, and bytes of the next one that the kernel has.
    parts: usize,
    sent: usize,
}

/// The callers, sorted by what they wait for.
#[derive(Debug)]
struct Waiting<'a> {
    span: Span,
    spans: &'a [Span],
    /// Calls of which no byte was sent.
    to_send: VecDeque<Wanted>,
    sending: Option<Sending>,
    /// Calls whose requests are in flight.
    in_flight: VecDeque<Wanted>,
    /// Calls that may still begin, without a rate.
    calls_left: u64,
    at_a_rate: Option<&'a mut AtARate>,
}

/// Callers at a rate: when their calls are due, and which of them are in a call.
#[derive(Debug)]
struct AtARate {
    book: Book,
    is_calling: Vec<bool>,
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
            replies: ReplyReader::default(),
            buffer: vec![1; BUFFER_BYTES],
        };
        let warm_up = Span {
            calls: Some(options.warm_up_calls),
            ..Span::always()
        };
        let mut tally = Tally::default();
        let waiting = Waiting::at_start(warm_up, options.callers);
        pipeline.call(waiting, &mut tally, is_stopped)?;
        Ok((pipeline, tally))
    }

    /// Let all callers call in each of the spans, at a rate by its agenda, or until told to stop. Returns
    /// their tally.
    pub fn run(
        mut self,
        spans: &[Span],
        agenda: Option<Agenda>,
        is_stopped: &AtomicBool,
    ) -> Result<Tally, CallError> {
        let mut tally = Tally::default();
        let mut at_a_rate = agenda.map(|agenda| AtARate {
            book: Book::new(agenda),
            is_calling: vec![false; self.options.callers],
        });
        for span in spans {
            sleep_until_ns(span.start_ns);
            tally.begin(span);
            // The thread may have slept through its slice, and now another case has its turn.
            if monotonic_ns() < span.end_ns {
                let waiting = match &mut at_a_rate {
                    None => Waiting::at_start(*span, self.options.callers),
                    Some(at_a_rate) => Waiting::at_a_rate(*span, spans, at_a_rate),
                };
                self.call(waiting, &mut tally, is_stopped)?;
            }
        }
        for due_ns in at_a_rate.iter().flat_map(|rate| rate.book.not_begun()) {
            tally.record_not_begun(spans, due_ns);
        }
        tally.connect.record(self.connect_ns);
        Ok(tally)
    }

    fn call(
        &mut self,
        mut waiting: Waiting<'_>,
        tally: &mut Tally,
        is_stopped: &AtomicBool,
    ) -> Result<(), CallError> {
        waiting.begin_late();
        while !is_stopped.load(Relaxed) {
            waiting.release();
            let next_due_at_ns = waiting.next_due_at_ns();
            if waiting.is_done() && next_due_at_ns.is_none() {
                break;
            }
            let is_blocked = self.send(&mut waiting)?;
            if !self.receive(&mut waiting, tally)? {
                wait_ready(self.fd(), is_blocked, next_due_at_ns).map_err(|source| {
                    CallError::Receive {
                        index: self.replies.replies(self.content),
                        source,
                    }
                })?;
            }
        }
        waiting.end(tally);
        Ok(())
    }

    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Send the requests that may be in flight. Returns whether the kernel takes no more now.
    fn send(&mut self, waiting: &mut Waiting<'_>) -> Result<bool, CallError> {
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
                waiting.in_flight.push_back(sending.wanted);
                waiting.sending = None;
                self.requests += 1;
            }
        }
        Ok(false)
    }

    /// Take the bytes that have come. Returns whether there were any.
    fn receive(&mut self, waiting: &mut Waiting<'_>, tally: &mut Tally) -> Result<bool, CallError> {
        let index = self.replies.replies(self.content);
        let count = receive_now(self.fd(), &mut self.buffer)
            .map_err(|source| CallError::Receive { index, source })?;
        let Some(count) = count else {
            return Ok(false);
        };
        let ended_ns = monotonic_ns();
        if count == 0 {
            return Err(CallError::ShortReply {
                index,
                received: self.replies.partial_bytes(self.content),
                expected: self.content.reply_bytes(),
            });
        }
        let read = &self.buffer[..count];
        let completed = self
            .replies
            .push(self.content, read)
            .map_err(|index| CallError::WrongReply { index })?;
        for index in index..index + completed {
            let wanted = waiting.in_flight.pop_front();
            let wanted = wanted.ok_or(CallError::EarlyReply { index })?;
            waiting.on_reply(wanted, ended_ns, tally);
        }
        Ok(true)
    }
}

impl<'a> Waiting<'a> {
    /// All callers want to call at once, and call again and again.
    fn at_start(span: Span, callers: usize) -> Self {
        let most = span
            .calls
            .map_or(u64::MAX, |calls| calls.saturating_mul(callers as u64));
        let now = (callers as u64).min(most);
        let wanted = |caller| Wanted {
            caller,
            since_ns: span.start_ns,
            due_ns: None,
        };
        Self {
            to_send: (0..now as usize).map(wanted).collect(),
            sending: None,
            in_flight: VecDeque::new(),
            calls_left: most - now,
            span,
            spans: &[],
            at_a_rate: None,
        }
    }

    /// Callers call when their calls are due.
    fn at_a_rate(span: Span, spans: &'a [Span], at_a_rate: &'a mut AtARate) -> Self {
        Self {
            to_send: VecDeque::new(),
            sending: None,
            in_flight: VecDeque::new(),
            calls_left: 0,
            span,
            spans,
            at_a_rate: Some(at_a_rate),
        }
    }

    fn is_done(&self) -> bool {
        self.to_send.is_empty() && self.sending.is_none() && self.in_flight.is_empty()
    }

    /// Whether there is a request to send that may be in flight.
    fn may_send(&mut self, depth: usize) -> bool {
        if self.sending.is_none() && self.in_flight.len() < depth {
            self.sending = self.to_send.pop_front().map(|wanted| Sending {
                wanted,
                parts: 0,
                sent: 0,
            });
        }
        self.sending.is_some()
    }

    /// When the next call of the span comes due, CLOCK_MONOTONIC; `None`: no other does.
    fn next_due_at_ns(&self) -> Option<u64> {
        self.span.next_due_at_ns(&self.at_a_rate.as_ref()?.book)
    }

    /// Let callers call whose calls came due in an earlier span.
    fn begin_late(&mut self) {
        let callers = self
            .at_a_rate
            .as_ref()
            .map_or(0, |rate| rate.is_calling.len());
        for caller in 0..callers {
            self.begin_due(caller);
        }
    }

    /// Let callers call whose calls have come due.
    fn release(&mut self) {
        if self.at_a_rate.is_none() {
            return;
        }
        let own_ns = self.span.own_at_ns(monotonic_ns());
        while let Some(caller) = self
            .at_a_rate
            .as_mut()
            .and_then(|rate| rate.book.release(own_ns))
        {
            self.begin_due(caller);
        }
    }

    /// Let a caller call if its next call is due, it is not in another, and the span is not over.
    fn begin_due(&mut self, caller: usize) {
        let now_ns = monotonic_ns();
        let Some(rate) = &mut self.at_a_rate else {
            return;
        };
        if rate.is_calling[caller] || !self.span.is_open_at(now_ns) {
            return;
        }
        if let Some(due_ns) = rate.book.take(caller) {
            rate.is_calling[caller] = true;
            self.to_send.push_back(Wanted {
                caller,
                since_ns: now_ns,
                due_ns: Some(due_ns),
            });
        }
    }

    /// A caller has its reply, and calls again: at a rate if its next call is due, otherwise while there is
    /// time; without more calls its time is recorded.
    fn on_reply(&mut self, wanted: Wanted, now_ns: u64, tally: &mut Tally) {
        let called = Called {
            called_ns: wanted.since_ns,
            begun_ns: wanted.since_ns,
            ended_ns: now_ns,
        };
        if let (Some(due_ns), Some(rate)) = (wanted.due_ns, &mut self.at_a_rate) {
            tally.record_due_call(self.spans, &self.span, due_ns, &called);
            rate.is_calling[wanted.caller] = false;
            self.begin_due(wanted.caller);
            return;
        }
        tally.record_call(&self.span, &called);
        if self.span.is_measured(wanted.since_ns) {
            // A caller's measured calls follow each other without a pause: their sum is its time.
            tally.record_caller(wanted.since_ns, now_ns);
        }
        if now_ns < self.span.end_ns && self.calls_left > 0 {
            self.calls_left -= 1;
            self.to_send.push_back(Wanted {
                since_ns: now_ns,
                ..wanted
            });
            return;
        }
        tally.callers_time_ns += now_ns - self.span.start_ns;
    }

    /// The span is over; at a rate all callers were there all the time.
    fn end(&self, tally: &mut Tally) {
        if let Some(rate) = &self.at_a_rate {
            let over_ns = self.span.end_ns.max(monotonic_ns());
            let callers = rate.is_calling.len() as u64;
            tally.callers_time_ns += (over_ns - self.span.start_ns) * callers;
        }
    }
}
