//! Four threads send on one connection, and close it when all was delivered.

use std::{
    error::Error,
    io::{self, BufRead},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};
use tinygram_net::{CoalescingSocket, Knobs, Strategy};

const SENDERS: u32 = 4;
const MESSAGES: u32 = 5_000;
/// A timeout that nothing here reaches, unless something is wrong.
const LONG: Duration = Duration::from_secs(20);

fn main() -> Result<(), Box<dyn Error>> {
    let server = TcpListener::bind("127.0.0.1:0")?;
    let stream = TcpStream::connect(server.local_addr()?)?;
    let peer = server.accept()?.0;
    let receiving = thread::spawn(move || receive(peer));

    let strategy = Strategy::Adaptive;
    stream.set_nodelay(strategy.wants_nodelay())?;
    let socket = CoalescingSocket::new(&stream, Knobs::of_threads(strategy))?;
    thread::scope(|scope| {
        let sending: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let socket = &socket;
                scope.spawn(move || {
                    for number in 0..MESSAGES {
                        let message = format!("{sender} {number}\n");
                        socket.send_timeout(message.as_bytes(), LONG)?;
                    }
                    Ok::<_, tinygram_net::SendError>(())
                })
            })
            .collect();
        sending
            .into_iter()
            .try_for_each(|thread| thread.join().expect("a sender does not panic"))
    })?;
    socket.close(LONG)?;

    let received = receiving.join().expect("the receiver does not panic")?;
    assert_eq!(received, SENDERS * MESSAGES);
    let stats = socket.stats();
    println!(
        "{} messages left in {} writes",
        stats.messages, stats.writes
    );
    Ok(())
}

/// Returns how many messages arrived; those of each thread are in order.
fn receive(peer: TcpStream) -> io::Result<u32> {
    peer.set_read_timeout(Some(LONG))?;
    let mut next = [0; SENDERS as usize];
    for line in io::BufReader::new(peer).lines() {
        let line = line?;
        let (sender, number) = line.split_once(' ').expect("each line is a message");
        let sender: usize = sender.parse().expect("each message says whose it is");
        assert_eq!(number, next[sender].to_string());
        next[sender] += 1;
    }
    Ok(next.iter().sum())
}
