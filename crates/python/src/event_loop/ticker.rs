use super::asked_loop::AskedLoop;
use crate::{
    errors::{OrOsError, os_error},
    gil::GilCell,
};
use pyo3::{
    PyClass, PyTraverseError, PyVisit, exceptions::PyException, prelude::*,
    pyclass::boolean_struct::True,
};
use std::{
    io::ErrorKind,
    mem::{replace, take},
    os::fd::{AsRawFd, RawFd},
};
use tinygram_core::Reason;
use tinygram_net::{clock::monotonic_ns, epoll, timer::TimerFd};

/// A connection of an event loop, as its ticker sees it.
pub trait Ticked: Sync {
    /// An iteration ends, or a deadline has come.
    fn on_tick(&self, py: Python<'_>, tick: Tick) -> AfterTick;
    /// Write what is held; `is_running`: the loop makes this call, so it is not closed. Returns whether
    /// Python code was called.
    fn write_out(&self, py: Python<'_>, reason: Reason, is_running: bool) -> PyResult<bool>;
    /// When the next tick is due; `None`: nothing waits for a time.
    fn deadline_ns(&self, py: Python<'_>) -> Option<u64>;
    /// Note that the connection waits for a tick, if it waits for nothing and its strategy must be told
    /// when the iteration ends. Returns whether the caller must arm it.
    fn arm_for_tick(&self, py: Python<'_>) -> bool;
    /// The connection no longer waits for a tick.
    fn disarm(&self, py: Python<'_>);
    /// Let the socket close that the connection keeps open, if there is nothing to write.
    fn let_close(&self, py: Python<'_>) -> PyResult<()>;
}

/// Descriptors that are ready, and for what: 1 for reading + 2 for writing. `None`: there are none.
type Events = Option<Vec<(RawFd, u8)>>;

/// An iteration's end, or a deadline.
#[derive(Clone, Copy)]
pub struct Tick {
    pub now_ns: u64,
    /// How many connections are told of this tick.
    pub connections: usize,
    /// Whether the loop has nothing else to do.
    pub will_block: bool,
}

/// What a connection does after a tick.
pub enum AfterTick {
    Write(Reason),
    /// Its next tick is due when the next iteration ends.
    WaitForTick,
    /// Its next tick is due at its deadline.
    WaitForTime,
    /// It holds nothing that a tick could end.
    Rest,
}

/// A connection that waits for a tick, whatever its class: a ticker does not know the classes.
struct Waiting {
    object: Py<PyAny>,
    as_ticked: for<'a> fn(&'a Py<PyAny>, Python<'a>) -> &'a dyn Ticked,
}

impl Waiting {
    fn new<T: Ticked + PyClass<Frozen = True>>(connection: Py<T>) -> Self {
        Self {
            object: connection.into_any(),
            as_ticked: |object, py| {
                let object = object.bind(py);
                object.cast::<T>().expect("it is what it was made of").get()
            },
        }
    }

    fn get<'a>(&'a self, py: Python<'a>) -> &'a dyn Ticked {
        (self.as_ticked)(&self.object, py)
    }

    /// Report an error of a write: one connection's failure must not keep the others' bytes back.
    /// KeyboardInterrupt and SystemExit are left in `end`: the caller raises them when all connections
    /// are served. Returns whether Python code was called.
    #[inline]
    fn report(&self, py: Python<'_>, written: PyResult<bool>, end: &mut PyResult<()>) -> bool {
        written.unwrap_or_else(|error| {
            if error.is_instance_of::<PyException>(py) || end.is_err() {
                error.write_unraisable(py, Some(self.object.bind(py)));
            } else {
                *end = Err(error);
            }
            true
        })
    }

    fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            object: self.object.clone_ref(py),
            ..*self
        }
    }
}

/// The connections of one event loop that hold something, and what ends their holds: the end of an
/// iteration, or one timer for all of them.
#[pyclass(frozen, weakref, module = "tinygram._native")]
pub struct Ticker {
    /// The loop, if it does not tell us when an iteration ends: it is asked to call us in the next one.
    asked_loop: Option<AskedLoop>,
    /// What a loop that tells us waits with.
    epoll_fd: RawFd,
    state: GilCell<State>,
}

#[derive(Default)]
struct State {
    is_scheduled: bool,
    /// The connections that wait for the end of the iteration.
    armed: Vec<Waiting>,
    /// Empty memory for the connections that wait for the end of the next iteration.
    spare: Vec<Waiting>,
    /// The connections that wait for a time.
    timed: Vec<Waiting>,
    /// Whether a connection in `timed` may be due sooner than when it began to wait.
    has_sooner: bool,
    timer: Option<TimerFd>,
    timer_at_ns: Option<u64>,
}

#[pymethods]
impl Ticker {
    #[new]
    #[pyo3(signature = (asked_loop=None, epoll_fd=-1))]
    fn new(asked_loop: Option<&Bound<'_, PyAny>>, epoll_fd: RawFd) -> PyResult<Self> {
        Ok(Self {
            asked_loop: asked_loop.map(AskedLoop::new).transpose()?,
            epoll_fd,
            state: GilCell::new(State::default()),
        })
    }

    #[getter]
    fn has_timer(&self, py: Python<'_>) -> bool {
        self.state.borrow(py).timer.is_some()
    }

    /// The descriptor that the loop must watch: when it is readable, call `on_timer()`.
    fn timer_fd(&self, py: Python<'_>) -> PyResult<RawFd> {
        let mut state = self.state.borrow(py);
        if state.timer.is_none() {
            state.timer = Some(TimerFd::new().or_os_error()?);
        }
        Ok(state.timer.as_ref().expect("just made").as_raw_fd())
    }

    /// An iteration ends, and the loop may have more to do. The loop calls the ticker itself: a bound
    /// method would be made for each call, or, if it were kept, keep the ticker alive.
    fn __call__(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.get().state.borrow(slf.py()).is_scheduled = false;
        let ended = slf.get().end_iteration(slf.py(), false);
        if slf.get().is_armed(slf.py()) {
            Self::want_tick(slf)?;
        }
        ended.map(drop)
    }

    /// An iteration ends, and the loop has more to do. Returns the descriptors that are ready: (descriptor,
    /// 1 for reading + 2 for writing), or None.
    fn poll(&self, py: Python<'_>) -> PyResult<Events> {
        if self.is_armed(py) {
            self.end_iteration(py, false)?;
        }
        self.ready()
    }

    /// An iteration ends. Waits until descriptors are ready, for `timeout_s` seconds at most (`None`: as
    /// long as it takes), and returns them like `poll`.
    #[pyo3(signature = (timeout_s, /))]
    fn select(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<Events> {
        let mut timeout_ms = timeout_s.map_or(-1, milliseconds);
        let had_calls = self.is_armed(py) && self.end_iteration(py, timeout_ms != 0)?;
        if timeout_ms == 0 || had_calls || self.is_armed(py) {
            return self.ready();
        }
        let until_ns = u64::try_from(timeout_ms)
            .map_or(u64::MAX, |ms| monotonic_ns().saturating_add(ms * 1_000_000));
        loop {
            match py.detach(|| epoll::wait(self.epoll_fd, timeout_ms)) {
                Ok(ready) => return Ok(events(&ready)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {
                    py.check_signals()?;
                    if self.is_armed(py) {
                        // A signal handler sent a message: return, so that an iteration writes it now.
                        return Ok(None);
                    }
                }
                Err(error) => return Err(os_error(error)),
            }
            // A wait goes on unless a handler ended it (PEP 475).
            if timeout_ms > 0 {
                let left_ns = until_ns.saturating_sub(monotonic_ns());
                timeout_ms = left_ns.div_ceil(1_000_000) as i32;
            }
        }
    }

    /// The timer has expired.
    fn on_timer(&self, py: Python<'_>) -> PyResult<()> {
        let mut timed = {
            let mut state = self.state.borrow(py);
            if let Some(timer) = &state.timer {
                timer.take().or_os_error()?;
            }
            state.timer_at_ns = None;
            state.has_sooner = false;
            take(&mut state.timed)
        };
        // Connections that must wait longer wait for the timer again.
        self.serve(py, &mut timed, true).map(drop)
    }

    /// Write all that is held, whatever its connections wait for.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let mut held = take(&mut self.state.borrow(py).armed);
        held.append(&mut self.state.borrow(py).timed);
        let mut end = Ok(());
        for connection in &held {
            let ticked = connection.get(py);
            ticked.disarm(py);
            connection.report(py, ticked.write_out(py, Reason::Asked, false), &mut end);
        }
        end
    }

    /// In a child process: let the sockets close that are open only because of what the parent holds.
    fn let_close(&self, py: Python<'_>) -> PyResult<()> {
        let held: Vec<_> = {
            let state = self.state.borrow(py);
            let all = state.armed.iter().chain(&state.timed);
            all.map(|connection| connection.clone_ref(py)).collect()
        };
        held.iter()
            .try_for_each(|connection| connection.get(py).let_close(py))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(asked_loop) = &self.asked_loop {
            asked_loop.traverse(&visit)?;
        }
        if let Some(state) = self.state.try_borrow() {
            for connection in state.armed.iter().chain(&state.timed) {
                visit.call(&connection.object)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        if let Some(mut state) = self.state.try_borrow() {
            let held = (take(&mut state.armed), take(&mut state.timed));
            // Dropping `held` may call Python code.
            drop(state);
            drop(held);
        }
    }
}

impl Ticker {
    /// Tick this connection when the iteration ends.
    pub fn arm<T: Ticked + PyClass<Frozen = True>>(
        slf: &Bound<'_, Self>,
        connection: Py<T>,
    ) -> PyResult<()> {
        let waiting = Waiting::new(connection);
        slf.get().state.borrow(slf.py()).armed.push(waiting);
        Self::want_tick(slf)
    }

    /// When the iteration ends, also tick the connections that wait for a time: one of them is due sooner
    /// by now. This happens once per iteration at most, however many messages came in it.
    pub fn look_again(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.get().state.borrow(slf.py()).has_sooner = true;
        Self::want_tick(slf)
    }

    /// Whether the ticker knows when the loop is about to wait.
    pub fn tells_rests(&self) -> bool {
        self.asked_loop.is_none()
    }

    fn want_tick(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let Some(asked_loop) = &slf.get().asked_loop else {
            return Ok(());
        };
        if replace(&mut slf.get().state.borrow(py).is_scheduled, true) {
            return Ok(());
        }
        asked_loop.call_soon(slf.as_any()).inspect_err(|_| {
            slf.get().state.borrow(py).is_scheduled = false;
        })
    }

    /// What is ready now.
    fn ready(&self) -> PyResult<Events> {
        Ok(events(&epoll::wait(self.epoll_fd, 0).or_os_error()?))
    }

    /// Whether there is something to do when the iteration ends.
    fn is_armed(&self, py: Python<'_>) -> bool {
        let state = self.state.borrow(py);
        state.has_sooner || !state.armed.is_empty()
    }

    /// Tick the connections that wait for the iteration's end. `will_block`: the loop has nothing else to
    /// do. Returns whether Python code was called, which may have given the loop something to do.
    fn end_iteration(&self, py: Python<'_>, will_block: bool) -> PyResult<bool> {
        let mut waiting = {
            let mut state = self.state.borrow(py);
            let spare = take(&mut state.spare);
            let mut waiting = replace(&mut state.armed, spare);
            if take(&mut state.has_sooner) {
                waiting.append(&mut state.timed);
            }
            waiting
        };
        let ended = self.serve(py, &mut waiting, will_block);
        self.state.borrow(py).spare = waiting;
        ended
    }

    /// Tick each connection, and keep those that hold on; none is left in `waiting`.
    fn serve(
        &self,
        py: Python<'_>,
        waiting: &mut Vec<Waiting>,
        will_block: bool,
    ) -> PyResult<bool> {
        let tick = Tick {
            now_ns: monotonic_ns(),
            connections: waiting.len(),
            will_block,
        };
        let mut called_python = false;
        let mut has_timed = false;
        let mut end = Ok(());
        for connection in waiting.drain(..) {
            let ticked = connection.get(py);
            match ticked.on_tick(py, tick) {
                AfterTick::Write(reason) => {
                    let written = ticked.write_out(py, reason, true);
                    called_python |= connection.report(py, written, &mut end);
                    if ticked.arm_for_tick(py) {
                        self.state.borrow(py).armed.push(connection);
                    }
                }
                AfterTick::WaitForTime => {
                    self.state.borrow(py).timed.push(connection);
                    has_timed = true;
                }
                AfterTick::WaitForTick => self.state.borrow(py).armed.push(connection),
                AfterTick::Rest => {}
            }
        }
        if has_timed {
            self.set_timer(py)?;
        }
        end.map(|()| called_python)
    }

    fn set_timer(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.state.borrow(py);
        let timed = state.timed.iter();
        let deadlines = timed.filter_map(|connection| connection.get(py).deadline_ns(py));
        let is_sooner = |at_ns: &u64| state.timer_at_ns.is_none_or(|set_ns| *at_ns < set_ns);
        let sooner_ns = deadlines.min().filter(is_sooner);
        if let (Some(at_ns), Some(timer)) = (sooner_ns, &state.timer) {
            timer.set(at_ns).or_os_error()?;
            state.timer_at_ns = Some(at_ns);
        }
        Ok(())
    }
}

/// The timeout in milliseconds, rounded up as `selectors` does; a week at most, for an iteration a week
/// is no burden.
fn milliseconds(timeout_s: f64) -> i32 {
    const WEEK_MS: f64 = 7.0 * 86_400e3;
    (timeout_s * 1e3).ceil().clamp(0.0, WEEK_MS) as i32
}

fn events(ready: &[epoll::Ready]) -> Events {
    let told = |one: &epoll::Ready| u8::from(one.is_readable) + 2 * u8::from(one.is_writable);
    let all = ready.iter().map(|one| (one.fd, told(one)));
    (!ready.is_empty()).then(|| all.collect())
}
