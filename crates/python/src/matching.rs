use crate::{histogram::Histogram, pacer::schedule, pool::MessagePool};
use pyo3::{exceptions::PyValueError, prelude::*};
use tinygram_core::{MatchError, Note, match_receipts};

/// Match messages to stored notes: the histogram of release to receipt.
fn match_all(
    py: Python<'_>,
    notes: &[u8],
    messages: impl IntoIterator<Item = (u64, u64, u64)> + Send,
) -> PyResult<Histogram> {
    py.detach(|| {
        let notes = Note::parse_all(notes)?;
        let mut inner = tinygram_core::Histogram::new();
        match_receipts(&notes, messages, |_, latency_ns| inner.record(latency_ns))?;
        Ok(Histogram { inner })
    })
    .map_err(|error: MatchError| PyValueError::new_err(error.to_string()))
}

#[pyfunction]
pub fn match_flat_out(
    py: Python<'_>,
    notes: &[u8],
    pool: &MessagePool,
    hand_overs: Vec<(u64, u64)>,
) -> PyResult<Histogram> {
    let messages = hand_overs
        .into_iter()
        .map(|(index, at_ns)| (index, pool.inner.stream_bytes(index + 1), at_ns));
    match_all(py, notes, messages)
}

#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "the schedule's five and the stream's four"
)]
pub fn match_paced(
    py: Python<'_>,
    notes: &[u8],
    pool: &MessagePool,
    first_message: u64,
    start_ns: u64,
    rate_per_s: f64,
    arrival: &str,
    burst: u64,
    duration_ns: u64,
    seed: u64,
) -> PyResult<Histogram> {
    let schedule = schedule(rate_per_s, arrival, burst, duration_ns, seed)?;
    let messages = (0..schedule.messages()).map(|position| {
        let index = first_message + position;
        let end = pool.inner.stream_bytes(index + 1);
        (index, end, start_ns + schedule.due_ns(position))
    });
    match_all(py, notes, messages)
}

#[pyfunction]
pub fn read_notes(py: Python<'_>, notes: &[u8], since_ns: u64) -> PyResult<(u64, u64, u64)> {
    py.detach(|| {
        let notes = Note::parse_all(notes)?;
        let reads = notes.len() - notes.partition_point(|note| note.at_ns < since_ns);
        let last = notes.last().copied().unwrap_or_default();
        Ok((reads as u64, last.bytes, last.at_ns))
    })
    .map_err(|error: MatchError| PyValueError::new_err(error.to_string()))
}
