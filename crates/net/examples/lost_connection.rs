//! A peer goes away in the middle: how many bytes arrived, may have arrived, and never left.

use std::{
    error::Error,
    io::Read,
    net::{TcpListener, TcpStream},
    time::{Duration, Instant},
};
use tinygram_net::{CoalescingSocket, Failure, FlushError, Knobs, SendError, Strategy};

const MESSAGE: [u8; 100] = [b'x'; 100];
const LONG: Duration = Duration::from_secs(20);

fn main() -> Result<(), Box<dyn Error>> {
    let server = TcpListener::bind("127.0.0.1:0")?;
    let stream = TcpStream::connect(server.local_addr()?)?;
    let mut peer = server.accept()?.0;
    stream.set_nodelay(true)?;
    let mut knobs = Knobs::of_threads(Strategy::Coalesce {
        hold: Duration::from_millis(1),
    });
    knobs.max_buffered_bytes = Some(10_000);
    let socket = CoalescingSocket::new(&stream, knobs)?;

    socket.send(&MESSAGE)?;
    socket.flush(LONG)?; // Our kernel has it. That theirs has, this read proves.
    peer.read_exact(&mut [0; MESSAGE.len()])?;

    // A timeout is no failure: the bytes are still on their way.
    let sent = fill(&socket)?;
    match socket.flush(Duration::from_millis(10)) {
        Err(late @ FlushError::TimedOut { .. }) => println!("after {sent} messages: {late}"),
        other => panic!("a peer that does not read took everything: {other:?}"),
    }

    drop(peer); // With bytes that it has not read: a reset.
    let failure = failure_of(&socket);
    println!("{:?}: {failure}", failure.kind());
    assert!(failure.acknowledged_bytes >= 100 && failure.unsent_bytes > 0);

    // Whoever asks later is told the same.
    assert_eq!(socket.close(LONG), Err(FlushError::Failed(failure)));
    Ok(())
}

/// Send until there is no room, as nobody reads; returns how many messages that took.
fn fill(socket: &CoalescingSocket) -> Result<u32, SendError> {
    for sent in 0.. {
        match socket.send_timeout(&MESSAGE, Duration::from_secs(1)) {
            Ok(()) => {}
            Err(SendError::NoRoom { .. }) => return Ok(sent),
            Err(error) => return Err(error),
        }
    }
    unreachable!("kernels keep less")
}

/// The reset comes a moment after its cause.
fn failure_of(socket: &CoalescingSocket) -> Failure {
    let start = Instant::now();
    loop {
        match socket.send_timeout(&MESSAGE, LONG) {
            Err(SendError::Failed(failure)) => return failure,
            other => assert!(start.elapsed() < LONG, "no reset came: {other:?}"),
        }
    }
}
