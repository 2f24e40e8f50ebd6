//! The native module of the library for Python: thin classes, primitives in and out.
//!
//! The gate: whatever may block or run long does so without the GIL (`Python::detach`), and errors
//! become Python's own types here and nowhere else.

mod batch;
mod coalescing;
mod errors;
mod event_loop;
mod gil;
mod histogram;
mod knobs;
mod message;
mod strategy;

use gil::add_message_method;
use pyo3::prelude::*;
use std::ffi::CStr;

const SEND_DOC: &CStr = c"send($self, data, /)\n--\n\n\
    Send the message, or hold it; it may be changed afterwards.\n\n\
    Raises TypeError when it is not bytes-like, and BufferError when max_buffered_bytes leaves it no\n\
    room: it was not taken. TimeoutError when the socket's timeout ends first, OSError as the kernel\n\
    says it: it was taken, what is unwritten is still held, and flush() goes on with it. ValueError\n\
    after the end of the `with` block: it was not taken.";
const SHARED_SEND_DOC: &CStr = c"send($self, data, /)\n--\n\n\
    Take the message, whole: written now, or held. Returns its length in bytes.\n\n\
    It may be changed afterwards. Waits while max_buffered_bytes are held: TimeoutError or BlockingIOError as the socket's timeout\n\
    says. Raises ConnectionFailedError, and OSError (EBADF) when it is closed.";
const SENDALL_DOC: &CStr = c"sendall($self, data, /)\n--\n\nAs send; returns None.";
const WRITE_DOC: &CStr = c"write($self, data, /)\n--\n\nSend the message, or hold it.";

// Decision 0011 says why it needs no GIL.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::coalescing::{CoalescingSocket, Leftover, flush_all_at_exit};
    #[pymodule_export]
    use super::event_loop::outbox::Outbox;
    #[pymodule_export]
    use super::event_loop::ticker::Ticker;
    #[pymodule_export]
    use super::histogram::Histogram;
    #[pymodule_export]
    use super::knobs::Knobs;
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        add_message_method::<Batch, false>(&py.get_type::<Batch>(), c"send", SEND_DOC)?;
        let threads = py.get_type::<CoalescingSocket>();
        add_message_method::<CoalescingSocket, true>(&threads, c"send", SHARED_SEND_DOC)?;
        add_message_method::<CoalescingSocket, false>(&threads, c"sendall", SENDALL_DOC)?;
        add_message_method::<Outbox, false>(&py.get_type::<Outbox>(), c"write", WRITE_DOC)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
