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
mod message_methods;
mod strategy;

use batch::Batch;
use coalescing::CoalescingSocket;
use message_methods::{add_message_methods, find_content};
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyType};

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
    use super::event_loop::tls::StraightTls;
    #[pymodule_export]
    use super::histogram::Histogram;
    #[pymodule_export]
    use super::knobs::Knobs;
    #[pymodule_export]
    use super::with_message_methods;
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        find_content(py)?;
        add_message_methods::<Batch>(&py.get_type::<Batch>())?;
        add_message_methods::<CoalescingSocket>(&py.get_type::<CoalescingSocket>())?;
        add_message_methods::<Outbox>(&py.get_type::<Outbox>())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Give this subclass of Batch or CoalescingSocket the methods that take a message as its own, so
/// that the interpreter calls them the short way. Returns the class; raises TypeError for another one.
#[pyfunction]
#[pyo3(signature = (class, /))]
fn with_message_methods(class: Bound<'_, PyType>) -> PyResult<Bound<'_, PyType>> {
    if add_message_methods::<Batch>(&class)? || add_message_methods::<CoalescingSocket>(&class)? {
        return Ok(class);
    }
    let name = class.qualname()?;
    let text = format!("{name} is no subclass of Batch or CoalescingSocket");
    Err(PyTypeError::new_err(text))
}
