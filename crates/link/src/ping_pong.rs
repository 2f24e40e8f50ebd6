//! A link as a program sees it that waits for each answer.

use crate::namespace::in_namespace;
use std::{
    io::{self, ErrorKind},
    net::{Ipv4Addr, UdpSocket},
    os::fd::BorrowedFd,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use tinygram_net::{clock::monotonic_ns, process::with_signals_blocked};

/// The most round trips of one measurement.
pub const MAX_ROUND_TRIPS: usize = 1_000_000;
/// A number that distinguishes an answer from that of another datagram.
const PAYLOAD_BYTES: usize = 8;
/// A datagram with the headers of UDP and IP.
pub const PING_PONG_BYTES: u32 = 28 + PAYLOAD_BYTES as u32;

/// An answer that has not come by then does not.
const PATIENCE: Duration = Duration::from_secs(2);
/// After so many that did not come it is over.
const MOST_MISSED: u32 = 5;
/// How soon the one that answers looks whether it is over.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// Send `count` datagrams from one network to an address of the other, each when the answer to the
/// one before it is there: the round trips in nanoseconds, of those whose answer came.
///
/// # Errors
/// `TimedOut` when none came; what the kernel says, `Interrupted` after a signal.
pub fn ping_pong(
    near: BorrowedFd<'_>,
    far: BorrowedFd<'_>,
    far_address: Ipv4Addr,
    count: usize,
) -> io::Result<Vec<u64>> {
    // A socket stays in the network in which it was made.
    let answering = in_namespace(far, || UdpSocket::bind((far_address, 0)))?;
    let address = answering.local_addr()?;
    let asking = in_namespace(near, || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect(address)?;
        Ok(socket)
    })?;
    answering.set_read_timeout(Some(LOOKS_EVERY))?;
    asking.set_read_timeout(Some(PATIENCE))?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let answer_all = || answer(&answering, &is_over);
        let start = || thread::Builder::new().spawn_scoped(scope, answer_all);
        with_signals_blocked(start)?;
        let round_trips = ask(&asking, count.min(MAX_ROUND_TRIPS));
        is_over.store(true, Ordering::Relaxed);
        round_trips
    })
}

fn ask(socket: &UdpSocket, count: usize) -> io::Result<Vec<u64>> {
    let mut round_trips_ns = Vec::with_capacity(count);
    let mut missed = 0;
    for number in 0..count as u64 {
        let sent_ns = monotonic_ns();
        socket.send(&number.to_be_bytes())?;
        if is_answered(socket, number)? {
            round_trips_ns.push(monotonic_ns() - sent_ns);
        } else {
            missed += 1;
            if missed == MOST_MISSED {
                break;
            }
        }
    }
    if round_trips_ns.is_empty() {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(round_trips_ns)
}

/// Wait for the answer to that datagram; those to others are late ones.
fn is_answered(socket: &UdpSocket, number: u64) -> io::Result<bool> {
    let mut answer = [0; PAYLOAD_BYTES];
    loop {
        match socket.recv(&mut answer) {
            Ok(length) if length == PAYLOAD_BYTES && answer == number.to_be_bytes() => {
                return Ok(true);
            }
            Ok(_) => {}
            Err(error) if is_timeout(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Send each datagram back. What goes wrong is an answer that does not come.
fn answer(socket: &UdpSocket, is_over: &AtomicBool) {
    let mut datagram = [0; PAYLOAD_BYTES];
    while !is_over.load(Ordering::Relaxed) {
        match socket.recv_from(&mut datagram) {
            Ok((length, from)) => {
                let _not_answered = socket.send_to(&datagram[..length], from);
            }
            Err(error) if is_timeout(&error) => {}
            Err(_) => return,
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
