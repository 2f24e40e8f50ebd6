//! The thread that writes for all connections of a process: started by the first message that is
//! held, started anew after a fork, asleep while nothing is held.

use super::{
    failure::{Failure, FlushError},
    handoff::Handoff,
    served::{NextVisit, Served},
};
use crate::{
    clock::monotonic_ns,
    epoll::{Epoll, For},
    process::{self, Generation, with_signals_blocked},
    timer::TimerFd,
};
use rustix::event::{EventfdFlags, eventfd};
use std::{
    collections::{BTreeSet, HashMap},
    fs::File,
    io::{self, Read, Write},
    mem::take,
    os::fd::{AsRawFd, RawFd},
    ptr,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicPtr, AtomicU8, Ordering},
    },
};

const MOST_UNTOLD: usize = 100;
const POISONED: &str = "nobody panics while it is locked";

/// The fate of a new writer: its thread runs only if the writer was published.
const UNDECIDED: u8 = 0;
const PUBLISHED: u8 = 1;
const GIVEN_UP: u8 = 2;

/// The process's writer; in a child process that has not sent yet, its parent's.
static WRITER: AtomicPtr<Writer> = AtomicPtr::new(ptr::null_mut());

/// The writing thread as senders see it.
pub(super) struct Writer {
    generation: Generation,
    handoff: Handoff<Arc<dyn Served>>,
    /// An eventfd that wakes the thread.
    wake: File,
    /// Every connection that the thread ever wrote for.
    known: Mutex<Vec<Weak<dyn Served>>>,
    /// The failures of dropped connections that no caller was told: `flush_all` returns them.
    untold: Mutex<Vec<Failure>>,
}

impl Writer {
    /// The process's writer, started if there is none.
    ///
    /// # Errors
    /// When the kernel has no thread or no descriptors to give.
    pub(super) fn get() -> io::Result<&'static Self> {
        let writer = WRITER.load(Ordering::Acquire);
        match Self::of_this_process(writer) {
            Some(writer) => Ok(writer),
            None => Self::start(writer),
        }
    }

    /// The process's writer, if it has one.
    pub(super) fn current() -> Option<&'static Self> {
        Self::of_this_process(WRITER.load(Ordering::Acquire))
    }

    fn of_this_process(writer: *mut Self) -> Option<&'static Self> {
        // SAFETY: no writer that WRITER points to, or ever pointed to, is freed.
        let writer = unsafe { writer.as_ref() };
        writer.filter(|writer| !writer.generation.is_past())
    }

    #[cold]
    fn start(current: *mut Self) -> io::Result<&'static Self> {
        let epoll = Epoll::new()?;
        let wake = event_fd()?;
        let timer = TimerFd::new()?;
        epoll.watch(wake.as_raw_fd(), For::Reading)?;
        epoll.watch(timer.as_raw_fd(), For::Reading)?;
        let mine = Box::into_raw(Box::new(Self {
            generation: Generation::current(),
            handoff: Handoff::new(),
            wake,
            known: Mutex::new(Vec::new()),
            untold: Mutex::new(Vec::new()),
        }));
        // SAFETY: the writer is freed only below, where its thread has ended or was never started.
        let writer: &'static Self = unsafe { &*mine };
        let thread = Thread {
            writer,
            epoll,
            timer,
            due: BTreeSet::new(),
            timed: HashMap::new(),
            blocked: HashMap::new(),
        };
        // The thread runs only if this writer is published: another sender may be first.
        let fate = Arc::new(AtomicU8::new(UNDECIDED));
        let of_thread = Arc::clone(&fate);
        // The program's own threads handle its signals.
        let started = with_signals_blocked(|| {
            std::thread::Builder::new()
                .name("tinygram-writer".into())
                .spawn(move || {
                    while of_thread.load(Ordering::Acquire) == UNDECIDED {
                        std::thread::park();
                    }
                    if of_thread.load(Ordering::Acquire) == PUBLISHED {
                        thread.run();
                    }
                })
        });
        let handle = match started {
            Ok(handle) => handle,
            Err(error) => {
                // SAFETY: `mine` was made above, and its thread was never started.
                drop(unsafe { Box::from_raw(mine) });
                return Err(error);
            }
        };
        let published = WRITER.compare_exchange(current, mine, Ordering::AcqRel, Ordering::Acquire);
        let decided = if published.is_ok() {
            PUBLISHED
        } else {
            GIVEN_UP
        };
        fate.store(decided, Ordering::Release);
        handle.thread().unpark();
        match published {
            Ok(_) => Ok(writer),
            Err(theirs) => {
                handle.join().expect("it has done nothing");
                // SAFETY: `mine` was made above, was never published, and its thread has ended.
                drop(unsafe { Box::from_raw(mine) });
                // SAFETY: the writer that WRITER points to is never freed.
                Ok(unsafe { &*theirs })
            }
        }
    }

    /// Keep a failure that no caller was told. People read these, so only [`MOST_UNTOLD`] are kept.
    pub(super) fn keep_untold(&self, failure: Option<Failure>) {
        let mut untold = self.untold.lock().expect(POISONED);
        if untold.len() < MOST_UNTOLD {
            untold.extend(failure);
        }
    }

    /// Remember the connection for as long as it lives.
    pub(super) fn know(&self, connection: Weak<dyn Served>) {
        let mut known = self.known.lock().expect(POISONED);
        if known.len() == known.capacity() {
            known.retain(|one| one.strong_count() > 0);
        }
        known.push(connection);
    }

    /// Wait until all connections have written what they held; returns why some have not, and the
    /// failures that were kept.
    pub(super) fn flush_all(&self, until_ns: u64) -> Vec<FlushError> {
        let mut living: Vec<_> = {
            let known = self.known.lock().expect(POISONED);
            known.iter().filter_map(Weak::upgrade).collect()
        };
        living.retain(|connection| connection.has_loose_ends());
        // All at once: one peer that takes nothing must not use up the others' time.
        for connection in &living {
            Arc::clone(connection).hurry_all();
        }
        let mut errors: Vec<_> = living
            .into_iter()
            .filter_map(|connection| connection.flush_all(until_ns).err())
            .collect();
        let untold = take(&mut *self.untold.lock().expect(POISONED));
        errors.extend(untold.into_iter().map(FlushError::from));
        errors
    }

    /// Have the thread look at the connection.
    pub(super) fn notify(&self, connection: Arc<dyn Served>) -> io::Result<()> {
        if self.handoff.add(connection) {
            (&self.wake).write_all(&1u64.to_ne_bytes())?;
        }
        Ok(())
    }
}

/// The state that only the thread itself uses.
struct Thread {
    writer: &'static Writer,
    epoll: Epoll,
    timer: TimerFd,
    /// The times at which holds end, with their connections' descriptors; then those connections by
    /// descriptor.
    due: BTreeSet<(u64, RawFd)>,
    timed: HashMap<RawFd, (u64, Arc<dyn Served>)>,
    /// Connections whose peer takes nothing, by descriptor.
    blocked: HashMap<RawFd, Arc<dyn Served>>,
}

impl Thread {
    fn run(mut self) {
        process::let_wakes_preempt_nobody();
        let mut to_visit = Vec::new();
        loop {
            if !self.writer.handoff.take_or_sleep(&mut to_visit) {
                self.set_timer();
                self.wait(-1, &mut to_visit);
            } else if !self.blocked.is_empty() {
                self.wait(0, &mut to_visit);
            }
            self.take_due(&mut to_visit);
            for connection in take(&mut to_visit) {
                self.visit(connection, &mut to_visit);
            }
        }
    }

    fn visit(&mut self, connection: Arc<dyn Served>, again: &mut Vec<Arc<dyn Served>>) {
        let fd = connection.fd();
        match connection.write_due() {
            NextVisit::Rest => self.forget(fd),
            NextVisit::Again => again.push(connection),
            NextVisit::At(at_ns) => {
                self.forget(fd);
                self.due.insert((at_ns, fd));
                self.timed.insert(fd, (at_ns, connection));
            }
            NextVisit::WhenWritable => {
                if !self.blocked.contains_key(&fd) {
                    if let Err(error) = self.epoll.watch(fd, For::Writing) {
                        // No memory, or too many watches: this ends the connection, not the thread.
                        connection.give_up(&error);
                        self.forget(fd);
                        return;
                    }
                }
                self.blocked.insert(fd, connection);
            }
        }
    }

    fn forget(&mut self, fd: RawFd) {
        if let Some((at_ns, _)) = self.timed.remove(&fd) {
            self.due.remove(&(at_ns, fd));
        }
        if self.blocked.remove(&fd).is_some() {
            self.epoll.unwatch(fd);
        }
    }

    fn take_due(&mut self, to_visit: &mut Vec<Arc<dyn Served>>) {
        if self.due.is_empty() {
            return;
        }
        let now_ns = monotonic_ns();
        while let Some(&(at_ns, fd)) = self.due.first() {
            if at_ns > now_ns {
                break;
            }
            self.due.pop_first();
            to_visit.extend(self.timed.remove(&fd).map(|(_, connection)| connection));
        }
    }

    fn set_timer(&self) {
        if let Some(&(at_ns, _)) = self.due.first() {
            self.timer.set(at_ns).expect("a timer can be set");
        }
    }

    /// Wait for senders, the timer and peers that take bytes again.
    fn wait(&mut self, timeout_ms: i32, to_visit: &mut Vec<Arc<dyn Served>>) {
        for index in 0..self.epoll.wait(timeout_ms).unwrap_or(0) {
            let ready = self.epoll.ready(index);
            if let Some(connection) = self.blocked.remove(&ready.fd) {
                self.epoll.unwatch(ready.fd);
                to_visit.push(connection);
            } else if ready.fd == self.timer.as_raw_fd() {
                let _ = self.timer.take();
            } else {
                let _ = (&self.writer.wake).read(&mut [0; 8]);
            }
        }
    }
}

fn event_fd() -> io::Result<File> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?.into())
}
