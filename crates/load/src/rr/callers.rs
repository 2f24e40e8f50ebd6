//! All callers of a process: a thread each, or one for those that share a connection, or have one each
//! without a thread for it. They get ready,
//! start together, and are waited for.

use super::{
    caller::Caller,
    error::CallError,
    many::Many,
    options::{CallOptions, Connections},
    pipeline::Pipeline,
    tally::Tally,
};
use crate::{
    messages::CallContent,
    process::set_exact_timers,
    schedule::{Agenda, Span},
};
use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};
use tinygram_net::{clock::monotonic_ns, process::with_signals_blocked};

const STACK_BYTES: usize = 256 << 10;

/// Callers that are connected, have warmed up, and wait for their start.
#[derive(Debug)]
pub struct Callers {
    shared: Arc<Shared>,
    threads: usize,
}

#[derive(Debug)]
struct Shared {
    options: CallOptions,
    content: CallContent,
    state: Mutex<State>,
    has_changed: Condvar,
    is_stopped: AtomicBool,
}

/// When callers call: in these spans, and at a rate only when a call of theirs is due.
#[derive(Debug)]
struct Work {
    spans: Vec<Span>,
    agenda: Option<Agenda>,
}

#[derive(Debug, Default)]
struct State {
    ready: usize,
    work: Option<Arc<Work>>,
    done: usize,
    failed: usize,
    first_failure: Option<CallError>,
    warm_up: Tally,
    tally: Tally,
}

impl Callers {
    /// Connect and warm up, until `give_up_ns` at most.
    ///
    /// # Errors
    /// [`CallError`]; nobody calls any more then.
    pub fn prepare(
        options: CallOptions,
        content: CallContent,
        give_up_ns: u64,
    ) -> Result<Self, CallError> {
        let threads = match options.connections {
            Connections::Shared { .. } | Connections::Many { .. } => 1,
            Connections::PerRequest | Connections::PerCaller => options.callers,
        };
        let callers = Self {
            shared: Arc::new(Shared {
                options,
                content,
                state: Mutex::default(),
                has_changed: Condvar::new(),
                is_stopped: AtomicBool::new(false),
            }),
            threads,
        };
        for number in 0..threads {
            let shared = Arc::clone(&callers.shared);
            let thread = thread::Builder::new().stack_size(STACK_BYTES);
            let started = with_signals_blocked(|| thread.spawn(move || shared.run(number)));
            started.map_err(|error| CallError::Thread(error.to_string()))?;
        }
        callers.wait(give_up_ns, |state| state.ready)?;
        Ok(callers)
    }

    /// How long a call took in the warm-up on average, in nanoseconds; 0 where there was none.
    pub fn warm_up_call_ns(&self) -> u64 {
        let warm_up = &self.shared.lock().warm_up;
        warm_up.call_time_ns.checked_div(warm_up.calls).unwrap_or(0)
    }

    /// Let them call in these spans, and wait until all have ended, however long a reply takes.
    ///
    /// # Errors
    /// [`CallError`], the first of several failures and how many there were.
    pub fn run(self, spans: &[Span]) -> Result<Tally, CallError> {
        self.work(spans, None)
    }

    /// The same, where each call is begun when it is due, or as soon after that as its caller has the reply
    /// to the call before.
    ///
    /// # Errors
    /// The same as those of [`Callers::run`].
    pub fn run_at_a_rate(self, spans: &[Span], agenda: Agenda) -> Result<Tally, CallError> {
        self.work(spans, Some(agenda))
    }

    fn work(self, spans: &[Span], agenda: Option<Agenda>) -> Result<Tally, CallError> {
        let spans = spans.to_vec();
        self.shared.lock().work = Some(Arc::new(Work { spans, agenda }));
        self.shared.has_changed.notify_all();
        self.wait(u64::MAX, |state| state.done)?;
        let tally = std::mem::take(&mut self.shared.lock().tally);
        Ok(tally)
    }

    /// Wait until `count` of the state is that of all threads.
    fn wait(&self, give_up_ns: u64, count: impl Fn(&State) -> usize) -> Result<(), CallError> {
        let mut state = self.shared.lock();
        while count(&state) + state.failed < self.threads {
            let left_ns = give_up_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                return Err(state.first_failure.take().unwrap_or(CallError::TimedOut {
                    done: count(&state),
                    threads: self.threads,
                }));
            }
            let waited = self
                .shared
                .has_changed
                .wait_timeout(state, Duration::from_nanos(left_ns));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        match state.first_failure.take() {
            None => Ok(()),
            Some(only) if state.failed == 1 => Err(only),
            Some(first) => Err(CallError::Several {
                failed: state.failed,
                threads: self.threads,
                first: Box::new(first),
            }),
        }
    }
}

impl Drop for Callers {
    /// Whoever still waits, or calls, ends at its next call.
    fn drop(&mut self) {
        self.shared.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        // Under the lock, so that nobody looks before and waits after.
        let _state = self.lock();
        self.is_stopped.store(true, Relaxed);
        self.has_changed.notify_all();
    }

    /// What each thread does.
    fn run(&self, number: usize) {
        let (options, content, is_stopped) = (&self.options, &self.content, &self.is_stopped);
        let outcome = match options.connections {
            Connections::Shared { depth } => Pipeline::prepare(options, content, depth, is_stopped)
                .and_then(|(ready, warm_up)| {
                    self.started(&warm_up, |work| {
                        ready.run(&work.spans, work.agenda.clone(), is_stopped)
                    })
                }),
            Connections::Many { is_ring } => Many::prepare(options, content, is_ring, is_stopped)
                .and_then(|(ready, warm_up)| {
                    self.started(&warm_up, |work| {
                        ready.run(&work.spans, work.agenda.clone(), is_stopped)
                    })
                }),
            Connections::PerRequest | Connections::PerCaller => Caller::prepare(options, content)
                .and_then(|(ready, warm_up)| {
                    self.started(&warm_up, |work| match &work.agenda {
                        None => ready.run(&work.spans, is_stopped),
                        Some(agenda) => {
                            ready.run_at_a_rate(&work.spans, agenda.of(number), is_stopped)
                        }
                    })
                }),
        };
        let mut state = self.lock();
        match outcome {
            Ok(tally) => {
                state.tally.merge(&tally);
                state.done += 1;
            }
            Err(error) => {
                state.failed += 1;
                state.first_failure.get_or_insert(error);
                // The others' figures would be those of fewer callers.
                self.is_stopped.store(true, Relaxed);
            }
        }
        self.has_changed.notify_all();
    }

    /// Say that one is ready, wait for the start, and call; nothing where it never comes.
    fn started(
        &self,
        warm_up: &Tally,
        call: impl FnOnce(&Work) -> Result<Tally, CallError>,
    ) -> Result<Tally, CallError> {
        let mut state = self.lock();
        state.warm_up.merge(warm_up);
        state.ready += 1;
        self.has_changed.notify_all();
        let work = loop {
            if self.is_stopped.load(Relaxed) {
                return Ok(Tally::default());
            }
            if let Some(work) = &state.work {
                break Arc::clone(work);
            }
            let waited = self.has_changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        // A call that is due must not wait for the kernel to gather timers.
        set_exact_timers(work.agenda.is_some());
        call(&work)
    }
}

#[cfg(test)]
mod tests;
