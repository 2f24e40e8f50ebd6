//! How messages are taken, one by one or many at a time.

use super::{Outbox, state::WaitsFor};
use crate::{
    event_loop::ticker::Ticker,
    message::immutable,
    message_methods::{Fault, Methods, TakesMessages, message_method},
};
use pyo3::{prelude::*, types::PyBytes};
use tinygram_core::{Next, Reason};
use tinygram_net::clock::monotonic_ns;

impl TakesMessages for Outbox {
    const METHODS: Methods = &[message_method::<Self, false>(
        c"write",
        c"write($self, data, /)\n--\n\nSend the message, or hold it.",
    )];

    #[inline(always)]
    fn hold(&self, message: &[u8]) -> bool {
        // SAFETY: the interpreter calls this with the GIL held, and the state knows no cells.
        unsafe {
            self.state.is_free_and(|state| {
                !state.is_elsewhere() && state.coalescer.hold_with_others(message)
            })
        }
    }

    fn take_plain<'a>(
        slf: &Bound<'_, Self>,
        messages: impl Iterator<Item = &'a [u8]>,
    ) -> (usize, PyResult<()>) {
        let mut state = slf.get().state(slf.py());
        if state.is_elsewhere() {
            return (0, Ok(()));
        }
        let held = messages.take_while(|message| state.coalescer.hold_with_others(message));
        (held.count(), Ok(()))
    }

    fn take_one(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> Result<(), Fault> {
        let (py, this) = (slf.py(), slf.get());
        if this.state(py).is_unusual() {
            return Ok(Self::take_unusual(slf, data)?);
        }
        let copied;
        let data = match data.cast_exact::<PyBytes>() {
            Ok(bytes) => bytes,
            Err(_) => {
                copied = immutable(data)?;
                &copied
            }
        };
        let message = data.as_bytes();
        if message.is_empty() {
            return Ok(());
        }
        let next = this
            .state
            .borrow(py)
            .coalescer
            .on_message(message, monotonic_ns);
        match next {
            Next::Refuse => Err(this.refuse(py, message.len())?.into()),
            Next::WriteFirst => {
                if this.is_loop_closed(py)? {
                    return Err(this.refuse(py, message.len())?.into()); // Nothing leaves any more.
                }
                this.write_out(py, None, Reason::Full, false)?;
                Self::take_one(slf, data)
            }
            _ => Self::go_on(slf, data, next).map_err(Fault::after_taking),
        }
    }
}

impl Outbox {
    /// A message was taken: write, or see to it that it leaves.
    fn go_on(slf: &Bound<'_, Self>, data: &Bound<'_, PyBytes>, next: Next) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        match next {
            Next::Wait if this.state(py).coalescer.is_blocked() => this.tell_full(py, false),
            Next::Arm => {
                this.keep_open(py)?;
                let (ticker, mut state) = (this.ticker.bind(py), this.state(py));
                match state.waits_for {
                    WaitsFor::Nothing => state.waits_for = WaitsFor::Tick,
                    WaitsFor::Time if state.coalescer.watches_time() => {
                        drop(state);
                        return Ticker::look_again(ticker);
                    }
                    WaitsFor::Tick | WaitsFor::Time => return Ok(()),
                }
                drop(state);
                Ticker::arm(ticker, slf.clone().unbind())
            }
            Next::Write(reason) => {
                let is_closed = this.is_loop_closed(py)?;
                this.write_out(py, Some(data), reason, is_closed)?;
                Self::arm_after_write(slf, is_closed)
            }
            Next::Wait | Next::WriteFirst | Next::Refuse => Ok(()),
        }
    }

    #[cold]
    fn take_unusual(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        let data = immutable(data)?;
        let Some(around) = this.around(py) else {
            return Ok(()); // Like asyncio: the protocol was told that the connection is gone.
        };
        if this.state(py).is_elsewhere() {
            around.check_thread(py)?;
        }
        if this.state(py).is_diverted {
            around.write_below(py, &data)?;
            return this.tell_full(py, false);
        }
        Self::take(slf, &data)
    }
}
