//! Sums over the kernel's connections at one instant, and many such samples, bounded in number. No I/O.

use super::{
    fields::{DATA_SEGMENTS_SENT, DELIVERY_RATE, RETRANSMITS, RTT, SENT, UNSENT},
    socket::{Socket, State},
};

/// The most samples kept of a run; when there are more, every other one is dropped, and from then on
/// half as many are taken.
pub const MAX_SAMPLES: usize = 512;

/// Sums over the connections of a side, except `rtt_us`, which is the largest.
const OF_A_SIDE: [&str; 10] = [
    "connections",
    "send_queue_bytes",
    "unsent_bytes",
    "receive_queue_bytes",
    "cwnd_segments",
    "rtt_us",
    "delivery_rate_bytes_per_s",
    "retransmits",
    "data_segments_sent",
    "sent_bytes",
];
const RTT_COLUMN: usize = 5;
const OF_LISTENERS: [&str; 2] = ["accept_queue_connections", "half_open_connections"];
const COLUMNS: usize = 2 * OF_A_SIDE.len() + OF_LISTENERS.len();

/// The names of a sample's numbers: `client_…` of the ends that connected, `server_…` of those that
/// were accepted, and of the listeners.
pub fn column_names() -> Vec<String> {
    let of_side = |side: &str| OF_A_SIDE.map(|name| format!("{side}_{name}"));
    let of_listeners = OF_LISTENERS.map(str::to_owned);
    [&of_side("client")[..], &of_side("server"), &of_listeners].concat()
}

/// The kernel's state of the connections to a port at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The time before the kernel was asked; CLOCK_MONOTONIC in nanoseconds.
    pub at_ns: u64,
    /// Values in the order of [`column_names`].
    pub columns: [u64; COLUMNS],
}

impl Sample {
    /// Sums over the `sockets` that have `port`: those with it at the other end are the client's side,
    /// those with it at this end the server's.
    pub fn of(at_ns: u64, port: u16, sockets: &[Socket], half_open: u64) -> Self {
        let mut columns = [0; COLUMNS];
        let (client, rest) = columns.split_at_mut(OF_A_SIDE.len());
        let (server, listeners) = rest.split_at_mut(OF_A_SIDE.len());
        for socket in sockets {
            if socket.state == State::Listen {
                listeners[0] += u64::from(socket.receive_queue);
            } else if socket.id.remote.port() == port {
                add(client, socket);
            } else if socket.id.local.port() == port {
                add(server, socket);
            }
        }
        listeners[1] = half_open;
        Self { at_ns, columns }
    }

    /// Whether there was a connection.
    pub fn has_connections(&self) -> bool {
        self.columns[0] + self.columns[OF_A_SIDE.len()] > 0
    }
}

fn add(side: &mut [u64], socket: &Socket) {
    let of = |field| socket.info.number(field).unwrap_or_default();
    let values = [
        1,
        u64::from(socket.send_queue.unwrap_or_default()),
        of(UNSENT),
        u64::from(socket.receive_queue),
        socket.cwnd_segments.unwrap_or_default(),
        of(RTT),
        of(DELIVERY_RATE),
        of(RETRANSMITS),
        of(DATA_SEGMENTS_SENT),
        of(SENT),
    ];
    for (index, (sum, value)) in side.iter_mut().zip(values).enumerate() {
        *sum = if index == RTT_COLUMN {
            value.max(*sum)
        } else {
            sum.saturating_add(value)
        };
    }
}

/// Samples at even intervals, however long they go on.
#[derive(Clone, Debug)]
pub struct Samples {
    interval_ns: u64,
    kept: Vec<Sample>,
}

impl Samples {
    /// No samples yet; the first ones will be `interval_ns` apart.
    pub fn every(interval_ns: u64) -> Self {
        Self {
            interval_ns,
            kept: Vec::with_capacity(MAX_SAMPLES),
        }
    }

    /// Keep one more; if there is no room, drop every other one first.
    pub fn push(&mut self, sample: Sample) {
        if self.kept.len() == MAX_SAMPLES {
            let mut is_kept = false;
            self.kept.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.interval_ns = self.interval_ns.saturating_mul(2);
        }
        self.kept.push(sample);
    }

    /// How far apart the samples are, in nanoseconds.
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// The samples that are kept.
    pub fn kept(&self) -> &[Sample] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::socket::tests::socket;
    use proptest::prelude::*;

    #[test]
    fn each_number_has_a_name() {
        let names = column_names();
        assert_eq!(names.len(), COLUMNS);
        assert_eq!(names[RTT_COLUMN], "client_rtt_us");
        assert_eq!(names[10], "server_connections");
        assert_eq!(names[21], "half_open_connections");
    }

    #[test]
    fn the_sides_are_summed_apart() {
        let mut first = socket("127.0.0.1:1", "127.0.0.1:80", State::Established);
        first.send_queue = Some(10);
        first.cwnd_segments = Some(3);
        let mut second = first.clone();
        second.send_queue = Some(5);
        let mut server = socket("127.0.0.1:80", "127.0.0.1:1", State::CloseWait);
        server.receive_queue = 7;
        let mut listener = socket("127.0.0.1:80", "0.0.0.0:0", State::Listen);
        listener.receive_queue = 2;
        let other = socket("127.0.0.1:1", "127.0.0.1:2", State::Established);
        let sample = Sample::of(9, 80, &[first, second, server, listener, other], 4);
        let told: Vec<(String, u64)> = column_names()
            .into_iter()
            .zip(sample.columns)
            .filter(|&(_, value)| value > 0)
            .collect();
        let expected = [
            ("client_connections", 2),
            ("client_send_queue_bytes", 15),
            ("client_cwnd_segments", 6),
            ("server_connections", 1),
            ("server_receive_queue_bytes", 7),
            ("accept_queue_connections", 2),
            ("half_open_connections", 4),
        ];
        assert_eq!(told, expected.map(|(name, value)| (name.to_owned(), value)));
        assert!(sample.has_connections());
        assert!(!Sample::of(9, 80, &[], 4).has_connections());
    }

    proptest! {
        #[test]
        fn however_many_come_those_kept_are_bounded_and_evenly_apart(count in 1usize..5_000) {
            let mut samples = Samples::every(10);
            let mut at_ns = 0;
            for _ in 0..count {
                samples.push(Sample::of(at_ns, 80, &[], 0));
                at_ns += samples.interval_ns();
            }
            let kept = samples.kept();
            prop_assert!(kept.len() <= MAX_SAMPLES && kept.len() >= count.min(MAX_SAMPLES / 2));
            prop_assert_eq!(kept[0].at_ns, 0);
            for pair in kept.windows(2) {
                prop_assert_eq!(pair[1].at_ns - pair[0].at_ns, samples.interval_ns());
            }
        }
    }
}
