//! The parts of this host's own latency: the same round trip, of one byte and an acknowledgement, with
//! one more part each time.
//!
//! A system call that does nothing; a round trip within one thread, which has both ends and never
//! waits, for loopback delivers within the write; a round trip between two threads on one core, which
//! take turns; a round trip between two cores, one of which has to wake the other.

use crate::{messages::ACKNOWLEDGEMENT_BYTES, process::pin_thread};
use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
};
use tinygram_core::Histogram;
use tinygram_net::clock::monotonic_ns;

/// How many system calls are timed together: a single one is hardly longer than reading the clock.
const CALLS_AT_A_TIME: u64 = 64;

/// The time of a system call that does nothing, in nanoseconds; after `first` that are not counted.
pub fn time_system_calls(first: u64, samples: u64) -> Histogram {
    let mut calls = Histogram::new();
    for sample in 0..first + samples {
        let start_ns = monotonic_ns();
        for _ in 0..CALLS_AT_A_TIME {
            // SAFETY: takes a number, touches no memory; not getpid, which a library may answer.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
        if sample >= first {
            calls.record((monotonic_ns() - start_ns) / CALLS_AT_A_TIME);
        }
    }
    calls
}

/// The time of round trips within this thread, in nanoseconds; after `first` that are not counted.
///
/// # Errors
/// What the kernel says of the connection.
pub fn time_one_thread(first: u64, samples: u64) -> io::Result<Histogram> {
    let (mut near, mut far) = connected()?;
    time_trips(first, samples, || {
        near.write_all(&[1])?;
        acknowledge(&mut far)?;
        near.read_exact(&mut [0; ACKNOWLEDGEMENT_BYTES])
    })
}

/// The time of round trips with another thread, which stays on the core `far_cpu`, in nanoseconds;
/// after `first` that are not counted. Where this thread stays is its own affair.
///
/// # Errors
/// What the kernel says of the connection, or of the core.
pub fn time_two_threads(first: u64, samples: u64, far_cpu: usize) -> io::Result<Histogram> {
    let (mut near, mut far) = connected()?;
    thread::scope(|scope| {
        let answering = scope.spawn(move || -> io::Result<()> {
            pin_thread(far_cpu)?;
            for _ in 0..first + samples {
                acknowledge(&mut far)?;
            }
            Ok(())
        });
        let trips = time_trips(first, samples, || {
            near.write_all(&[1])?;
            near.read_exact(&mut [0; ACKNOWLEDGEMENT_BYTES])
        });
        // If the other thread still waits, this ends its wait.
        drop(near);
        let answered = answering.join().expect("the thread does not panic");
        // If both failed, the answering thread's failure is taken for the cause.
        answered.and(trips)
    })
}

/// Both ends of a connection over loopback, which hold nothing back.
fn connected() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let far = loop {
        let (far, peer) = listener.accept()?;
        // Anybody may connect to a port of this host.
        if peer == near.local_addr()? {
            break far;
        }
    };
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    Ok((near, far))
}

fn acknowledge(far: &mut TcpStream) -> io::Result<()> {
    far.read_exact(&mut [0])?;
    far.write_all(&[0; ACKNOWLEDGEMENT_BYTES])
}

fn time_trips(
    first: u64,
    samples: u64,
    mut trip: impl FnMut() -> io::Result<()>,
) -> io::Result<Histogram> {
    let mut trips = Histogram::new();
    for sample in 0..first + samples {
        let start_ns = monotonic_ns();
        trip()?;
        if sample >= first {
            trips.record(monotonic_ns() - start_ns);
        }
    }
    Ok(trips)
}
