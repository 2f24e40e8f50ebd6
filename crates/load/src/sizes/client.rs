//! The client of `sizes`: samples of one case, or of several in cycles, one after the other.
//!
//! Laws: no two samples overlap; a cycle has one sample of each case, in a new random order, so that
//! compared samples lie milliseconds apart; a failure ends its case, and the others go on.

use super::{
    cycles::{Blocks, Order},
    faults::SampleError,
    sample::{Look, Options, Sampler, Segments, Times},
};
use crate::{messages::sample_content, process::Usage};
use tinygram_core::Histogram;
use tinygram_net::clock::monotonic_ns;

/// One in so many measured samples looks for acknowledgements that came too early.
const LOOK_EVERY: u64 = 8;

/// The times of a case's samples, in nanoseconds, and their counts.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// From the call to the established connection.
    pub connect: Histogram,
    /// The write of the setup; empty where it leaves with the first message.
    pub setup: Histogram,
    /// From the end of the setup to the last acknowledgement; empty without round trips.
    pub transfer: Histogram,
    /// The whole sample: connect, setup and transfer.
    pub total: Histogram,
    /// The first round trip of each sample, in which the server takes the connection.
    pub first_trip: Histogram,
    /// The other round trips.
    pub next_trips: Histogram,
    /// The whole time of the first samples, which are in none of the other figures.
    pub first_total: Histogram,
    /// The whole time of the very first sample.
    pub first_sample_ns: u64,
    /// `total` of each cycle, in their order; of more than [`MOST_VALUES`](super::cycles::MOST_VALUES)
    /// cycles, the medians of cycles in a row.
    pub totals_ns: Vec<u64>,
    /// When the first sample after the first ones began, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// From `start_ns` to the end of the last sample, with the samples of other cases between them.
    pub run_time_ns: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Segments sent that carried data.
    pub data_segments: u64,
    /// The largest segment that the last connection sent, in bytes.
    pub send_mss_bytes: u64,
    /// The usage of this thread for the samples.
    pub usage: Usage,
}

/// Takes the samples of one case, or of several.
#[derive(Debug)]
pub struct Client {
    cases: Vec<Case>,
    content: Vec<u8>,
}

#[derive(Debug)]
struct Case {
    sampler: Sampler,
    measured: Measured,
    totals: Blocks,
    /// How many samples the case has begun.
    begun: u64,
    failure: Option<SampleError>,
}

impl Client {
    /// A client whose memory is touched now: the messages of all cases are the first bytes of the same
    /// content, which is made from `seed`.
    pub fn new(cases: Vec<Options>, seed: u64) -> Self {
        let bytes = cases.iter().map(|each| each.setup.sample_bytes());
        Self {
            content: sample_content(seed, bytes.max().unwrap_or(0) as usize),
            cases: cases.into_iter().map(Case::new).collect(),
        }
    }

    /// Take of each case `first` samples that are kept apart; then, if there are round trips, a sample
    /// that is in no figure and whose first message is sent with its last byte withheld; and then
    /// `samples` more. The orders of the cycles are made from `order_seed`.
    ///
    /// Returns the result of each case, in their order: a [`SampleError`] if a sample of it failed.
    pub fn measure(
        mut self,
        first: u64,
        samples: u64,
        order_seed: u64,
    ) -> Vec<Result<Measured, SampleError>> {
        let mut order = Order::new(self.cases.len(), order_seed);
        for _ in 0..first {
            for &index in order.of_next_cycle() {
                self.cases[index].take_first(&self.content);
            }
        }
        for case in &mut self.cases {
            case.take_withheld(&self.content);
            case.begin(samples);
        }
        let mut used = Usage::of_thread();
        for cycle in 0..samples {
            if self.cases.iter().all(|case| case.failure.is_some()) {
                break;
            }
            let look = match cycle % LOOK_EVERY {
                0 => Look::BeforeMessages,
                _ => Look::Never,
            };
            for &index in order.of_next_cycle() {
                let case = &mut self.cases[index];
                case.take(&self.content, look);
                let before = std::mem::replace(&mut used, Usage::of_thread());
                case.measured.usage = case.measured.usage.with(used.since(before));
            }
        }
        self.cases.into_iter().map(Case::outcome).collect()
    }
}

impl Case {
    fn new(options: Options) -> Self {
        Self {
            sampler: Sampler::new(options),
            measured: Measured::default(),
            totals: Blocks::new(0),
            begun: 0,
            failure: None,
        }
    }

    /// Take the next sample; `None`: it failed, or one before it did.
    fn sample(&mut self, content: &[u8], look: Look) -> Option<Times> {
        if self.failure.is_some() {
            return None;
        }
        let sample = self.begun;
        self.begun += 1;
        match self.sampler.sample(content, look) {
            Ok(times) => Some(times),
            Err((stage, fault)) => {
                self.failure = Some(SampleError {
                    sample,
                    stage,
                    fault,
                });
                None
            }
        }
    }

    fn take_first(&mut self, content: &[u8]) {
        let is_very_first = self.begun == 0;
        if let Some(times) = self.sample(content, Look::Never) {
            self.measured.first_total.record(times.total_ns());
            if is_very_first {
                self.measured.first_sample_ns = times.total_ns();
            }
        }
    }

    fn take_withheld(&mut self, content: &[u8]) {
        if self.sampler.has_messages() {
            // A failure of this sample is kept, too.
            let _in_no_figure = self.sample(content, Look::BeforeLastByte);
        }
    }

    /// Begin to measure `samples` samples.
    fn begin(&mut self, samples: u64) {
        self.sampler.segments = Segments::default();
        self.totals = Blocks::new(samples);
    }

    fn take(&mut self, content: &[u8], look: Look) {
        if self.measured.start_ns == 0 {
            self.measured.start_ns = monotonic_ns();
        }
        if let Some(times) = self.sample(content, look) {
            self.record(times);
            self.measured.run_time_ns = monotonic_ns() - self.measured.start_ns;
        }
    }

    fn record(&mut self, times: Times) {
        let measured = &mut self.measured;
        self.totals.push(times.total_ns());
        measured.connect.record(times.connect_ns);
        measured.total.record(times.total_ns());
        if !self.sampler.is_joined() {
            measured.setup.record(times.setup_ns);
        }
        let acknowledged_ns = self.sampler.acknowledged_ns();
        let Some(last_ns) = acknowledged_ns.last() else {
            return;
        };
        measured.transfer.record(times.transfer_ns);
        let mut before_ns = last_ns - times.transfer_ns;
        for (index, &at_ns) in acknowledged_ns.iter().enumerate() {
            let trips = if index == 0 {
                &mut measured.first_trip
            } else {
                &mut measured.next_trips
            };
            trips.record(at_ns - before_ns);
            before_ns = at_ns;
        }
    }

    fn outcome(self) -> Result<Measured, SampleError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let segments = self.sampler.segments;
        Ok(Measured {
            totals_ns: self.totals.into_values(),
            retransmits: segments.again,
            data_segments: segments.with_data,
            send_mss_bytes: segments.mss_bytes,
            ..self.measured
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        messages::Setup,
        socket::{FRESH_PORT, admission::Admission},
    };
    use std::time::Duration;

    #[test]
    fn all_cases_share_the_content_of_the_largest() {
        let asking = |length, count| Options {
            address: FRESH_PORT,
            setup: Setup { length, count },
            is_setup_joined: false,
            is_nodelay: true,
            congestion_control: "cubic".into(),
            admission: Admission::default(),
            timeout: Duration::from_secs(1),
        };
        let client = Client::new(vec![asking(10, 3), asking(1_000, 2), asking(5_000, 0)], 1);
        assert_eq!(client.content.len(), 2_000);
    }
}
