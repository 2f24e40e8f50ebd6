//! Samples of several cases alternate, and what a server counts of each.

use super::{SEED, asking, options};
use crate::{
    messages::{Setup, WireError},
    process::thread_cpu_ns,
    sizes::{
        client::{Client, Measured},
        faults::{Fault, SampleError},
        sample::Options,
        server::{self, Counts, Server},
    },
};
use std::{
    io::{Read, Write},
    iter,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::{fd::AsRawFd, unix::net::UnixStream},
    thread::{self, JoinHandle},
};

const ORDER: u64 = 3;

/// A server with so many ports; once it is told to end, what it counted of each, and the CPU time of its
/// thread.
struct Serving {
    ports: Vec<u16>,
    stop: UnixStream,
    thread: JoinHandle<(Vec<Counts>, u64)>,
}

impl Serving {
    fn begin(ports: usize) -> Self {
        let asked = server::Options { ports, ..options() };
        let mut server = Server::listen(asked, "cubic").unwrap();
        let (stop, stopped) = UnixStream::pair().unwrap();
        Self {
            ports: server.ports().unwrap(),
            stop,
            thread: thread::spawn(move || {
                server.serve(u64::MAX, Some(stopped.as_raw_fd())).unwrap();
                (server.counts().to_vec(), thread_cpu_ns())
            }),
        }
    }

    fn end(mut self) -> (Vec<Counts>, u64) {
        self.stop.write_all(b"x").unwrap();
        self.thread.join().unwrap()
    }
}

fn alternated(cases: Vec<Options>, samples: u64) -> Vec<Result<Measured, SampleError>> {
    Client::new(cases, SEED).measure(2, samples, ORDER)
}

#[test]
fn each_case_has_its_samples_and_each_port_its_counts() {
    let cells = [(1, 0), (100_000, 2), (9, 1), (9, 1)];
    let serving = Serving::begin(cells.len());
    let cases = cells.iter().zip(&serving.ports);
    let cases = cases.map(|(&(length, count), &port)| asking(port, length, count));
    let found = alternated(cases.collect(), 20);
    let (counts, _) = serving.end();
    for ((length, count), (found, counts)) in cells.iter().zip(found.into_iter().zip(counts)) {
        let found = found.unwrap();
        assert_eq!((found.total.count(), found.first_total.count()), (20, 2));
        assert_eq!(found.totals_ns.len(), 20);
        // One more has the last byte of its first message withheld.
        let connections = 22 + u64::from(*count > 0);
        assert_eq!(counts.samples, connections);
        let compared = if *count > 0 { connections } else { 0 };
        assert_eq!(counts.compared_samples, compared);
        assert_eq!(
            counts.bytes,
            connections * u64::from(*length) * u64::from(*count)
        );
        assert_eq!((counts.refused, counts.idle, counts.strangers), (0, 0, 0));
    }
}

#[test]
fn each_port_has_its_share_of_the_thread_s_cpu_time() {
    let cells = [(1, 0), (100_000, 2)];
    let serving = Serving::begin(cells.len());
    let cases = cells.iter().zip(&serving.ports);
    let cases = cases.map(|(&(length, count), &port)| asking(port, length, count));
    for found in alternated(cases.collect(), 50) {
        found.unwrap();
    }
    let (counts, used_ns) = serving.end();
    let shares_ns: Vec<u64> = counts.iter().map(|each| each.cpu_ns).collect();
    assert!(shares_ns.iter().sum::<u64>() <= used_ns);
    assert!(shares_ns[0] > 0);
    // To read and compare 200 kB takes several times what a connection takes.
    assert!(shares_ns[1] > shares_ns[0], "{shares_ns:?}");
}

#[test]
fn a_cycle_s_value_is_the_time_of_its_sample() {
    let serving = Serving::begin(2);
    let cases = serving.ports.iter().map(|&port| asking(port, 10, 1));
    for found in alternated(cases.collect(), 50) {
        let found = found.unwrap();
        let (least, most) = (found.total.min_ns(), found.total.max_ns());
        // A histogram has three digits.
        for &total_ns in &found.totals_ns {
            assert!(
                total_ns as f64 >= least as f64 * 0.998,
                "{total_ns} {least}"
            );
            assert!(total_ns as f64 <= most as f64 * 1.002, "{total_ns} {most}");
        }
    }
    serving.end();
}

/// A plain server's port, and the lengths that it was asked for, in their order.
struct Hearing {
    port: u16,
    thread: JoinHandle<Vec<u32>>,
}

impl Hearing {
    fn begin() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Self {
            port: listener.local_addr().unwrap().port(),
            thread: thread::spawn(move || {
                iter::from_fn(|| answered(listener.accept().unwrap().0)).collect()
            }),
        }
    }

    fn end(self) -> Vec<u32> {
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap());
        self.thread.join().unwrap()
    }
}

/// Acknowledge one message; of 3 bytes as if it had 4. `None`: nothing was asked.
fn answered(mut stream: TcpStream) -> Option<u32> {
    let mut setup = [0; 8];
    stream.read_exact(&mut setup).ok()?;
    let Setup { length, count } = Setup::from_bytes(setup);
    assert_eq!(count, 1);
    stream.read_exact(&mut vec![0; length as usize]).unwrap();
    let said = if length == 3 { 4 } else { length };
    stream.write_all(&said.to_be_bytes()).unwrap();
    // The client ends its side before we do.
    let _reset = stream.read(&mut [0]);
    Some(length)
}

#[test]
fn a_cycle_has_a_sample_of_every_case_and_its_order_is_another_one() {
    let cases = [5, 6, 7];
    let rounds = [(); 2].map(|()| {
        let hearing = Hearing::begin();
        let asked = cases.map(|length| asking(hearing.port, length, 1));
        for found in alternated(asked.to_vec(), 10) {
            found.unwrap();
        }
        hearing.end()
    });
    assert_eq!(rounds[0], rounds[1], "the same seed has the same order");
    // Two cycles of first samples, one of those with a byte withheld, and ten.
    assert_eq!(rounds[0].len(), 13 * cases.len());
    let mut orders = Vec::new();
    for cycle in rounds[0].chunks(cases.len()) {
        let mut of_cycle = cycle.to_vec();
        orders.push(cycle);
        of_cycle.sort_unstable();
        assert_eq!(of_cycle, cases);
    }
    orders.sort_unstable();
    orders.dedup();
    assert!(orders.len() >= 3, "{orders:?}");
}

#[test]
fn a_case_that_fails_has_no_more_samples_and_the_others_lose_nothing() {
    let hearing = Hearing::begin();
    let asked = [5, 3, 7].map(|length| asking(hearing.port, length, 1));
    let mut found = alternated(asked.to_vec(), 10).into_iter();
    assert_eq!(found.next().unwrap().unwrap().total.count(), 10);
    let failed = found.next().unwrap().unwrap_err();
    assert_eq!(failed.sample, 0);
    assert!(matches!(
        failed.fault,
        Fault::Wire(WireError::Acknowledgement {
            said: 4,
            length: 3,
            ..
        })
    ));
    assert_eq!(found.next().unwrap().unwrap().total.count(), 10);
    let lengths = hearing.end();
    for (length, connections) in [(3, 1), (5, 13), (7, 13)] {
        let asked = lengths.iter().filter(|&&each| each == length);
        assert_eq!(asked.count(), connections, "{length}");
    }
}
