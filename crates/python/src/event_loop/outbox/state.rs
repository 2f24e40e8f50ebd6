use crate::{
    event_loop::ticker::{AfterTick, Tick},
    message::Rest,
};
use pyo3::{prelude::*, types::PyBytes};
use std::os::fd::RawFd;
use tinygram_core::{Coalescer, Next, Reason};
use tinygram_net::{
    clock::monotonic_ns,
    process::{Caller, Generation},
    socket::send_now,
};

/// The event for which the ticker has this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// None: the ticker does not have the connection.
    Nothing,
    Tick,
    /// The deadline that the connection had at the last tick.
    Time,
}

/// The messages that an outbox holds, and the state of the ways out.
pub struct State {
    pub coalescer: Coalescer,
    /// The descriptor that we write to; `None`: the transport below takes all bytes.
    pub fd: Option<RawFd>,
    pub waits_for: WaitsFor,
    /// Whether messages go straight to the transport below.
    pub is_diverted: bool,
    /// Whether the transport below has bytes of its own.
    pub is_below_full: bool,
    /// Whether bytes are being handed to the transport below: what comes meanwhile is held.
    pub is_handing_over: bool,
    /// The first error that the kernel told us: it does not tell the transport below the same error again.
    pub errno: Option<i32>,
    /// The thread and process that may write.
    pub caller: Caller,
    pub generation: Generation,
    pub made_in: Generation,
}

impl State {
    pub fn forget_after_fork(&mut self) {
        if self.generation.is_past() {
            let now = Generation::current();
            self.caller = self.caller.moved(self.generation, now);
            self.generation = now;
            self.coalescer.discard();
        }
    }

    /// Have messages go straight to the transport below.
    pub fn divert(&mut self) {
        self.is_diverted = true;
        self.coalescer.close_room();
    }

    pub fn is_unusual(&self) -> bool {
        self.is_diverted || self.is_elsewhere()
    }

    /// Whether the caller is in another thread or process than the loop's.
    #[inline]
    pub fn is_elsewhere(&self) -> bool {
        Caller::current() != self.caller
    }

    /// An iteration ends, or a deadline has come.
    pub fn on_tick(&mut self, tick: Tick) -> AfterTick {
        let Tick {
            now_ns,
            connections,
            will_block,
        } = tick;
        self.coalescer.on_connections(connections);
        let after = match self.coalescer.on_tick(now_ns, will_block) {
            Next::Write(reason) => AfterTick::Write(reason),
            _ => self.after_hold(will_block),
        };
        self.waits_for = match after {
            AfterTick::Write(_) | AfterTick::Rest => WaitsFor::Nothing,
            AfterTick::WaitForTick => WaitsFor::Tick,
            AfterTick::WaitForTime => WaitsFor::Time,
        };
        after
    }

    /// What the connection does after a tick that writes nothing.
    fn after_hold(&self, will_block: bool) -> AfterTick {
        match self.coalescer.deadline_ns() {
            None if self.coalescer.wants_tick() => AfterTick::WaitForTick,
            None => AfterTick::Rest,
            _ if will_block || self.coalescer.waits_for_time() => AfterTick::WaitForTime,
            _ => AfterTick::WaitForTick,
        }
    }

    /// Note that the connection waits for a tick, if it waits for nothing and its strategy must be told
    /// when the iteration ends. Returns whether the caller must arm it.
    pub fn arm_for_tick(&mut self) -> bool {
        let is_to_arm = self.waits_for == WaitsFor::Nothing && self.coalescer.wants_tick();
        if is_to_arm {
            self.waits_for = WaitsFor::Tick;
        }
        is_to_arm
    }

    /// Write what the kernel takes; the rest, if there is one, is for the transport below.
    pub fn write_out<'py>(
        &mut self,
        py: Python<'py>,
        message: Option<&Bound<'py, PyBytes>>,
        reason: Reason,
    ) -> PyResult<Option<Rest<'py>>> {
        let bytes = message.map_or(&[][..], |message| message.as_bytes());
        if self.is_handing_over {
            let now_ns = monotonic_ns();
            self.coalescer.on_written(0, bytes, reason, now_ns, now_ns);
            return Ok(None);
        }
        let taken = self.write_now(bytes, reason);
        let pending = self.coalescer.pending();
        if pending.is_empty() && taken == bytes.len() {
            return Ok(None);
        }
        let rest = Rest::new(py, pending, message, taken)?;
        let left = &bytes[taken..];
        self.coalescer
            .on_handed_on(pending.len() + left.len(), left, reason, monotonic_ns());
        Ok(Some(rest))
    }

    /// Write what the kernel takes of what is held and then of `message`, if it is our turn.
    /// Returns how many bytes of `message` it took.
    pub fn write_now(&mut self, message: &[u8], reason: Reason) -> usize {
        let held_bytes = self.coalescer.pending().len();
        let Some(fd) = self.fd else { return 0 };
        let is_empty = message.is_empty() && held_bytes == 0;
        if is_empty || self.coalescer.is_blocked() || self.is_diverted {
            return 0;
        }
        let start_ns = monotonic_ns();
        match send_now(fd, self.coalescer.pending(), message) {
            Ok(taken) => {
                let of_message = taken.saturating_sub(held_bytes);
                // The caller takes the rest of the message: count it as written.
                self.coalescer.on_written(
                    taken,
                    &message[..of_message],
                    reason,
                    start_ns,
                    monotonic_ns(),
                );
                of_message
            }
            Err(error) => {
                // The transport below will meet an error too, and tell the protocol of it.
                self.errno = self.errno.or(error.raw_os_error());
                0
            }
        }
    }

    /// Hold everything until [`State::end_handing_over`]. Returns the time now, in nanoseconds.
    pub fn begin_handing_over(&mut self) -> u64 {
        self.is_handing_over = true;
        self.coalescer.on_blocked();
        monotonic_ns()
    }

    /// The transport below has taken `bytes` since `start_ns`. Returns whether it has bytes of its own now.
    pub fn end_handing_over(&mut self, bytes: usize, start_ns: u64) -> bool {
        self.is_handing_over = false;
        // With a descriptor, these are bytes that the kernel did not take, and they cost no write.
        let written = if self.fd.is_none() { bytes } else { 0 };
        self.coalescer
            .on_write_ended(written, start_ns, monotonic_ns());
        if !self.is_below_full {
            self.coalescer.on_writable();
        }
        self.is_below_full
    }

    /// Whether what is held need not wait for the transport below.
    pub fn has_more_for_below(&self) -> bool {
        let may_leave = !self.is_below_full || self.is_diverted;
        may_leave && !self.coalescer.pending().is_empty()
    }
}
