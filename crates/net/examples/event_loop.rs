//! A hand-written loop of one thread that sends by way of `Coalescer` on a nonblocking socket.

use std::{
    error::Error,
    io::{self, ErrorKind, IoSlice, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::fd::AsRawFd,
    thread,
    time::{Duration, Instant},
};
use tinygram_core::{Coalescer, Knobs, Next, Reason};

const ITERATIONS: u32 = 2_000;
const LONG: Duration = Duration::from_secs(20);

/// The sending side of a connection.
struct Outgoing {
    stream: TcpStream,
    coalescer: Coalescer,
    /// The start of the coalescer's clock.
    start: Instant,
}

impl Outgoing {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Returns whether the message was taken; if not, the caller waits until the socket is writable.
    fn send(&mut self, message: &[u8]) -> io::Result<bool> {
        let start = self.start;
        let clock = || start.elapsed().as_nanos() as u64;
        match self.coalescer.on_message(message, clock) {
            Next::Wait | Next::Arm => {} // This loop ticks at the end of each iteration anyway.
            Next::Write(reason) => self.write(message, reason)?,
            Next::WriteFirst => {
                self.write(&[], Reason::Full)?;
                return self.send(message);
            }
            Next::Refuse => return Ok(false),
        }
        Ok(true)
    }

    fn end_iteration(&mut self, will_block: bool) -> io::Result<()> {
        match self.coalescer.on_tick(self.now_ns(), will_block) {
            Next::Write(reason) => self.write(&[], reason),
            _ => Ok(()),
        }
    }

    /// Write what is held and then `message`, as far as the socket takes it.
    fn write(&mut self, mut message: &[u8], reason: Reason) -> io::Result<()> {
        while !(message.is_empty() && self.coalescer.pending().is_empty()) {
            let start_ns = self.now_ns();
            let parts = [
                IoSlice::new(self.coalescer.pending()),
                IoSlice::new(message),
            ];
            let (written, is_blocked) = match self.stream.write_vectored(&parts) {
                Ok(written) => (written, false),
                Err(error) if error.kind() == ErrorKind::WouldBlock => (0, true),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end_ns = self.now_ns();
            self.coalescer
                .on_written(written, message, reason, start_ns, end_ns);
            message = &[]; // The part of it that was not written is held.
            if is_blocked {
                self.coalescer.on_blocked();
                break;
            }
        }
        Ok(())
    }

    /// Wait until the socket takes bytes, if it does not, or until a hold ends.
    fn wait(&mut self) -> io::Result<()> {
        let is_blocked = self.coalescer.is_blocked();
        let timeout = match self.coalescer.deadline_ns() {
            Some(at_ns) => Duration::from_nanos(at_ns.saturating_sub(self.now_ns())),
            None if is_blocked => LONG,
            None => return Ok(()), // Nothing is held.
        };
        let is_ready = poll(&self.stream, is_blocked, timeout)?;
        match (is_blocked, is_ready) {
            (true, false) => Err(ErrorKind::TimedOut.into()),
            (true, true) if self.coalescer.on_writable() => self.write(&[], Reason::Writable),
            _ => self.end_iteration(true),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = TcpListener::bind("127.0.0.1:0")?;
    let stream = TcpStream::connect(server.local_addr()?)?;
    let peer = server.accept()?.0;
    peer.set_read_timeout(Some(LONG))?;
    let receiving = thread::spawn(move || io::read_to_string(peer));

    let mut knobs = Knobs::default();
    knobs.max_buffered_bytes = Some(1 << 20);
    stream.set_nodelay(knobs.strategy.wants_nodelay())?;
    stream.set_nonblocking(true)?;
    let mut outgoing = Outgoing {
        stream,
        coalescer: Coalescer::new(knobs)?,
        start: Instant::now(),
    };
    let mut sent = String::new();
    for iteration in 0..ITERATIONS {
        // The messages of this iteration: none, or some.
        for number in 0..iteration % 50 {
            let message = format!("{iteration}.{number} ");
            while !outgoing.send(message.as_bytes())? {
                outgoing.wait()?;
            }
            sent.push_str(&message);
        }
        let will_block = iteration % 50 == 49;
        outgoing.end_iteration(will_block)?;
        if will_block {
            outgoing.wait()?;
        }
    }
    while !outgoing.coalescer.pending().is_empty() {
        outgoing.write(&[], Reason::Asked)?;
        outgoing.wait()?;
    }
    outgoing.stream.shutdown(Shutdown::Write)?;
    let received = receiving.join().expect("the receiver does not panic")?;
    assert!(received == sent, "every byte, once and in order");
    let stats = outgoing.coalescer.stats();
    println!(
        "{} messages left in {} writes",
        stats.messages, stats.writes
    );
    Ok(())
}

/// Wait until the socket is writable, if `for_writing`; false: the time was over first.
fn poll(stream: &TcpStream, for_writing: bool, timeout: Duration) -> io::Result<bool> {
    let mut waiting = libc::pollfd {
        fd: stream.as_raw_fd(),
        events: if for_writing { libc::POLLOUT } else { 0 },
        revents: 0,
    };
    // Whole milliseconds, rounded up.
    let timeout_ms = timeout.as_micros().div_ceil(1000) as libc::c_int;
    loop {
        // SAFETY: `waiting` is one pollfd, and outlives the call.
        match unsafe { libc::poll(&mut waiting, 1, timeout_ms) } {
            0 => return Ok(false),
            1 => return Ok(true),
            _ => {}
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
