//! Numbers in the C structures that the kernel hands over, by their fixed offsets.
//!
//! Those structures only ever grow at their end: a kernel older than a field hands over a shorter one,
//! and the field is not known; a newer kernel hands over a longer structure, whose end is ignored.

use std::mem::offset_of;

/// How many bytes of a structure are kept; `struct tcp_info` has some 280 bytes today.
const MAX_BYTES: usize = 512;

/// A structure of the kernel's, as it came; empty if it did not come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    bytes: Vec<u8>,
}

impl Structure {
    /// A copy of a structure, or of its beginning if it is long.
    pub fn copied(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes[..bytes.len().min(MAX_BYTES)].to_vec(),
        }
    }

    /// The number in `field`; `None` if the structure ends before it.
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
    /// Our name for the field.
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

/// A member of libc's `struct tcp_info`, at its offset there.
macro_rules! told {
    ($name:literal, $member:ident) => {
        Field {
            name: $name,
            offset: offset_of!(libc::tcp_info, $member),
            length: length_of(|info| &info.$member),
        }
    };
}

const fn length_of<T>(_: fn(&libc::tcp_info) -> &T) -> usize {
    size_of::<T>()
}

/// Congestion window.
pub const CWND: Field = told!("cwnd_segments", tcpi_snd_cwnd);
/// Bytes in the send queue that are not sent yet.
pub const UNSENT: Field = told!("unsent_bytes", tcpi_notsent_bytes);
/// Smoothed round-trip time.
pub const RTT: Field = told!("rtt_us", tcpi_rtt);
/// Segments sent again.
pub const RETRANSMITS: Field = told!("retransmits", tcpi_total_retrans);
/// Segments sent that carried data.
pub const DATA_SEGMENTS_SENT: Field = told!("data_segments_sent", tcpi_data_segs_out);
/// Bytes sent, including those sent again.
pub const SENT: Field = told!("sent_bytes", tcpi_bytes_sent);
/// The rate at which data arrives, as the kernel last measured it
/// (draft-cheng-iccrg-delivery-rate-estimation).
pub const DELIVERY_RATE: Field = told!("delivery_rate_bytes_per_s", tcpi_delivery_rate);

/// `struct tcp_info` (linux/tcp.h), without the congestion window, which /proc/net/tcp has, too.
pub const TCP_INFO: [Field; 25] = [
    UNSENT,
    RTT,
    told!("rtt_variance_us", tcpi_rttvar),
    told!("min_rtt_us", tcpi_min_rtt),
    DELIVERY_RATE,
    told!("send_mss_bytes", tcpi_snd_mss),
    told!("peer_window_bytes", tcpi_snd_wnd),
    RETRANSMITS,
    told!("retransmitted_bytes", tcpi_bytes_retrans),
    told!("lost_segments", tcpi_lost),
    told!("unacknowledged_segments", tcpi_unacked),
    told!("segments_sent", tcpi_segs_out),
    told!("segments_received", tcpi_segs_in),
    DATA_SEGMENTS_SENT,
    told!("data_segments_received", tcpi_data_segs_in),
    SENT,
    // The kernel counts the SYN, too.
    told!("acknowledged_bytes", tcpi_bytes_acked),
    told!("received_bytes", tcpi_bytes_received),
    told!("retransmission_timeout_us", tcpi_rto),
    told!("delayed_ack_timeout_us", tcpi_ato),
    told!("since_last_data_sent_ms", tcpi_last_data_sent),
    told!("since_last_data_received_ms", tcpi_last_data_recv),
    told!("busy_us", tcpi_busy_time),
    told!("receive_window_limited_us", tcpi_rwnd_limited),
    told!("send_buffer_limited_us", tcpi_sndbuf_limited),
];

/// INET_DIAG_SKMEMINFO (linux/sock_diag.h, SK_MEMINFO_…): the fields of INET_DIAG_MEMINFO, and limits.
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
}
