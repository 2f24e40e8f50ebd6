//! Asks the kernel at even intervals during a run, on a thread of its own that sleeps in between.

use super::{
    held::Wanted,
    sample::{Sample, Samples},
    sock_diag::Diag,
    socket::{Socket, SocketId, State},
};
use crate::process::thread_cpu_ns;
use std::{
    io,
    sync::mpsc::{self, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::Duration,
};
use tinygram_net::{clock::monotonic_ns, process::with_signals_blocked};

/// Up to this many connections are asked for one by one; for more, looking through all costs less.
const MOST_ONE_BY_ONE: usize = 8;
/// How often the known connections are asked for before new ones are looked for.
const LOOK_EVERY: u32 = 16;

/// The findings of a probe.
#[derive(Debug)]
pub struct Recording {
    /// The samples, bounded in number.
    pub samples: Samples,
    /// CPU time that the probe took, in nanoseconds.
    pub cpu_ns: u64,
    /// Why there are no samples from some time on, if so.
    pub failure: Option<io::Error>,
}

/// Samples what the kernel holds of the IPv4 connections to a port, until it is stopped or dropped.
#[derive(Debug)]
pub struct Probe {
    running: Option<(mpsc::Sender<()>, JoinHandle<Recording>)>,
}

impl Probe {
    /// Start sampling in the calling thread's network namespace.
    ///
    /// # Errors
    /// Those of [`Diag::sockets`], which is tried once; when no thread can be started.
    pub fn start(port: u16, interval_ns: u64) -> io::Result<Self> {
        let mut sampler = Sampler::new(Diag::open()?, port);
        sampler.look()?;
        let (goes_on, stopped) = mpsc::channel();
        let thread = with_signals_blocked(|| {
            thread::Builder::new()
                .name("tg-probe".into())
                .spawn(move || sampler.record(interval_ns, &stopped))
        })?;
        Ok(Self {
            running: Some((goes_on, thread)),
        })
    }

    /// End the probe, and return what it found.
    pub fn stop(mut self) -> Recording {
        self.end().unwrap_or_else(|| Recording {
            samples: Samples::every(0),
            cpu_ns: 0,
            failure: Some(io::Error::other("the probe's thread broke")),
        })
    }

    fn end(&mut self) -> Option<Recording> {
        let (goes_on, thread) = self.running.take()?;
        drop(goes_on);
        thread.join().ok()
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.end();
    }
}

struct Sampler {
    diag: Diag,
    port: u16,
    /// The sockets that the last look through all of them found.
    found: Vec<SocketId>,
    /// The same, if the look before found the same: a look while connections are being made may find
    /// some of them, or one end of them.
    known: Vec<SocketId>,
    half_open: u64,
    asked: u32,
}

impl Sampler {
    fn new(diag: Diag, port: u16) -> Self {
        Self {
            diag,
            port,
            found: Vec::new(),
            known: Vec::new(),
            half_open: 0,
            asked: 0,
        }
    }

    fn record(mut self, interval_ns: u64, stopped: &mpsc::Receiver<()>) -> Recording {
        let mut samples = Samples::every(interval_ns);
        let mut due_ns = monotonic_ns();
        let failure = loop {
            let wait = Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()));
            if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                break None;
            }
            let at_ns = monotonic_ns();
            match self.sample(at_ns) {
                // Before there is a connection, there is nothing to record.
                Ok(sample) if sample.has_connections() => samples.push(sample),
                Ok(_) => {}
                Err(error) => break Some(error),
            }
            due_ns = next_due(due_ns, monotonic_ns(), samples.interval_ns());
        };
        Recording {
            samples,
            cpu_ns: thread_cpu_ns(),
            failure,
        }
    }

    fn sample(&mut self, at_ns: u64) -> io::Result<Sample> {
        let sockets = match self.ask_known()? {
            Some(sockets) => sockets,
            None => self.look()?,
        };
        Ok(Sample::of(at_ns, self.port, &sockets, self.half_open))
    }

    /// Look through all of the host's sockets: the more there can be, the longer it takes the kernel.
    fn look(&mut self) -> io::Result<Vec<Socket>> {
        let wanted = Wanted {
            port: Some(self.port),
            inodes: None,
        };
        let held = self.diag.ipv4_sockets(&wanted)?;
        self.half_open = held.half_open();
        self.asked = 0;
        let has_connections = held.sockets.iter().any(|s| s.state != State::Listen);
        let found: Vec<_> = held.sockets.iter().map(|socket| socket.id).collect();
        self.known = if has_connections && found.len() <= MOST_ONE_BY_ONE && self.is_settled(&found)
        {
            found.clone()
        } else {
            Vec::new()
        };
        self.found = found;
        Ok(held.sockets)
    }

    /// Whether the look before found the same sockets, in whatever order.
    fn is_settled(&self, found: &[SocketId]) -> bool {
        found.len() == self.found.len() && found.iter().all(|id| self.found.contains(id))
    }

    /// The known sockets; `None` when it is time to look again, or one of them is gone.
    fn ask_known(&mut self) -> io::Result<Option<Vec<Socket>>> {
        self.asked += 1;
        if self.known.is_empty() || self.asked > LOOK_EVERY {
            return Ok(None);
        }
        let mut sockets = Vec::with_capacity(self.known.len());
        for id in &self.known {
            match self.diag.one(id)? {
                Some(socket) if socket.state != State::TimeWait => sockets.push(socket),
                _ => return Ok(None),
            }
        }
        Ok(Some(sockets))
    }
}

/// The next multiple of the interval that is not past: missed ones are left out.
fn next_due(due_ns: u64, now_ns: u64, interval_ns: u64) -> u64 {
    let interval_ns = interval_ns.max(1);
    let missed = now_ns.saturating_sub(due_ns) / interval_ns;
    due_ns + (missed + 1) * interval_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::sample::column_names;
    use std::{
        io::Write,
        net::{TcpListener, TcpStream},
    };

    fn column(recording: &Recording, name: &str) -> Vec<u64> {
        let at = column_names().iter().position(|each| each == name).unwrap();
        let kept = recording.samples.kept().iter();
        kept.map(|sample| sample.columns[at]).collect()
    }

    #[test]
    fn what_is_not_read_is_seen_and_so_is_that_it_was_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut sampler = Sampler::new(Diag::open().unwrap(), address.port());
        assert!(!sampler.sample(1).unwrap().has_connections());
        let mut client = TcpStream::connect(address).unwrap();
        let (server, _) = listener.accept().unwrap();
        client.write_all(&[0; 1000]).unwrap();
        let queue = column_names()
            .iter()
            .position(|name| name == "server_receive_queue_bytes")
            .unwrap();
        let give_up_ns = monotonic_ns() + 60_000_000_000;
        while sampler.sample(2).unwrap().columns[queue] != 1000 {
            assert!(
                monotonic_ns() < give_up_ns,
                "1000 bytes are not there after a minute"
            );
        }
        drop((client, server));
        while sampler.sample(3).unwrap().has_connections() {
            assert!(
                monotonic_ns() < give_up_ns,
                "the connection is there after a minute"
            );
        }
    }

    #[test]
    fn one_that_is_made_after_the_first_look_is_in_the_next_sample() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut sampler = Sampler::new(Diag::open().unwrap(), address.port());
        let clients = [1, 2].map(|count| {
            let client = TcpStream::connect(address).unwrap();
            let server = listener.accept().unwrap();
            let sample = sampler.sample(count).unwrap();
            assert_eq!([sample.columns[0], sample.columns[10]], [count, count]);
            (client, server)
        });
        // Nothing new: asked for one by one.
        sampler.sample(3).unwrap();
        assert_eq!(sampler.known.len(), 5);
        drop(clients);
    }

    #[test]
    fn many_connections_are_summed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let clients = [(); 20].map(|()| TcpStream::connect(address).unwrap());
        let servers = [(); 20].map(|()| listener.accept().unwrap());
        let mut sampler = Sampler::new(Diag::open().unwrap(), address.port());
        let sample = sampler.sample(1).unwrap();
        assert_eq!([sample.columns[0], sample.columns[10]], [20, 20]);
        drop((clients, servers));
    }

    #[test]
    fn a_probe_records_until_it_is_stopped() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).unwrap();
        let _server = listener.accept().unwrap();
        let mut wait = Duration::from_millis(5);
        let recording = loop {
            let probe = Probe::start(address.port(), 1_000_000).unwrap();
            thread::sleep(wait);
            let recording = probe.stop();
            if recording.samples.kept().len() > 2 {
                break recording;
            }
            assert!(wait < Duration::from_secs(5), "no samples in {wait:?}");
            wait *= 2;
        };
        assert!(recording.failure.is_none());
        assert!(recording.cpu_ns > 0);
        let of_all = column(&recording, "client_connections");
        assert!(of_all.iter().all(|&connections| connections == 1));
    }

    #[test]
    fn what_is_missed_is_left_out_and_the_rest_stays_on_its_grid() {
        assert_eq!(next_due(100, 101, 10), 110);
        assert_eq!(next_due(100, 110, 10), 120);
        assert_eq!(next_due(100, 157, 10), 160);
        assert_eq!(next_due(100, 90, 10), 110);
        assert_eq!(next_due(100, 100, 0), 101);
    }

    #[test]
    fn dropping_it_ends_its_thread() {
        let probe = Probe::start(1, 3_600_000_000_000).unwrap();
        drop(probe);
    }
}
