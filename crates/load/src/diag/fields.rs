//! Numbers in the C structures that the kernel hands over, by their fixed offsets.
//!
//! Those structures only ever grow at their end: a kernel older than a field hands over a shorter one,
//! and the field is not known; a newer one hands over a longer one, whose end is not looked at.

/// As much of a structure as is kept; `struct tcp_info` has some 280 bytes today.
const MAX_BYTES: usize = 512;

/// A structure of the kernel's, as it came; empty where it did not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    bytes: Vec<u8>,
}

impl Structure {
    /// A copy of what came, of its beginning if it is long.
    pub fn copied(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes[..bytes.len().min(MAX_BYTES)].to_vec(),
        }
    }

    /// The number there; `None` where the structure ends before it.
    pub fn number(&self, field: Field) -> Option<u64> {
        let bytes = self.bytes.get(field.offset..field.offset + field.length)?;
        match field.length {
            4 => Some(u32::from_ne_bytes(bytes.try_into().ok()?).into()),
            _ => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
        }
    }
}

/// A number in a structure; the unit is last in its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Our name for it.
    pub name: &'static str,
    offset: usize,
    length: usize,
}

const fn word(name: &'static str, offset: usize) -> Field {
    Field {
        name,
        offset,
        length: 4,
    }
}

const fn long(name: &'static str, offset: usize) -> Field {
    Field {
        name,
        offset,
        length: 8,
    }
}

/// Congestion window.
pub const CWND: Field = word("cwnd_segments", 80);
/// In the send queue, and not sent yet.
pub const UNSENT: Field = word("unsent_bytes", 144);
/// Smoothed round-trip time.
pub const RTT: Field = word("rtt_us", 68);
/// Segments sent again.
pub const RETRANSMITS: Field = word("retransmits", 100);
/// Segments sent that carried data.
pub const DATA_SEGMENTS_SENT: Field = word("data_segments_sent", 156);
/// Bytes sent, those sent again included.
pub const SENT: Field = long("sent_bytes", 200);
/// What the kernel last measured of how fast data arrives (draft-cheng-iccrg-delivery-rate-estimation).
pub const DELIVERY_RATE: Field = long("delivery_rate_bytes_per_s", 160);

/// `struct tcp_info` (linux/tcp.h), but for the congestion window, which /proc/net/tcp tells too.
pub const TCP_INFO: [Field; 25] = [
    UNSENT,
    RTT,
    word("rtt_variance_us", 72),
    word("min_rtt_us", 148),
    DELIVERY_RATE,
    word("send_mss_bytes", 16),
    word("peer_window_bytes", 228),
    RETRANSMITS,
    long("retransmitted_bytes", 208),
    word("lost_segments", 32),
    word("unacknowledged_segments", 24),
    word("segments_sent", 136),
    word("segments_received", 140),
    DATA_SEGMENTS_SENT,
    word("data_segments_received", 152),
    SENT,
    // With the SYN, as the kernel counts.
    long("acknowledged_bytes", 120),
    long("received_bytes", 128),
    word("retransmission_timeout_us", 8),
    word("delayed_ack_timeout_us", 12),
    word("since_last_data_sent_ms", 44),
    word("since_last_data_received_ms", 52),
    long("busy_us", 168),
    long("receive_window_limited_us", 176),
    long("send_buffer_limited_us", 184),
];

/// INET_DIAG_SKMEMINFO (linux/sock_diag.h, SK_MEMINFO_…): what INET_DIAG_MEMINFO has, and the limits.
pub const MEMORY: [Field; 4] = [
    word("receive_memory_bytes", 0),
    word("receive_buffer_bytes", 4),
    word("send_buffer_bytes", 12),
    word("send_memory_bytes", 20),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_known_where_the_structure_reaches_its_end() {
        let mut bytes = [0; 164];
        bytes[68..72].copy_from_slice(&1234u32.to_ne_bytes());
        bytes[156..160].copy_from_slice(&7u32.to_ne_bytes());
        let info = Structure::copied(&bytes);
        assert_eq!(info.number(RTT), Some(1234));
        assert_eq!(info.number(DATA_SEGMENTS_SENT), Some(7));
        // Half a number is none.
        assert_eq!(info.number(DELIVERY_RATE), None);
        assert_eq!(Structure::default().number(RTT), None);
    }

    #[test]
    fn what_is_kept_of_a_structure_is_bounded() {
        let long = Structure::copied(&vec![1; 1 << 16]);
        assert_eq!(long.bytes.len(), MAX_BYTES);
    }

    #[test]
    fn the_offsets_are_those_of_the_headers() {
        use std::mem::offset_of;
        let told = [
            (CWND, offset_of!(libc::tcp_info, tcpi_snd_cwnd)),
            (RTT, offset_of!(libc::tcp_info, tcpi_rtt)),
            (RETRANSMITS, offset_of!(libc::tcp_info, tcpi_total_retrans)),
            (UNSENT, offset_of!(libc::tcp_info, tcpi_notsent_bytes)),
            (
                DATA_SEGMENTS_SENT,
                offset_of!(libc::tcp_info, tcpi_data_segs_out),
            ),
            (
                DELIVERY_RATE,
                offset_of!(libc::tcp_info, tcpi_delivery_rate),
            ),
        ];
        for (field, offset) in told {
            assert_eq!(field.offset, offset, "{}", field.name);
        }
    }
}
