//! The ways out for held messages: the kernel, and for what it does not take, the transport below.

use super::Outbox;
use crate::message::Rest;
use pyo3::{prelude::*, types::PyBytes};
use tinygram_core::Reason;

impl Outbox {
    /// Write what is held and then `message`, unless the loop is closed. Returns whether the transport
    /// below, and so Python code, had to take a part.
    pub(super) fn write_out(
        &self,
        py: Python<'_>,
        message: Option<&Bound<'_, PyBytes>>,
        reason: Reason,
        is_loop_closed: bool,
    ) -> PyResult<bool> {
        let took_part = self.write_all(py, message, reason, is_loop_closed);
        self.let_close(py)?;
        took_part
    }

    fn write_all(
        &self,
        py: Python<'_>,
        mut message: Option<&Bound<'_, PyBytes>>,
        mut reason: Reason,
        is_loop_closed: bool,
    ) -> PyResult<bool> {
        if is_loop_closed {
            // What is held stays held, and is reported as lost when the outbox is dropped.
            return match message {
                None => Ok(false),
                Some(message) => self.write_below(py, Rest::all_of(message)).map(|()| true),
            };
        }
        if self.is_lent {
            let around = self.around(py);
            if around.map_or(Ok(false), |it| it.is_socket_closed(py))? {
                self.state(py).fd = None; // The transport below finds and reports the same.
            }
        }
        let mut took_part = false;
        loop {
            let rest = self.state(py).write_out(py, message, reason)?;
            let Some(rest) = rest else {
                return Ok(took_part);
            };
            took_part = true;
            self.write_below(py, rest)?;
            if !self.state(py).has_more_for_below() {
                return Ok(true);
            }
            // Messages that came meanwhile are written after these.
            (message, reason) = (None, Reason::Writable);
        }
    }

    /// Hand `rest` to the transport below; what comes meanwhile is held.
    fn write_below(&self, py: Python<'_>, rest: Rest<'_>) -> PyResult<()> {
        let Some(around) = self.around(py) else {
            return Ok(());
        };
        let bytes = rest.bytes();
        let parts = rest.parts()?;
        let start_ns = self.state(py).begin_handing_over();
        let written = parts
            .into_iter()
            .try_for_each(|part| around.write_below(py, part.as_any()));
        let is_full = self.state(py).end_handing_over(bytes, start_ns);
        written?;
        if is_full {
            around.on_full(py, false)?;
        }
        Ok(())
    }
}
