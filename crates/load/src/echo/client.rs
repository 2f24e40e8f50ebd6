//! The client: keeps `depth` messages of each worker in flight, times each round trip, and compares
//! every byte that comes back, after it has taken the time. `at_a_rate` has messages that are due at times
//! known beforehand.

mod at_a_rate;
mod due;

pub use self::at_a_rate::Paced;
pub use super::exchange::{Exchange, RoundTrips, Turn};
use super::run::{Run, Window, left_messages};
pub use super::settings::Settings;
use super::worker::Worker;
pub use super::worker::{Encrypt, EncryptedConnection, Fault, Sent};
use crate::{
    messages::{EchoError, Echoes, MessagePool},
    process::thread_cpu_ns,
    schedule::Slices,
    socket::by_fd::ByFd,
};
use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    time::Duration,
};
use thiserror::Error;
use tinygram_core::Histogram;
use tinygram_net::{
    clock::{monotonic_ns, sleep_until_ns},
    epoll::Epoll,
};

const READ_BYTES: usize = 256 << 10;
/// A run that ends by time may begin no more messages than this on one connection.
const MOST_MESSAGES: u64 = 1 << 40;
/// How long the client polls: longer than a server takes for a message. If the server takes longer, it
/// may as well have to wake the client.
const POLL_NS: u64 = 100_000;

/// A fault, and the worker that met it.
#[derive(Debug, Error)]
#[error("worker {worker}: {fault}")]
pub struct ClientError {
    /// The worker's number, from 0 on.
    pub worker: usize,
    /// What went wrong.
    pub fault: Fault,
}

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// After so many messages of all workers together.
    Messages(u64),
    /// No message is begun later than so many nanoseconds after the start.
    Duration(u64),
}

/// A client of one echo server.
#[derive(Debug)]
pub struct EchoClient {
    pool: MessagePool,
    epoll: Epoll,
    workers: Vec<Worker>,
    /// The workers' numbers.
    numbers: ByFd<usize>,
    buffer: Vec<u8>,
    connects_ns: Vec<u64>,
    is_trusting: bool,
    is_polling: bool,
}

impl EchoClient {
    /// Connect all workers, one after the other. The messages of `pool` have one size. `encrypt` is
    /// called with each connection; `None`: nothing is encrypted.
    ///
    /// # Errors
    /// [`ClientError`], at the first connection that is not made.
    ///
    /// # Panics
    /// When the pool's messages differ in size.
    pub fn connect(
        server: SocketAddr,
        pool: MessagePool,
        settings: &Settings,
        encrypt: Option<Encrypt<'_>>,
    ) -> Result<Self, ClientError> {
        let failed = |number| move |error| of_worker(number)(Fault::Connect(error));
        let epoll = Epoll::new().map_err(failed(0))?;
        let mut workers = Vec::with_capacity(settings.workers);
        let mut numbers = ByFd::default();
        let mut connects_ns = Vec::with_capacity(settings.workers);
        for number in 0..settings.workers {
            // Workers start at different messages, so that a reply to another worker's message is wrong.
            let first = pool.message_count() * number as u64 / settings.workers as u64;
            let mut echoes = Echoes::new(&pool, first, settings.depth);
            if settings.is_trusting {
                echoes = echoes.trusting();
            }
            let before_ns = monotonic_ns();
            let mut worker = Worker::connect(server, echoes, settings).map_err(failed(number))?;
            connects_ns.push(monotonic_ns() - before_ns);
            if let Some(encrypt) = encrypt {
                worker.encrypt(encrypt).map_err(failed(number))?;
            }
            numbers.insert(worker.fd(), number);
            workers.push(worker);
        }
        Ok(Self {
            pool,
            epoll,
            workers,
            numbers,
            // Not zero, so that the pages are touched now.
            buffer: vec![1; READ_BYTES],
            connects_ns,
            is_trusting: settings.is_trusting,
            is_polling: settings.is_polling,
        })
    }

    /// How long connecting each worker took, in nanoseconds.
    pub fn connects_ns(&self) -> &[u64] {
        &self.connects_ns
    }

    /// Exchange messages until the goal is reached and all that were begun have come back.
    ///
    /// # Errors
    /// [`ClientError`] at the first fault, or when it takes `timeout_ns` longer than the goal.
    pub fn run(&mut self, goal: Goal, timeout_ns: u64) -> Result<Turn, ClientError> {
        let start_ns = monotonic_ns();
        let (stop_ns, lasts_ns) = match goal {
            Goal::Messages(_) => (u64::MAX, 0),
            Goal::Duration(lasts_ns) => (start_ns.saturating_add(lasts_ns), lasts_ns),
        };
        let window = Window {
            start_ns,
            settled_ns: None,
            stop_ns,
            give_up_ns: start_ns.saturating_add(lasts_ns).saturating_add(timeout_ns),
        };
        self.exchange(goal, window, RoundTrips::Counted(Histogram::new()))
    }

    /// Exchange messages in each slice, and sleep in between. The first `settling_ns` of a slice do
    /// not count. After `open_ns` no message is begun; what is in flight by then is waited for, and
    /// has its round trip counted, but is no message of the slice. `start_ns` is when the first cycle
    /// begins, CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// [`ClientError`] at the first fault, or when a slice takes `timeout_ns` longer than it lasts.
    pub fn run_in_slices(
        &mut self,
        slices: &Slices,
        settling_ns: u64,
        open_ns: u64,
        start_ns: u64,
        timeout_ns: u64,
    ) -> Result<Vec<Turn>, ClientError> {
        let mut turns = Vec::with_capacity(slices.count());
        for slice in 0..slices.count() {
            let begin_ns = start_ns.saturating_add(slices.begin_ns(slice));
            let stop_ns = begin_ns.saturating_add(open_ns);
            let end_ns = start_ns.saturating_add(slices.end_ns(slice));
            sleep_until_ns(begin_ns);
            let window = Window {
                start_ns: monotonic_ns(),
                settled_ns: Some(begin_ns.saturating_add(settling_ns)),
                stop_ns,
                give_up_ns: end_ns.saturating_add(timeout_ns),
            };
            let goal = match stop_ns.saturating_sub(window.start_ns) {
                // The client has slept through its slice, and now another case has its turn.
                0 => Goal::Messages(0),
                left_ns => Goal::Duration(left_ns),
            };
            turns.push(self.exchange(goal, window, RoundTrips::Each(Vec::new()))?);
        }
        Ok(turns)
    }

    fn exchange(
        &mut self,
        goal: Goal,
        window: Window,
        round_trips: RoundTrips,
    ) -> Result<Turn, ClientError> {
        self.allow(goal);
        let mut run = Run::begun(&self.workers, window, round_trips);
        for number in 0..self.workers.len() {
            run.exchange.writes += self.send(number)?;
        }
        while run.left > 0 {
            let count = self.wait(&mut run)?;
            for index in 0..count {
                let ready = self.epoll.ready(index);
                if let Some(&number) = self.numbers.get(ready.fd) {
                    self.serve(number, ready.is_readable, &mut run, Run::record)?;
                }
            }
        }
        Ok(run.ended(&self.workers))
    }

    /// End all connections, and wait `patience` at most for the server to end each: nothing more
    /// may come back.
    ///
    /// # Errors
    /// [`ClientError`], when something does.
    pub fn finish(&mut self, patience: Duration) -> Result<(), ClientError> {
        let share = patience / (self.workers.len() as u32).max(1);
        for (number, worker) in self.workers.iter_mut().enumerate() {
            worker
                .end(share.max(Duration::from_millis(1)))
                .map_err(of_worker(number))?;
        }
        Ok(())
    }

    /// The fault that a check finds in the bytes that a trusting client has believed: the first fault of
    /// the first worker that has one.
    pub fn fault(&self) -> Option<(usize, EchoError)> {
        let faults = self.workers.iter().map(|worker| worker.echoes.fault());
        faults
            .enumerate()
            .find_map(|(number, fault)| Some((number, fault?)))
    }

    fn allow(&mut self, goal: Goal) {
        let workers = self.workers.len() as u64;
        for (number, worker) in (0..).zip(&mut self.workers) {
            worker.echoes.allow(match goal {
                Goal::Messages(all) => all / workers + u64::from(number < all % workers),
                Goal::Duration(_) => MOST_MESSAGES,
            });
        }
    }

    /// Wait until something is ready, for as long as was left of the run's time at the last read: the
    /// clock is read only when nothing comes.
    fn wait(&mut self, run: &mut Run) -> Result<usize, ClientError> {
        let polled = if self.is_polling { self.poll(run) } else { 0 };
        if polled > 0 {
            return Ok(polled);
        }
        let left_ns = run.give_up_ns.saturating_sub(run.last_ns);
        let timeout_ms = i32::try_from(left_ns.div_ceil(1_000_000)).unwrap_or(i32::MAX);
        match self.epoll.wait(timeout_ms) {
            Ok(count) if count > 0 => Ok(count),
            Err(error) if error.kind() != ErrorKind::Interrupted => Err(self.broken(0, error)),
            _ if monotonic_ns() >= run.give_up_ns => Err(self.silent()),
            _ => Ok(0),
        }
    }

    /// Poll until something is ready, for `POLL_NS` at most; an error is left to the next wait.
    fn poll(&mut self, run: &mut Run) -> usize {
        let mut count = self.epoll.wait(0).unwrap_or(0);
        if count == 0 {
            // What asking takes, but for the answer: only that is work.
            let start_ns = thread_cpu_ns();
            let mut polled_ns = 0;
            while count == 0 && polled_ns < POLL_NS {
                polled_ns = thread_cpu_ns() - start_ns;
                count = self.epoll.wait(0).unwrap_or(0);
            }
            run.exchange.polled_ns += polled_ns;
        }
        count
    }

    /// Read what has come for a worker, and send what it may send then; `record` gets the round trips.
    fn serve(
        &mut self,
        number: usize,
        is_readable: bool,
        run: &mut Run,
        mut record: impl FnMut(&mut Run, u64, u64, u64),
    ) -> Result<(), ClientError> {
        if is_readable {
            let most = self.most_read_bytes(number);
            let buffer = &mut self.buffer[..most];
            let received = self.workers[number]
                .receive(&self.pool, buffer, |begun_ns, value_ns, count| {
                    record(run, begun_ns, value_ns, count);
                })
                .map_err(of_worker(number))?;
            let now_ns = if let Some((at_ns, ended)) = received {
                run.exchange.reads += 1;
                run.last_ns = at_ns;
                run.exchange.messages += ended.messages;
                run.exchange.in_flight_ns += ended.round_trips_ns;
                run.left -= ended.messages;
                at_ns
            } else {
                // Also then, for events without bytes must not go on for ever.
                monotonic_ns()
            };
            if run.is_draining() {
                self.workers[number]
                    .acknowledge()
                    .map_err(of_worker(number))?;
            }
            self.look_at_the_clock(now_ns, run)?;
        } else {
            // A server that takes bytes and answers none must not go on for ever.
            self.look_at_the_clock(monotonic_ns(), run)?;
        }
        run.exchange.writes += self.send(number)?;
        Ok(())
    }

    fn most_read_bytes(&self, number: usize) -> usize {
        if !self.is_trusting {
            return READ_BYTES;
        }
        // Like the clients that this one stands for, leave any further bytes to the next message.
        let outstanding = self.workers[number].echoes.outstanding_bytes();
        usize::try_from(outstanding).map_or(READ_BYTES, |bytes| bytes.min(READ_BYTES))
    }

    fn look_at_the_clock(&mut self, now_ns: u64, run: &mut Run) -> Result<(), ClientError> {
        if now_ns >= run.give_up_ns {
            return Err(self.silent());
        }
        if run.has_settled(now_ns) {
            run.begin_anew(&self.workers, now_ns);
        }
        if run.must_stop(now_ns) {
            self.stop(run)?;
        }
        Ok(())
    }

    /// Begin no more messages in this run or slice.
    fn stop(&mut self, run: &mut Run) -> Result<(), ClientError> {
        run.stop(&self.workers);
        for (number, worker) in self.workers.iter_mut().enumerate() {
            worker.echoes.stop();
            if run.is_draining() {
                worker.acknowledge().map_err(of_worker(number))?;
            }
        }
        run.left = left_messages(&self.workers);
        Ok(())
    }

    fn send(&mut self, number: usize) -> Result<u64, ClientError> {
        let worker = &mut self.workers[number];
        let sent = worker.send(&self.pool, &self.epoll);
        let is_over = self.is_trusting && worker.echoes.is_done();
        let sent = match sent {
            Ok(_) if is_over => {
                // Further bytes are not read, and epoll would report them without end.
                let unwatched = worker.watch(&self.epoll, None);
                unwatched.map_err(|error| worker.failed(error)).and(sent)
            }
            sent => sent,
        };
        sent.map_err(of_worker(number))
    }

    /// The error when time is up: it names the first worker that still waits.
    fn silent(&self) -> ClientError {
        let mut workers = self.workers.iter();
        let number = workers
            .position(|worker| !worker.echoes.is_done())
            .unwrap_or(0);
        of_worker(number)(self.workers[number].silent())
    }

    fn broken(&self, number: usize, error: io::Error) -> ClientError {
        of_worker(number)(self.workers[number].failed(error))
    }
}

fn of_worker(number: usize) -> impl Fn(Fault) -> ClientError {
    move |fault| ClientError {
        worker: number,
        fault,
    }
}
