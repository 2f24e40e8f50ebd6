//! When the near host's segments with data left: just after a packet came, or while nothing of their
//! connection was unacknowledged. With Nagle's algorithm all short ones do the latter (RFC 896). No I/O.

use std::collections::HashMap;

/// A segment that leaves this soon after a packet came in is taken to have left because of it.
const JUST_AFTER_NS: u64 = 100_000;
/// Connections that are known at a time; when there are more, all are forgotten.
const MOST_FLOWS: usize = 4_096;
const TCP: u8 = 6;

/// Segments with data that the near host handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departures {
    /// All of them; segments that stay together (offload) count as one.
    pub data_packets: u64,
    /// Segments that left within 0.1 ms after a packet of their connection came in.
    pub after_arrival: u64,
    /// Segments that left when all that their connection had sent before was acknowledged.
    pub alone: u64,
}

/// The last packet that came to a connection's near end.
#[derive(Debug)]
struct Arrived {
    acknowledged: u32,
    at_ns: u64,
}

/// The connections of a link, by the near end's port and the far end's.
#[derive(Debug, Default)]
pub(super) struct Watch {
    flows: HashMap<(u16, u16), Arrived>,
}

impl Watch {
    /// An IPv4 packet has come to the near host.
    pub(super) fn came(&mut self, packet: &[u8], at_ns: u64) {
        let Some(segment) = Segment::of(packet) else {
            return;
        };
        if self.flows.len() >= MOST_FLOWS {
            self.flows.clear();
        }
        let arrived = Arrived {
            acknowledged: segment.acknowledged,
            at_ns,
        };
        self.flows.insert((segment.to, segment.from), arrived);
    }

    /// The near host has handed over an IPv4 packet.
    pub(super) fn left(&self, packet: &[u8], at_ns: u64, departures: &mut Departures) {
        let Some(segment) = Segment::of(packet).filter(|segment| segment.has_data) else {
            return;
        };
        departures.data_packets += 1;
        let Some(arrived) = self.flows.get(&(segment.from, segment.to)) else {
            return;
        };
        let is_just_after = at_ns.saturating_sub(arrived.at_ns) <= JUST_AFTER_NS;
        departures.after_arrival += u64::from(is_just_after);
        // Sequence numbers wrap round (RFC 9293 §3.4).
        let unacknowledged = segment.first.wrapping_sub(arrived.acknowledged) as i32;
        departures.alone += u64::from(unacknowledged <= 0);
    }
}

/// A segment, as its headers say (RFC 9293 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The port that it comes from.
    pub from: u16,
    /// The port that it goes to.
    pub to: u16,
    /// The sequence number of its first byte.
    pub first: u32,
    /// The sequence number of the byte that is expected next of the other end.
    pub acknowledged: u32,
    /// Whether it has more than headers.
    pub has_data: bool,
}

impl Segment {
    /// The segment of an IPv4 packet. `None`: no TCP, or shorter than its headers say.
    pub fn of(packet: &[u8]) -> Option<Self> {
        let ipv4_bytes = usize::from(packet.first()? & 0xf) * 4;
        if *packet.get(9)? != TCP {
            return None;
        }
        let whole_bytes = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
        let tcp = packet.get(ipv4_bytes..)?;
        let half = |at: usize| Some(u16::from_be_bytes(tcp.get(at..at + 2)?.try_into().ok()?));
        let word = |at: usize| Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?));
        let tcp_bytes = usize::from(tcp.get(12)? >> 4) * 4;
        Some(Self {
            from: half(0)?,
            to: half(2)?,
            first: word(4)?,
            acknowledged: word(8)?,
            has_data: whole_bytes > ipv4_bytes + tcp_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn segment(from: u16, to: u16, first: u32, acknowledged: u32, data_bytes: u16) -> Vec<u8> {
        let mut packet = vec![0; 40 + usize::from(data_bytes)];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(40 + data_bytes).to_be_bytes());
        packet[9] = TCP;
        packet[20..22].copy_from_slice(&from.to_be_bytes());
        packet[22..24].copy_from_slice(&to.to_be_bytes());
        packet[24..28].copy_from_slice(&first.to_be_bytes());
        packet[28..32].copy_from_slice(&acknowledged.to_be_bytes());
        packet[32] = 5 << 4;
        packet
    }

    fn counted(departures: Departures) -> [u64; 3] {
        [
            departures.data_packets,
            departures.after_arrival,
            departures.alone,
        ]
    }

    #[test]
    fn each_segment_with_data_counts_by_what_came_before() {
        let (mut watch, mut found) = (Watch::default(), Departures::default());
        watch.came(&segment(80, 9, 1, u32::MAX, 0), 0);
        // An acknowledgement has no data; another connection's segment had nothing come before.
        watch.left(&segment(9, 80, u32::MAX, 1, 0), 0, &mut found);
        watch.left(&segment(8, 80, 5, 1, 1), 0, &mut found);
        assert_eq!(counted(found), [1, 0, 0]);
        watch.left(&segment(9, 80, u32::MAX, 1, 10), JUST_AFTER_NS, &mut found);
        assert_eq!(counted(found), [2, 1, 1]);
        // The first 10 bytes are not acknowledged yet, and nothing came.
        watch.left(&segment(9, 80, 9, 1, 10), JUST_AFTER_NS + 1, &mut found);
        assert_eq!(counted(found), [3, 1, 1]);
        watch.came(&segment(80, 9, 1, 19, 0), 2 * JUST_AFTER_NS);
        watch.left(&segment(9, 80, 19, 1, 10), 4 * JUST_AFTER_NS, &mut found);
        assert_eq!(counted(found), [4, 1, 2]);
    }

    proptest! {
        #[test]
        fn whatever_comes_no_count_is_above_that_of_packets(
            packets in vec((any::<bool>(), vec(any::<u8>(), 0..60)), 0..20)
        ) {
            let (mut watch, mut found) = (Watch::default(), Departures::default());
            for (at_ns, (comes, mut packet)) in packets.into_iter().enumerate() {
                if let Some(first) = packet.first_mut() {
                    *first = 0x45;
                }
                if let Some(protocol) = packet.get_mut(9) {
                    *protocol = TCP;
                }
                if comes {
                    watch.came(&packet, at_ns as u64);
                } else {
                    watch.left(&packet, at_ns as u64, &mut found);
                }
            }
            let [all, after, alone] = counted(found);
            prop_assert!(after <= all && alone <= all);
        }
    }
}
