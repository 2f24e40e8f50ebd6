use crate::outbox::Outbox;
use pyo3::{PyTraverseError, PyVisit, prelude::*};
use std::os::fd::{AsRawFd, RawFd};
use tinygram_core::{Next, Reason};
use tinygram_net::{clock::monotonic_ns, timer::TimerFd};

/// The connections of one event loop that hold something, and what ends their holds: the end of an
/// iteration, or one timer for all of them.
#[pyclass(module = "tinygram._native")]
pub struct Ticker {
    /// `call_soon(tick)` of a loop that does not tell us when its iteration ends.
    schedule: Option<Py<PyAny>>,
    is_scheduled: bool,
    armed: Vec<Py<Outbox>>,
    /// Those that wait for a time.
    timed: Vec<Py<Outbox>>,
    timer: Option<TimerFd>,
    timer_at_ns: Option<u64>,
}

#[pymethods]
impl Ticker {
    #[new]
    fn new() -> Self {
        Self {
            schedule: None,
            is_scheduled: false,
            armed: Vec::new(),
            timed: Vec::new(),
            timer: None,
            timer_at_ns: None,
        }
    }

    /// Call `schedule()` whenever a `tick()` is wanted in the loop's next iteration.
    fn schedule_with(&mut self, schedule: Py<PyAny>) {
        self.schedule = Some(schedule);
    }

    #[getter]
    fn is_armed(&self) -> bool {
        !self.armed.is_empty()
    }

    #[getter]
    fn has_timer(&self) -> bool {
        self.timer.is_some()
    }

    /// The descriptor that the loop is to watch, and to call `on_timer()` when it is readable.
    fn timer_fd(&mut self) -> PyResult<RawFd> {
        if self.timer.is_none() {
            self.timer = Some(TimerFd::new()?);
        }
        Ok(self.timer.as_ref().expect("just made").as_raw_fd())
    }

    /// An iteration ends. Whether Python code was called, so that the loop may have more to do.
    #[pyo3(signature = (will_block=false))]
    fn tick(slf: &Bound<'_, Self>, will_block: bool) -> PyResult<bool> {
        let mut this = slf.borrow_mut();
        this.is_scheduled = false;
        let armed = std::mem::take(&mut this.armed);
        drop(this);
        let called_python = Self::serve(slf, armed, will_block);
        Self::set_timer(slf)?;
        let wants_tick = !slf.borrow().armed.is_empty();
        if wants_tick {
            Self::want_tick(slf)?;
        }
        Ok(called_python)
    }

    /// Write all that is held, whatever it waits for.
    fn flush(slf: &Bound<'_, Self>) {
        let mut this = slf.borrow_mut();
        let mut held = std::mem::take(&mut this.armed);
        held.append(&mut this.timed);
        drop(this);
        for outbox in &held {
            let outbox = outbox.bind(slf.py());
            let mut this = outbox.borrow_mut();
            this.is_armed = false;
            this.forget_after_fork();
            drop(this);
            write_reporting(outbox, Reason::Asked);
        }
    }

    /// The timer's time has come.
    fn on_timer(slf: &Bound<'_, Self>) -> PyResult<()> {
        let mut this = slf.borrow_mut();
        if let Some(timer) = &this.timer {
            timer.take()?;
        }
        this.timer_at_ns = None;
        let timed = std::mem::take(&mut this.timed);
        drop(this);
        Self::serve(slf, timed, false);
        Self::set_timer(slf)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.schedule)?;
        for outbox in self.armed.iter().chain(&self.timed) {
            visit.call(outbox)?;
        }
        Ok(())
    }

    fn __clear__(&mut self) {
        self.schedule = None;
        self.armed.clear();
        self.timed.clear();
    }
}

impl Ticker {
    /// Tick this outbox when the iteration ends.
    pub fn arm(slf: &Bound<'_, Self>, outbox: Bound<'_, Outbox>) -> PyResult<()> {
        slf.borrow_mut().armed.push(outbox.unbind());
        Self::want_tick(slf)
    }

    fn want_tick(slf: &Bound<'_, Self>) -> PyResult<()> {
        let mut this = slf.borrow_mut();
        if this.is_scheduled {
            return Ok(());
        }
        let Some(schedule) = &this.schedule else {
            return Ok(());
        };
        let schedule = schedule.clone_ref(slf.py());
        this.is_scheduled = true;
        drop(this);
        schedule.call0(slf.py()).map(drop)
    }

    /// Tick each, keep those that hold on. Whether Python code was called.
    fn serve(slf: &Bound<'_, Self>, outboxes: Vec<Py<Outbox>>, will_block: bool) -> bool {
        let py = slf.py();
        let now_ns = monotonic_ns();
        let mut called_python = false;
        for outbox in outboxes {
            let bound = outbox.bind(py);
            let mut this = bound.borrow_mut();
            this.forget_after_fork();
            let next = this.coalescer.on_tick(now_ns, will_block);
            if let Next::Write(reason) = next {
                this.is_armed = false;
                drop(this);
                called_python |= write_reporting(bound, reason);
            } else if this.coalescer.deadline_ns().is_none() {
                this.is_armed = false;
            } else {
                let waits_for_time = this.coalescer.waits_for_time();
                drop(this);
                let mut ticker = slf.borrow_mut();
                if waits_for_time {
                    ticker.timed.push(outbox);
                } else {
                    ticker.armed.push(outbox);
                }
            }
        }
        called_python
    }

    fn set_timer(slf: &Bound<'_, Self>) -> PyResult<()> {
        let mut this = slf.borrow_mut();
        let deadlines = this.timed.iter().filter_map(|outbox| {
            let outbox = outbox.borrow(slf.py());
            outbox.coalescer.deadline_ns()
        });
        let Some(at_ns) = deadlines.min() else {
            return Ok(());
        };
        if this.timer_at_ns.is_none_or(|set_ns| at_ns < set_ns) {
            this.timer_fd()?;
            if let Some(timer) = &this.timer {
                timer.set(at_ns)?;
            }
            this.timer_at_ns = Some(at_ns);
        }
        Ok(())
    }
}

/// One connection's failure must not keep the others' bytes back.
fn write_reporting(outbox: &Bound<'_, Outbox>, reason: Reason) -> bool {
    Outbox::write_out(outbox, &[], reason).unwrap_or_else(|error| {
        error.write_unraisable(outbox.py(), Some(outbox));
        true
    })
}
