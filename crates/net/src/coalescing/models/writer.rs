//! The writing thread of the loom models, without epoll.

use super::{
    failure::{Failure, FlushError},
    handoff::Handoff,
    served::{NextVisit, Served},
};
use loom::sync::Notify;
use std::{
    io,
    mem::take,
    sync::{Arc, Weak},
};

loom::lazy_static! {
    static ref WRITER: Writer = Writer {
        handoff: Handoff::new(),
        wake: Notify::new(),
    };
}

/// The writing thread: [`Writer::run`] is its loop, which the model's own thread calls.
pub(super) struct Writer {
    /// The queue of connections; `None` in it ends the model.
    handoff: Handoff<Option<Arc<dyn Served>>>,
    wake: Notify,
}

impl Writer {
    pub(super) fn get() -> io::Result<&'static Self> {
        Ok(&WRITER)
    }

    pub(super) fn current() -> Option<&'static Self> {
        Some(&WRITER)
    }

    pub(super) fn know(&self, _: Weak<dyn Served>) {}

    pub(super) fn keep_untold(&self, _: Option<Failure>) {}

    pub(super) fn flush_all(&self, _: u64) -> Vec<FlushError> {
        Vec::new()
    }

    pub(super) fn notify(&self, connection: Arc<dyn Served>) -> io::Result<()> {
        self.add(Some(connection));
        Ok(())
    }

    pub(super) fn end(&self) {
        self.add(None);
    }

    fn add(&self, item: Option<Arc<dyn Served>>) {
        if self.handoff.add(item) {
            self.wake.notify();
        }
    }

    /// The thread's loop. It never waits for a writable socket: the next write always takes some bytes.
    pub(super) fn run(&self) {
        let mut to_visit = Vec::new();
        loop {
            if !self.handoff.take_or_sleep(&mut to_visit) {
                self.wake.wait();
            }
            for item in take(&mut to_visit) {
                let Some(connection) = item else { return };
                match connection.write_due() {
                    NextVisit::Rest => {}
                    NextVisit::Again | NextVisit::WhenWritable => to_visit.push(Some(connection)),
                    NextVisit::At(at_ns) => {
                        panic!("a hold until {at_ns}: these strategies have none")
                    }
                }
            }
        }
    }
}
