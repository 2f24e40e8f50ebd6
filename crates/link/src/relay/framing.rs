//! The framing of a device: an IP packet, a frame with one, or several packets in one. No I/O.

use crate::model::Load;

/// Destination, source, kind.
const ETHERNET_HEADER_BYTES: usize = 14;
const ETHERTYPE_IPV4: [u8; 2] = [8, 0];
/// Without options (RFC 791 §3.1, RFC 9293 §3.1).
const IPV4_HEADER_BYTES: usize = 20;
const TCP_HEADER_BYTES: usize = 20;
/// `struct virtio_net_hdr` (linux/virtio_net.h): flags, kind, how much is in one piece (a hint: most
/// often the headers), length of a segment's payload, and two more of the checksum that is still to
/// be made.
const OFFLOAD_HEADER_BYTES: usize = 10;
/// The longest packet of a TUN device with segmentation offload: at 1 Gbit/s it takes 100 µs on the
/// wire, and all its segments wait for the last bit.
pub const OFFLOADED_BYTES: u32 = 12_000;
const OFFLOAD_NONE: u8 = 0;
const OFFLOAD_TCP: u8 = 1;
/// Congestion was told by the network, as RFC 3168 has it.
const OFFLOAD_ECN_BIT: u8 = 0x80;

/// The framing of a relay's devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// IP packets alone: a TUN device.
    Tun,
    /// Packets of TCP that are to be cut into segments, with a header that says how: a TUN device with
    /// segmentation offload. They are not cut here; the other host takes them whole, like a host whose
    /// network card puts segments together.
    TunOffload,
    /// Ethernet frames: a packet socket on one end of a veth pair.
    Ethernet,
}

impl Framing {
    /// How many bytes come before the IP packet.
    pub fn header_bytes(self) -> usize {
        match self {
            Self::Tun => 0,
            Self::TunOffload => OFFLOAD_HEADER_BYTES,
            Self::Ethernet => ETHERNET_HEADER_BYTES,
        }
    }

    /// The IPv4 packet in `frame`, as long as it says itself, or the packets that would be made of it;
    /// `None` when there is none: IPv6, which is not relayed, or a frame that is too short.
    pub fn load(self, frame: &[u8]) -> Option<Load> {
        let (header, packet) = frame.split_at_checked(self.header_bytes())?;
        if self == Self::Ethernet && !header.ends_with(&ETHERTYPE_IPV4) {
            return None;
        }
        let is_ipv4 = packet.len() >= IPV4_HEADER_BYTES && packet[0] >> 4 == 4;
        if !is_ipv4 {
            return None;
        }
        let said = u16::from_be_bytes([packet[2], packet[3]]);
        let room = IPV4_HEADER_BYTES..=packet.len();
        if !room.contains(&usize::from(said)) {
            return None;
        }
        match self {
            Self::TunOffload => segments(header, packet, said),
            Self::Tun | Self::Ethernet => Some(u32::from(said).into()),
        }
    }
}

/// The segments that a packet of `bytes` stands for, as `header` from the device says.
fn segments(header: &[u8], packet: &[u8], bytes: u16) -> Option<Load> {
    match header[1] & !OFFLOAD_ECN_BIT {
        OFFLOAD_NONE => Some(u32::from(bytes).into()),
        OFFLOAD_TCP => {
            let headers_bytes = headers_bytes(packet)?;
            // In the byte order of this host, as all of that header.
            let payload_bytes = u16::from_ne_bytes([header[4], header[5]]);
            let whole_bytes = bytes.checked_sub(headers_bytes)?;
            if payload_bytes == 0 {
                return None;
            }
            let packets = u32::from(whole_bytes).div_ceil(payload_bytes.into()).max(1);
            let headers_more = u32::from(headers_bytes).checked_mul(packets - 1)?;
            Some(Load {
                packets,
                bytes: u32::from(bytes).checked_add(headers_more)?,
            })
        }
        _ => None,
    }
}

/// The headers of IPv4 and TCP, which each segment has: each says its length in words of 4 bytes.
fn headers_bytes(packet: &[u8]) -> Option<u16> {
    let ipv4_bytes = usize::from(packet[0] & 0xf) * 4;
    let tcp_bytes = usize::from(packet.get(ipv4_bytes + 12)? >> 4) * 4;
    let are_headers = ipv4_bytes >= IPV4_HEADER_BYTES && tcp_bytes >= TCP_HEADER_BYTES;
    are_headers.then_some((ipv4_bytes + tcp_bytes) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn packet(length: u16, room: usize) -> Vec<u8> {
        let mut packet = vec![0; room];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet
    }

    #[test]
    fn a_packet_says_its_length_and_a_frame_has_one_behind_its_header() {
        assert_eq!(Framing::Tun.load(&packet(52, 52)), Some(52.into()));
        let mut frame = vec![2; 12];
        frame.extend(ETHERTYPE_IPV4);
        frame.extend(packet(52, 60));
        assert_eq!(Framing::Ethernet.load(&frame), Some(52.into()));
        frame[12] = 0x86;
        assert_eq!(Framing::Ethernet.load(&frame), None);
    }

    #[test]
    fn what_is_no_ipv4_packet_is_none() {
        let mut ipv6 = packet(52, 52);
        ipv6[0] = 0x60;
        for frame in [vec![], vec![0x45; 19], packet(19, 20), packet(53, 52), ipv6] {
            assert_eq!(Framing::Tun.load(&frame), None, "{frame:?}");
        }
        assert_eq!(Framing::Ethernet.load(&[8, 0]), None);
    }

    /// Behind the device's header and that of IPv4.
    const TCP_LENGTH_AT: usize = 10 + 20 + 12;

    /// A packet of 52 bytes of headers and `payload_bytes`, of which segments of 1,448 are to be made.
    fn offloaded(kind: u8, payload_bytes: u16) -> Vec<u8> {
        let [low, high] = 1_448u16.to_ne_bytes();
        let length = 52 + payload_bytes;
        // All in one piece.
        let [short, long] = length.to_ne_bytes();
        let mut frame = vec![1, kind, short, long, low, high, 0, 0, 0, 0];
        frame.extend(packet(length, length.into()));
        frame[TCP_LENGTH_AT] = 8 << 4;
        frame
    }

    #[test]
    fn a_packet_that_is_to_be_cut_counts_as_the_segments_that_would_be_made() {
        let load = |kind, payload_bytes| Framing::TunOffload.load(&offloaded(kind, payload_bytes));
        let of = |packets, bytes| Some(Load { packets, bytes });
        assert_eq!(load(0, 1_448), of(1, 1_500));
        for tcp in [1, 0x81] {
            assert_eq!(load(tcp, 0), of(1, 52));
            assert_eq!(load(tcp, 1_448), of(1, 1_500));
            assert_eq!(load(tcp, 1_449), of(2, 1_501 + 52));
            assert_eq!(load(tcp, 7 * 1_448), of(7, 7 * 1_500));
        }
        // UDP in segments was not permitted; a segment of nothing would never end.
        assert_eq!(load(3, 1_448), None);
        let mut endless = offloaded(1, 1_448);
        endless[4..6].fill(0);
        assert_eq!(Framing::TunOffload.load(&endless), None);
        for (at, length) in [(10, 0x44), (10, 0x4f), (TCP_LENGTH_AT, 4 << 4)] {
            let mut headerless = offloaded(1, 1_448);
            headerless[at] = length;
            assert_eq!(Framing::TunOffload.load(&headerless), None, "{at}");
        }
        let mut too_short = offloaded(1, 0);
        too_short[TCP_LENGTH_AT] = 9 << 4;
        assert_eq!(Framing::TunOffload.load(&too_short), None);
    }

    proptest! {
        #[test]
        fn no_packet_is_longer_than_what_came(bytes in vec(any::<u8>(), 0..100)) {
            for framing in [Framing::Tun, Framing::Ethernet] {
                if let Some(load) = framing.load(&bytes) {
                    prop_assert!(framing.header_bytes() + load.bytes as usize <= bytes.len());
                }
            }
        }

        #[test]
        fn what_is_to_be_cut_has_the_bytes_that_came_and_headers_for_each_segment(
            kind in 0u8..=4, payload_bytes: u16, words: (u8, u8), bytes in vec(any::<u8>(), 40..3_000)
        ) {
            let mut frame = vec![0, kind, 0, 0];
            frame.extend(payload_bytes.to_ne_bytes());
            frame.extend([0; 4]);
            let (length, room) = (bytes.len() as u16, frame.len());
            frame.extend(bytes);
            frame[room] = 0x40 | words.0 & 0xf;
            frame[room + 2..room + 4].copy_from_slice(&length.to_be_bytes());
            frame[TCP_LENGTH_AT] = words.1;
            if let Some(load) = Framing::TunOffload.load(&frame) {
                let more = load.bytes - u32::from(length);
                prop_assert!(load.packets >= 1);
                prop_assert!((load.packets - 1) * 40 <= more && more <= (load.packets - 1) * 120);
            }
        }
    }
}
