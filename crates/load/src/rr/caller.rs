//! One caller that blocks: sends a request in as many writes as asked for, and waits for its reply.

use super::{
    error::CallError,
    options::{CallOptions, Connections},
    tally::{Called, Stay, Tally},
};
use crate::{
    messages::CallContent,
    schedule::Span,
    socket::{connect, has_readable, receive_some, send_all, unconnected},
};
use std::{
    net::TcpStream,
    ops::Range,
    os::fd::AsRawFd,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};
use tinygram_net::clock::{monotonic_ns, sleep_until_ns};

pub const BUFFER_BYTES: u64 = 64 << 10;
/// Before one call in this many, a caller looks for a reply that came too early.
pub const LOOK_EVERY: u64 = 16;
/// How long a server on another host may take to admit a connection.
pub const INTRODUCTION_LIMIT: Duration = Duration::from_secs(10);

/// A connection, and how many requests were made on it.
#[derive(Debug)]
pub struct Line {
    pub socket: TcpStream,
    pub requests: u64,
}

/// A caller; it has a connection of its own, or one for each request.
#[derive(Debug)]
pub struct Caller<'a> {
    options: &'a CallOptions,
    content: &'a CallContent,
    line: Option<Line>,
    buffer: Vec<u8>,
    tally: Tally,
}

/// Wait until a call is due in the span, or until the span begins where it was due before. Returns whether
/// its caller may begin it then.
fn begins(span: &Span, due_ns: u64) -> bool {
    let due_at_ns = span.at_ns(due_ns).max(span.start_ns);
    if due_at_ns > span.end_ns {
        return false;
    }
    sleep_until_ns(due_at_ns);
    span.is_open_at(monotonic_ns())
}

/// The range of part `number` of `of` parts of a request; all parts together are the request.
pub fn part_range(request_bytes: usize, number: usize, of: usize) -> Range<usize> {
    let end = |number: usize| request_bytes * number / of;
    end(number)..end(number + 1)
}

/// The bytes of part `number` of `of` parts of a request.
pub fn part_of(request: &[u8], number: usize, of: usize) -> &[u8] {
    &request[part_range(request.len(), number, of)]
}

/// A new connection, and how long connecting took, in nanoseconds.
pub fn connected(options: &CallOptions) -> Result<(TcpStream, u64), CallError> {
    let failed = |source| CallError::Connect {
        address: options.address,
        source,
    };
    let socket = unconnected(
        options.address,
        Some(&options.congestion_control),
        options.is_nodelay,
        options.admission.host,
    )
    .map_err(failed)?;
    let begun_ns = monotonic_ns();
    connect(&socket, options.address).map_err(failed)?;
    let connect_ns = monotonic_ns() - begun_ns;
    options
        .admission
        .introduce(&socket, INTRODUCTION_LIMIT)
        .map_err(failed)?;
    Ok((socket, connect_ns))
}

impl<'a> Caller<'a> {
    /// A caller that has made its calls to warm up, connected if it keeps its connection; and the tally
    /// of these calls.
    pub fn prepare(
        options: &'a CallOptions,
        content: &'a CallContent,
    ) -> Result<(Self, Tally), CallError> {
        let mut caller = Self {
            options,
            content,
            line: None,
            buffer: vec![1; content.reply_bytes().min(BUFFER_BYTES) as usize],
            tally: Tally::default(),
        };
        if !caller.is_per_request() {
            caller.connect()?;
        }
        for _ in 0..options.warm_up_calls {
            let called = caller.call()?;
            caller.tally.record_call(&Span::always(), &called);
        }
        let warm_up = std::mem::take(&mut caller.tally);
        if !caller.is_per_request() {
            caller.tally.connect.merge(&warm_up.connect);
        }
        Ok((caller, warm_up))
    }

    /// Call again and again in each of the spans, or until told to stop. Returns the tally.
    pub fn run(mut self, spans: &[Span], is_stopped: &AtomicBool) -> Result<Tally, CallError> {
        for span in spans {
            sleep_until_ns(span.start_ns);
            self.tally.begin(span);
            let mut stay = Stay::begin(span, self.tally.last_ns);
            // The caller may have slept through its slice, and now another case has its turn.
            let awake_ns = monotonic_ns();
            let mut calls_left = span.calls.unwrap_or(u64::MAX);
            while stay.now_ns().max(awake_ns) < span.end_ns
                && calls_left > 0
                && !is_stopped.load(Relaxed)
            {
                let called = self.call()?;
                self.tally.record_call(span, &called);
                stay.on_call(span, &called);
                calls_left -= 1;
            }
            stay.end(span, &mut self.tally);
        }
        Ok(self.tally)
    }

    /// Make each of these calls when it is due, in nanoseconds of the case's own time, or as soon after that
    /// as the reply to the call before has come. Returns the tally.
    pub fn run_at_a_rate(
        mut self,
        spans: &[Span],
        due_ns: impl Iterator<Item = u64>,
        is_stopped: &AtomicBool,
    ) -> Result<Tally, CallError> {
        let mut due_ns = due_ns.peekable();
        for span in spans {
            self.tally.begin(span);
            let mut stay = Stay::begin(span, self.tally.last_ns);
            while let Some(due_ns) = due_ns.next_if(|&due_ns| begins(span, due_ns)) {
                if is_stopped.load(Relaxed) {
                    break;
                }
                let called = self.call()?;
                self.tally.record_due_call(spans, span, due_ns, &called);
                stay.on_call(span, &called);
            }
            stay.end_at_a_rate(span, &mut self.tally);
        }
        // It does not end while others have turns.
        sleep_until_ns(spans.last().map_or(0, |last| last.start_ns));
        for due_ns in due_ns {
            self.tally.record_not_begun(spans, due_ns);
        }
        Ok(self.tally)
    }

    fn is_per_request(&self) -> bool {
        matches!(self.options.connections, Connections::PerRequest)
    }

    fn connect(&mut self) -> Result<(), CallError> {
        let (socket, took_ns) = connected(self.options)?;
        self.tally.connect.record(took_ns);
        self.tally.connect_time_ns += took_ns;
        self.line = Some(Line {
            socket,
            requests: 0,
        });
        Ok(())
    }

    fn call(&mut self) -> Result<Called, CallError> {
        let called_ns = monotonic_ns();
        if self.is_per_request() {
            self.connect()?;
        }
        let line = self.line.as_mut().expect("it was connected before");
        let request = self.content.request(line.requests);
        if self.tally.calls % LOOK_EVERY == 0 {
            line.check_silent()?;
        }
        let begun_ns = monotonic_ns();
        line.send(request, self.options.sends_per_request)?;
        let ended_ns = line.receive(self.content, &mut self.buffer)?;
        if self.is_per_request() {
            self.line = None;
        }
        Ok(Called {
            called_ns,
            begun_ns,
            ended_ns,
        })
    }
}

impl Line {
    /// Fails if there is a reply to the next request, which is not sent yet.
    pub fn check_silent(&self) -> Result<(), CallError> {
        let index = self.requests;
        match has_readable(self.socket.as_raw_fd()) {
            Ok(false) => Ok(()),
            Ok(true) => Err(CallError::EarlyReply { index }),
            Err(source) => Err(CallError::Receive { index, source }),
        }
    }

    pub fn send(&self, request: &[u8], sends: usize) -> Result<(), CallError> {
        for number in 0..sends {
            send_all(self.socket.as_raw_fd(), part_of(request, number, sends)).map_err(
                |source| CallError::Send {
                    index: self.requests,
                    source,
                },
            )?;
        }
        Ok(())
    }

    /// Wait for the reply. Returns when the read of its last byte returned, before it is compared.
    pub fn receive(&mut self, content: &CallContent, buffer: &mut [u8]) -> Result<u64, CallError> {
        let (index, expected) = (self.requests, content.reply_bytes());
        let (mut received, mut ended_ns) = (0, 0);
        while received < expected {
            let room = (buffer.len() as u64).min(expected - received) as usize;
            let count = receive_some(self.socket.as_raw_fd(), &mut buffer[..room])
                .map_err(|source| CallError::Receive { index, source })?;
            if received + count as u64 == expected {
                ended_ns = monotonic_ns();
            }
            if count == 0 {
                return Err(CallError::ShortReply {
                    index,
                    received,
                    expected,
                });
            }
            if !content.is_reply(index * expected + received, &buffer[..count]) {
                return Err(CallError::WrongReply { index });
            }
            received += count as u64;
        }
        self.requests += 1;
        Ok(ended_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_request_are_all_of_it_and_of_equal_length() {
        let request: Vec<u8> = (0..101).collect();
        for of in [1, 2, 10, 101] {
            let parts: Vec<&[u8]> = (0..of)
                .map(|number| part_of(&request, number, of))
                .collect();
            assert_eq!(parts.concat(), request);
            let lengths = parts.iter().map(|part| part.len());
            let (least, most) = (lengths.clone().min(), lengths.max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{of}");
        }
    }
}
