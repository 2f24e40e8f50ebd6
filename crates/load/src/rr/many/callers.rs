//! The state of each caller: its request, its reply, and its time. The only I/O is a look for early bytes.

use super::super::{
    caller::{LOOK_EVERY, Line, part_range},
    error::CallError,
    tally::{Called, Stay, Tally},
};
use crate::{
    messages::CallContent,
    schedule::{Agenda, Book, Span},
};
use std::{
    ops::Range,
    os::fd::{AsRawFd, RawFd},
};
use tinygram_net::clock::monotonic_ns;

/// All callers of a thread.
#[derive(Debug)]
pub struct Callers<'a> {
    content: &'a CallContent,
    sends: usize,
    callers: Vec<Caller>,
    span: Span,
    /// At a rate: when each call is due, and all spans.
    book: Option<Book>,
    spans: Vec<Span>,
    tally: Tally,
    calling: usize,
}

#[derive(Debug)]
struct Caller {
    line: Line,
    calls: u64,
    calls_left: u64,
    stay: Stay,
    call: Option<Call>,
}

/// A call under way: sends that are done, bytes of the next one that the kernel has, and bytes of the
/// reply that came.
#[derive(Debug)]
struct Call {
    begun_ns: u64,
    /// At a rate, when it was due, in the case's own time.
    due_ns: Option<u64>,
    parts: usize,
    sent: usize,
    received: u64,
    replied_ns: u64,
}

pub fn fd_of(line: &Line) -> RawFd {
    line.socket.as_raw_fd()
}

impl<'a> Callers<'a> {
    pub fn new(lines: Vec<Line>, sends: usize, content: &'a CallContent) -> Self {
        let callers = lines.into_iter().map(|line| Caller {
            line,
            calls: 0,
            calls_left: 0,
            stay: Stay::default(),
            call: None,
        });
        Self {
            content,
            sends,
            callers: callers.collect(),
            span: Span::always(),
            book: None,
            spans: Vec::new(),
            tally: Tally::default(),
            calling: 0,
        }
    }

    /// The tally since it was last taken.
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// Forget the times of the calls so far; the connect times of connections that stay are counted with
    /// the calls to come.
    pub fn after_warm_up(&mut self, made: &Tally) {
        self.tally.connect.merge(&made.connect);
        for caller in &mut self.callers {
            caller.stay = Stay::default();
        }
    }

    pub fn len(&self) -> usize {
        self.callers.len()
    }

    pub fn content(&self) -> &'a CallContent {
        self.content
    }

    /// Whether a caller waits for its reply.
    pub fn is_calling(&self) -> bool {
        self.calling > 0
    }

    /// From now on callers call when their calls are due in these spans, and not before.
    pub fn keep_to(&mut self, agenda: Agenda, spans: &[Span]) {
        self.book = Some(Book::new(agenda));
        self.spans = spans.to_vec();
    }

    /// At a rate, the next caller whose call has come due; `None`: no other has.
    pub fn release(&mut self) -> Option<usize> {
        let book = self.book.as_mut()?;
        book.release(self.span.own_at_ns(monotonic_ns()))
    }

    /// At a rate, when the next call of the span comes due, CLOCK_MONOTONIC; `None`: no other does.
    pub fn next_due_at_ns(&self) -> Option<u64> {
        self.span.next_due_at_ns(self.book.as_ref()?)
    }

    /// When all spans are over, record the calls that were due in them and that nobody began.
    pub fn record_not_begun(&mut self) {
        for due_ns in self.book.iter().flat_map(Book::not_begun) {
            self.tally.record_not_begun(&self.spans, due_ns);
        }
    }

    pub fn begin_span(&mut self, span: Span) {
        self.span = span;
        self.tally.begin(&span);
        for caller in &mut self.callers {
            caller.stay = Stay::begin(&span, caller.stay.now_ns());
            caller.calls_left = span.calls.unwrap_or(u64::MAX);
        }
    }

    pub fn end_span(&mut self) {
        for caller in &self.callers {
            if self.book.is_some() {
                caller.stay.end_at_a_rate(&self.span, &mut self.tally);
            } else {
                caller.stay.end(&self.span, &mut self.tally);
            }
        }
    }

    /// Let a caller call, unless it calls already or has no time or no call left. Returns whether it begins.
    pub fn begin(&mut self, number: usize) -> Result<bool, CallError> {
        let caller = &mut self.callers[number];
        let mut begun_ns = monotonic_ns();
        let is_open = match self.book {
            None => begun_ns < self.span.end_ns,
            Some(_) => self.span.is_open_at(begun_ns),
        };
        if caller.call.is_some() || caller.calls_left == 0 || !is_open {
            return Ok(false);
        }
        let due_ns = match &mut self.book {
            None => None,
            Some(book) => match book.take(number) {
                None => return Ok(false),
                due_ns => due_ns,
            },
        };
        if caller.calls % LOOK_EVERY == 0 {
            caller.line.check_silent()?;
            begun_ns = monotonic_ns();
        }
        caller.calls += 1;
        caller.calls_left -= 1;
        caller.call = Some(Call {
            begun_ns,
            due_ns,
            parts: 0,
            sent: 0,
            received: 0,
            replied_ns: 0,
        });
        self.calling += 1;
        Ok(true)
    }

    /// The number of the request that a caller is at, on its connection.
    pub fn request(&self, caller: usize) -> u64 {
        self.callers[caller].line.requests
    }

    /// The rest of the request's next part; `None`: all parts were sent, or the caller does not call.
    pub fn to_send(&self, caller: usize) -> Option<Range<usize>> {
        let call = self.callers[caller].call.as_ref()?;
        if call.parts == self.sends {
            return None;
        }
        let length = self.content.request_bytes() as usize;
        let part = part_range(length, call.parts, self.sends);
        Some(part.start + call.sent..part.end)
    }

    /// Whether that part is the request's last.
    pub fn is_last_part(&self, caller: usize) -> bool {
        let call = self.callers[caller].call.as_ref();
        call.is_some_and(|call| call.parts + 1 == self.sends)
    }

    /// The kernel took `count` bytes of what there was to send.
    pub fn on_sent(&mut self, caller: usize, count: usize) {
        let Some(rest) = self.to_send(caller) else {
            return;
        };
        if let Some(call) = self.callers[caller].call.as_mut() {
            if count == rest.len() {
                call.parts += 1;
                call.sent = 0;
            } else {
                call.sent += count;
            }
        }
    }

    /// How many bytes of the reply have not come; `None`: the caller does not call, and none should come.
    pub fn missing(&self, caller: usize) -> Option<u64> {
        let call = self.callers[caller].call.as_ref()?;
        Some(self.content.reply_bytes() - call.received)
    }

    /// Bytes of the reply came at `at_ns`; none: the server has ended the connection.
    pub fn on_received(
        &mut self,
        caller: usize,
        bytes: &[u8],
        at_ns: u64,
    ) -> Result<(), CallError> {
        let caller = &mut self.callers[caller];
        let (index, expected) = (caller.line.requests, self.content.reply_bytes());
        let received = caller.call.as_ref().map_or(0, |call| call.received);
        if bytes.is_empty() {
            return Err(CallError::ShortReply {
                index,
                received,
                expected,
            });
        }
        let Some(call) = caller.call.as_mut() else {
            return Err(CallError::EarlyReply { index });
        };
        if !self.content.is_reply(index * expected + received, bytes) {
            return Err(CallError::WrongReply { index });
        }
        call.received += bytes.len() as u64;
        call.replied_ns = at_ns;
        Ok(())
    }

    /// Note a call if it is over: its request is sent, and its reply is whole. Returns whether it was.
    pub fn end(&mut self, caller: usize) -> bool {
        let is_sent = self.to_send(caller).is_none();
        if !is_sent || self.missing(caller) != Some(0) {
            return false;
        }
        let caller = &mut self.callers[caller];
        let Some(call) = caller.call.take() else {
            return false;
        };
        caller.line.requests += 1;
        self.calling -= 1;
        let called = Called {
            called_ns: call.begun_ns,
            begun_ns: call.begun_ns,
            ended_ns: call.replied_ns,
        };
        caller.stay.on_call(&self.span, &called);
        match call.due_ns {
            None => self.tally.record_call(&self.span, &called),
            Some(due_ns) => {
                self.tally
                    .record_due_call(&self.spans, &self.span, due_ns, &called);
            }
        }
        true
    }
}
