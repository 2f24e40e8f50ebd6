use super::{
    pacer::{SliceTable, schedule, slices as slices_of},
    pool::MessagePool,
};
use crate::histogram::Histogram;
use pyo3::{exceptions::PyValueError, prelude::*};
use std::collections::HashMap;
use tinygram_load::messages::{
    MatchError, Note, Received, arrivals, match_receipts, received_in_slices,
};

/// Match messages to stored notes: the histogram of release to receipt, and by how much a message came
/// before it was released, at most.
fn match_all(
    py: Python<'_>,
    notes: &[u8],
    messages: impl IntoIterator<Item = (u64, u64, u64)> + Send,
    bound_ns: u64,
) -> PyResult<(Histogram, u64)> {
    py.detach(|| {
        let notes = Note::parse_all(notes)?;
        let mut inner = tinygram_core::Histogram::new();
        let early_ns = match_receipts(&notes, messages, bound_ns, |found| {
            inner.record(found.latency_ns());
        })?;
        Ok((Histogram { inner }, early_ns))
    })
    .map_err(|error: MatchError| PyValueError::new_err(error.to_string()))
}

#[pyfunction]
#[pyo3(signature = (notes, pool, hand_overs, turns=None, bound_ns=0))]
pub fn match_flat_out(
    py: Python<'_>,
    notes: &[u8],
    pool: &MessagePool,
    hand_overs: Vec<(u64, u64)>,
    turns: Option<&[u8]>,
    bound_ns: u64,
) -> PyResult<(Histogram, u64)> {
    let pool = &pool.inner;
    let Some(turns) = turns else {
        let messages = hand_overs
            .into_iter()
            .map(|(index, at_ns)| (index, pool.stream_bytes(index + 1), at_ns));
        return match_all(py, notes, messages, bound_ns);
    };
    let handed_over: HashMap<u64, u64> = hand_overs.into_iter().collect();
    let messages = arrivals(pool, turns)
        .filter_map(|(index, end)| Some((index, end, *handed_over.get(&index)?)));
    match_all(py, notes, messages, bound_ns)
}

/// How late the pacer was with each message of a schedule, in nanoseconds, if that is to be taken off.
struct Late(Option<Vec<u32>>);

impl Late {
    /// ValueError unless there is a note of each message, or none at all.
    fn new(late_ns: Option<Vec<u32>>, messages: u64) -> PyResult<Self> {
        match late_ns {
            Some(notes) if notes.len() as u64 != messages => Err(PyValueError::new_err(format!(
                "not {messages} notes of how late a message was"
            ))),
            notes => Ok(Self(notes)),
        }
    }

    fn with(&self, position: u64) -> u64 {
        self.0
            .as_ref()
            .map_or(0, |notes| u64::from(notes[position as usize]))
    }
}

#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "the schedule's five and the stream's seven"
)]
#[pyo3(signature = (notes, pool, first_message, start_ns, rate_per_s, arrival, burst, duration_ns, seed, turns=None, late_ns=None, bound_ns=0))]
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
    turns: Option<&[u8]>,
    late_ns: Option<Vec<u32>>,
    bound_ns: u64,
) -> PyResult<(Histogram, u64)> {
    let schedule = schedule(rate_per_s, arrival, burst, duration_ns, seed)?;
    let count = schedule.messages();
    let late_ns = Late::new(late_ns, count)?;
    let since_ns = |position: u64| start_ns + schedule.due_ns(position) + late_ns.with(position);
    let pool = &pool.inner;
    if let Some(turns) = turns {
        let messages = arrivals(pool, turns).filter_map(|(index, end)| {
            // The other program may have made the index up.
            let position = index.checked_sub(first_message)?;
            let is_due = position < count;
            is_due.then(|| (index, end, since_ns(position)))
        });
        return match_all(py, notes, messages, bound_ns);
    }
    let messages = (0..count).map(|position| {
        let index = first_message + position;
        let end = pool.stream_bytes(index + 1);
        (index, end, since_ns(position))
    });
    match_all(py, notes, messages, bound_ns)
}

/// For each slice, how many messages were due in it, settling or not, and how long after its end the last
/// of them came, in nanoseconds.
type Whole = Vec<(u64, u64)>;

/// The latencies of a paced stream in slices, in nanoseconds: of all, and of each slice; what is said of
/// each whole slice; and by how much a message came before it was released, at most.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "the schedule's six and the stream's seven"
)]
#[pyo3(signature = (notes, pool, first_message, start_ns, rate_per_s, arrival, burst, duration_ns, seed, slices, turns=None, late_ns=None, bound_ns=0))]
pub fn match_sliced(
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
    slices: SliceTable,
    turns: Option<&[u8]>,
    late_ns: Option<Vec<u32>>,
    bound_ns: u64,
) -> PyResult<(Histogram, Vec<Vec<u64>>, Whole, u64)> {
    let (slices, settling_ns) = slices_of(slices)?;
    let schedule = schedule(rate_per_s, arrival, burst, duration_ns, seed)?.in_slices(&slices);
    let count = schedule.messages();
    let late_ns = Late::new(late_ns, count)?;
    let pool = &pool.inner;
    // Index in the stream, offset that the message ends at, and its number in the schedule.
    let messages: Vec<(u64, u64, u64)> = match turns {
        Some(turns) => arrivals(pool, turns)
            .filter_map(|(index, end)| Some((index, end, index.checked_sub(first_message)?)))
            .filter(|&(_, _, position)| position < count)
            .collect(),
        None => (0..count)
            .map(|position| (position, first_message + position))
            .map(|(position, index)| (index, pool.stream_bytes(index + 1), position))
            .collect(),
    };
    py.detach(|| {
        let notes = Note::parse_all(notes)?;
        let mut found = vec![Vec::new(); slices.count()];
        let mut inner = tinygram_core::Histogram::new();
        let mut positions = messages.iter().map(|&(_, _, position)| position);
        let released = messages.iter().map(|&(index, end, position)| {
            (
                index,
                end,
                start_ns + schedule.due_ns(position) + late_ns.with(position),
            )
        });
        let mut whole = vec![(0, 0); slices.count()];
        let early_ns = match_receipts(&notes, released, bound_ns, |each| {
            let position = positions.next().expect("a message for each match");
            if let Some(slice) = slices.measuring(schedule.due_ns(position), 0) {
                let end_ns = start_ns + slices.end_ns(slice);
                let (due, late_ns) = &mut whole[slice];
                *due += 1;
                *late_ns = each.receipt_ns.saturating_sub(end_ns).max(*late_ns);
            }
            if let Some(slice) = slices.measuring(schedule.due_ns(position), settling_ns) {
                found[slice].push(each.latency_ns());
                inner.record(each.latency_ns());
            }
        })?;
        Ok((Histogram { inner }, found, whole, early_ns))
    })
    .map_err(|error: MatchError| PyValueError::new_err(error.to_string()))
}

/// What came in the middle of each slice: messages, and how long after the end of the slice its last
/// read came, in nanoseconds.
type Middles = Vec<(u64, u64)>;

/// The slices of a stream that was sent flat out: how long what was handed over in the middles of
/// slices took to come, of all and of each slice, in nanoseconds; what came in them; and by how much a
/// message came before it was handed over, at most.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "the stream's five and the slices' two"
)]
#[pyo3(signature = (notes, pool, hand_overs, start_ns, table, middle_ns, turns=None, bound_ns=0))]
pub fn match_flat_out_sliced(
    py: Python<'_>,
    notes: &[u8],
    pool: &MessagePool,
    hand_overs: Vec<(u64, u64)>,
    start_ns: u64,
    table: SliceTable,
    middle_ns: (u64, u64),
    turns: Option<&[u8]>,
    bound_ns: u64,
) -> PyResult<(Histogram, Vec<Vec<u64>>, Middles, u64)> {
    let (slices, settling_ns) = slices_of(table)?;
    let pool = &pool.inner;
    py.detach(|| {
        let notes = Note::parse_all(notes)?;
        let arrived: Option<Vec<(u64, u64)>> = turns.map(|turns| arrivals(pool, turns).collect());
        let handed_over: Vec<(u64, u64, u64)> = match &arrived {
            None => hand_overs
                .into_iter()
                .map(|(index, at_ns)| (index, pool.stream_bytes(index + 1), at_ns))
                .collect(),
            Some(arrived) => {
                let at_ns: HashMap<u64, u64> = hand_overs.into_iter().collect();
                let known = arrived
                    .iter()
                    .filter_map(|&(index, end)| Some((index, end, *at_ns.get(&index)?)));
                known.collect()
            }
        };
        let mut inner = tinygram_core::Histogram::new();
        let mut queueing_ns = vec![Vec::new(); slices.count()];
        let early_ns = match_receipts(&notes, handed_over, bound_ns, |each| {
            let at_ns = each.released_ns.saturating_sub(start_ns);
            if let Some(slice) = slices.measuring(at_ns, settling_ns) {
                queueing_ns[slice].push(each.latency_ns());
                inner.record(each.latency_ns());
            }
        })?;
        let whole_messages = |bytes| match &arrived {
            None => pool.whole_messages(bytes),
            Some(arrived) => arrived.partition_point(|&(_, end)| end <= bytes) as u64,
        };
        let middles = received_in_slices(
            &notes,
            whole_messages,
            start_ns,
            &slices,
            middle_ns.0,
            middle_ns.1,
        );
        let values = |each: Received| (each.messages, each.late_ns);
        let middles = middles.into_iter().map(values).collect();
        Ok((Histogram { inner }, queueing_ns, middles, early_ns))
    })
    .map_err(|error: MatchError| PyValueError::new_err(error.to_string()))
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
