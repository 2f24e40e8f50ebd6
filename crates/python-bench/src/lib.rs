//! The native module of the bench: thin classes, primitives in and out.
//!
//! The gate: whatever may block or run long does so without the GIL (`Python::detach`), and errors
//! become Python's own types here and nowhere else. No object of the library's module comes here, and
//! none of ours goes there: code that both need is compiled into both.

mod address;
mod admission;
mod descriptor;
mod diag;
mod echo;
mod encrypted;
#[path = "../../python/src/errors.rs"]
mod errors;
mod fanout;
#[path = "../../python/src/histogram.rs"]
mod histogram;
mod link;
mod process;
mod rr;
mod sizes;
#[path = "../../python/src/strategy.rs"]
mod strategy;
mod stream;

use pyo3::prelude::*;

// Not a method of the histogram: the library has that class, too, has no use for this, and is to be small.
/// The same count, extremes, mean, and counts below and at each of these; less in between.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "a list comes from Python")]
fn thinned(histogram: &histogram::Histogram, kept_ns: Vec<u64>) -> histogram::Histogram {
    histogram::Histogram {
        inner: histogram.inner.thinned(&kept_ns),
    }
}

// Safe without the GIL (decision 0011): shared state has locks of its own.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::admission::Admission;
    #[pymodule_export]
    use super::diag::{SocketDiag, SocketProbe, proc_sockets, socket_options};
    #[pymodule_export]
    use super::echo::{EchoClient, EchoServer};
    #[pymodule_export]
    use super::fanout::{NativePublisher, Publications, Subscribers, Timer, publications_due_ns};
    #[pymodule_export]
    use super::histogram::Histogram;
    #[pymodule_export]
    use super::link::{LinkRelay, enter_pid_namespace, pid_namespace_refusal, ping_pong_ns};
    #[pymodule_export]
    use super::process::{
        call_times, count_instructions, count_writes_library, create_network_namespace,
        die_with_parent, enter_network_namespace, give_up_capabilities, instructions,
        io_uring_refusal, send_queue_bytes, set_exact_timers, set_process_name, tcp_info,
        watch_more_writes, watch_writes, write_counts,
    };
    #[pymodule_export]
    use super::rr::{CallBook, CallContent, CallLog, RequestReader, RrCallers, RrServer};
    #[pymodule_export]
    use super::sizes::{SizesServer, take_samples, time_local};
    #[pymodule_export]
    use super::stream::matching::{
        match_flat_out, match_flat_out_sliced, match_paced, match_sliced, read_notes,
    };
    #[pymodule_export]
    use super::stream::pacer::{Pacer, scheduled_messages};
    #[pymodule_export]
    use super::stream::pool::{MessagePool, StreamCheck};
    #[pymodule_export]
    use super::stream::receiver::Receiver;
    #[pymodule_export]
    use super::stream::sender::{ManyConnections, send_flat_out, send_in_slices, send_paced};
    #[pymodule_export]
    use super::thinned;
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        // Its source says where the library has it.
        py.get_type::<Histogram>()
            .setattr("__module__", "tinygram_bench._native")?;
        link::add_constants(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
