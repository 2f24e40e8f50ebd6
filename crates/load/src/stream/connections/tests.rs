use super::{
    super::{
        pacer::Pacer,
        sender::{ManyConnections, Sender},
    },
    *,
};
use crate::{
    messages::{MessagePool, arrivals},
    schedule::{Arrival, Schedule, Slices},
    sends::{Calls, MOST_WAITING_BYTES, SendError, Sends, Waiting, over, ring},
    socket::admission::Admission,
};
use std::{
    io::Write,
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

const PATIENCE_NS: u64 = 10_000_000_000;
const CONNECTIONS: usize = 300;

/// By send calls, and by io_uring where that is permitted.
fn kinds() -> impl Iterator<Item = bool> {
    [false, true]
        .into_iter()
        .filter(|is_ring| !is_ring || ring::check().is_ok())
}

fn pool(connections: usize) -> MessagePool {
    let pool = MessagePool::generate(5, 1, 300).unwrap();
    pool.spread_over(connections as u64)
}

/// The connections, the last one first, each with its number.
fn connected(port: u16, count: usize) -> Vec<TcpStream> {
    let mut streams: Vec<_> = (0..count as u32)
        .rev()
        .map(|number| {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.write_all(&number.to_le_bytes()).unwrap();
            stream
        })
        .collect();
    streams.reverse();
    streams
}

fn receive(spread: Spread, send: impl FnOnce(Vec<TcpStream>) + Send) -> io::Result<Reception> {
    let receiver =
        Receiver::listen(Ipv4Addr::LOCALHOST.into(), "cubic", Admission::default()).unwrap();
    let port = receiver.port().unwrap();
    let count = spread.connections();
    thread::scope(|scope| {
        let reading = scope.spawn(move || receiver.receive_on_many(spread, 1, 1 << 16));
        send(connected(port, count));
        reading.join().unwrap()
    })
}

#[test]
fn every_byte_arrives_on_its_connection_in_each_mode() {
    let pool = pool(CONNECTIONS);
    for is_ring in kinds() {
        for is_paced in [false, true] {
            let schedule = Schedule::new(50_000.0, Arrival::Poisson, 4, 20_000_000, 1).unwrap();
            let count = schedule.messages();
            let spread = Spread::new(pool.clone(), count, false);
            let reception = receive(spread, |streams| {
                let fds = streams.iter().map(AsRawFd::as_raw_fd).collect();
                let sends = over(fds, is_ring).unwrap();
                let mut sender = Sender::over(ManyConnections::new(sends, &pool, PATIENCE_NS));
                if is_paced {
                    let mut pacer = Pacer::new(schedule);
                    pacer.start(monotonic_ns());
                    sender.send_paced(&mut pacer, 0).unwrap();
                } else {
                    sender.send_flat_out(0..count).unwrap();
                    let calls = sender.outlet().calls();
                    let expected = if is_ring { count.div_ceil(64) } else { count };
                    assert_eq!(calls.writes, expected);
                }
            })
            .unwrap();
            assert_eq!(
                reception.notes.last().unwrap().bytes,
                pool.stream_bytes(count)
            );
            let mut indices: Vec<u64> = arrivals(&pool, &reception.turns).map(|(i, _)| i).collect();
            indices.sort_unstable();
            assert!(indices.into_iter().eq(0..count));
        }
    }
}

#[test]
fn in_slices_a_stream_ends_after_any_message() {
    let pool = pool(3);
    for is_ring in kinds() {
        let spread = Spread::new(pool.clone(), 1 << 30, true);
        let mut sent = 0;
        let reception = receive(spread, |streams| {
            let fds = streams.iter().map(AsRawFd::as_raw_fd).collect();
            let sends = over(fds, is_ring).unwrap();
            let mut sender = Sender::over(ManyConnections::new(sends, &pool, PATIENCE_NS));
            // Enough slices that a busy host does not sleep through all of them.
            let begins_ns = (0..100).map(|slice| slice * 10_000_000).collect();
            let slices = Slices::new(begins_ns, 2_000_000).unwrap();
            let found = sender.send_in_slices(0..1 << 30, &slices, monotonic_ns());
            sent = found.unwrap().1;
        })
        .unwrap();
        assert!(sent > 0);
        assert_eq!(
            reception.notes.last().unwrap().bytes,
            pool.stream_bytes(sent)
        );
    }
}

/// Connections that take nothing before somebody waits for them, and the most that has waited.
#[derive(Debug, Default)]
struct Full {
    waiting_bytes: usize,
    most_bytes: Arc<AtomicUsize>,
}

impl Sends for Full {
    fn connections(&self) -> usize {
        2
    }

    fn hand(&mut self, _: usize, message: &Arc<[u8]>) -> Result<(), SendError> {
        self.waiting_bytes += message.len();
        self.most_bytes
            .fetch_max(self.waiting_bytes, Ordering::Relaxed);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SendError> {
        Ok(())
    }

    fn wait(&mut self, _: u64) -> Result<(), SendError> {
        self.waiting_bytes = 0;
        Ok(())
    }

    fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    fn most_waiting(&self) -> Waiting {
        Waiting::default()
    }

    fn calls(&self) -> Calls {
        Calls::default()
    }
}

/// A burst of 64 messages of 20 MB would take 1.3 GB of the sender's memory.
#[test]
fn a_burst_of_large_messages_waits_for_the_receiver_and_not_in_memory() {
    const MESSAGE_BYTES: usize = 20 << 20;
    let pool = MessagePool::generate(5, MESSAGE_BYTES as u64, MESSAGE_BYTES as u64).unwrap();
    let sends = Full::default();
    let most_bytes = Arc::clone(&sends.most_bytes);
    let mut sender = Sender::over(ManyConnections::new(Box::new(sends), &pool, PATIENCE_NS));
    sender.send_flat_out(0..200).unwrap();
    let most_bytes = most_bytes.load(Ordering::Relaxed);
    assert!(
        most_bytes <= MOST_WAITING_BYTES + MESSAGE_BYTES,
        "{most_bytes}"
    );
}

#[test]
fn a_wrong_byte_and_a_missing_message_are_told_with_the_connection() {
    let pool = pool(2);
    let expected = |connection: u64| -> Vec<u8> {
        (0..20)
            .filter(|index| index % 2 == connection)
            .flat_map(|index| pool.message(index).to_vec())
            .collect()
    };
    for (fault, told) in [
        (
            "differs",
            "connection 1: a byte of message 1 is not the one",
        ),
        (
            "ends",
            "connection 1: it ended before the end of message 19",
        ),
    ] {
        let error = receive(Spread::new(pool.clone(), 20, false), |mut streams| {
            streams[0].write_all(&expected(0)).unwrap();
            let mut bytes = expected(1);
            match fault {
                "differs" => bytes[0] ^= 1,
                _ => drop(bytes.pop()),
            }
            // The receiver may reset the connection before all is written.
            let _unread = streams[1].write_all(&bytes);
        })
        .unwrap_err();
        assert!(error.to_string().starts_with(told), "{error}");
    }
}

#[test]
fn a_number_that_comes_twice_is_refused() {
    let receiver =
        Receiver::listen(Ipv4Addr::LOCALHOST.into(), "cubic", Admission::default()).unwrap();
    let port = receiver.port().unwrap();
    let streams: Vec<_> = (0..2).flat_map(|_| connected(port, 1)).collect();
    let spread = Spread::new(pool(2), 2, false);
    let error = receiver.receive_on_many(spread, 1, 1 << 16).unwrap_err();
    assert!(error.to_string().contains("number 0, which is not free"));
    drop(streams);
}
