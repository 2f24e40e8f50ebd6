//! The tests' driver of a coalescer: a socket that fails as told, and a clock that stands still.

use super::*;
use std::collections::VecDeque;

/// A socket that takes as many bytes as `takes` says, an entry for each write, and then everything.
#[derive(Default)]
pub struct Socket {
    pub takes: VecDeque<Option<usize>>,
    pub received: Vec<u8>,
}

/// The caller's side of the contract; the test moves the clock, and each write moves it by `write_ns`.
pub struct Driver {
    pub coalescer: Coalescer,
    pub socket: Socket,
    pub now_ns: u64,
    pub write_ns: u64,
    /// Whether a transport below makes the writes.
    pub hands_on: bool,
}

impl Driver {
    pub fn new(knobs: Knobs, takes: Vec<Option<usize>>) -> Self {
        Self {
            coalescer: Coalescer::new(knobs).unwrap(),
            socket: Socket {
                takes: takes.into(),
                received: Vec::new(),
            },
            now_ns: 1_000_000_000,
            write_ns: 0,
            hands_on: false,
        }
    }

    /// Returns whether the message was taken.
    pub fn send(&mut self, message: &[u8]) -> bool {
        let now_ns = self.now_ns;
        match self.coalescer.on_message(message, || now_ns) {
            Next::Wait | Next::Arm => true,
            Next::Write(reason) => {
                self.write(message, reason);
                true
            }
            Next::WriteFirst => {
                self.write(&[], Reason::Full);
                self.send(message)
            }
            Next::Refuse => false,
        }
    }

    /// Write what is held, whether or not it is due.
    pub fn flush(&mut self) {
        if !self.coalescer.is_blocked() {
            self.write(&[], Reason::Asked);
        }
    }

    pub fn tick(&mut self, will_block: bool) {
        if let Next::Write(reason) = self.coalescer.on_tick(self.now_ns, will_block) {
            self.write(&[], reason);
        }
    }

    pub fn writable(&mut self) {
        if self.coalescer.is_blocked() && self.coalescer.on_writable() {
            self.write(&[], Reason::Writable);
        }
    }

    pub fn write(&mut self, mut message: &[u8], reason: Reason) {
        loop {
            let all = [self.coalescer.pending(), message].concat();
            if all.is_empty() {
                return;
            }
            let taken = if self.coalescer.is_blocked() {
                // The bytes go to the queue behind, which is emptied before the socket takes more of ours.
                all.len()
            } else {
                match self.socket.takes.pop_front() {
                    Some(None) => 0,
                    Some(Some(bytes)) => bytes.min(all.len()),
                    None => all.len(),
                }
            };
            self.socket.received.extend_from_slice(&all[..taken]);
            let start_ns = self.now_ns;
            if self.hands_on {
                self.coalescer
                    .on_handed_on(taken, message, reason, start_ns);
                self.now_ns += self.write_ns;
                self.coalescer.on_write_ended(
                    if taken == all.len() { taken } else { 0 },
                    start_ns,
                    self.now_ns,
                );
            } else {
                self.now_ns += self.write_ns;
                self.coalescer
                    .on_written(taken, message, reason, start_ns, self.now_ns);
            }
            message = &[];
            if taken == 0 {
                return self.coalescer.on_blocked();
            }
        }
    }
}
