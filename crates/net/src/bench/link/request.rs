//! What is asked of the kernel about devices, addresses and routes, as bytes (rtnetlink(7);
//! linux/rtnetlink.h, linux/if_link.h). No I/O.

use std::{
    net::Ipv4Addr,
    os::fd::{AsRawFd, BorrowedFd},
};

/// A link's two hosts and no more.
const PREFIX_BITS: u8 = 30;

const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_GETROUTE: u16 = 26;

const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_DUMP: u16 = 0x300;
const NLM_F_CREATE: u16 = 0x400;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SIZE: u16 = 41;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

/// `struct ifinfomsg` of a device that is not there yet.
const NEW_DEVICE: [u8; 16] = [0; 16];

/// All IPv4 routes.
pub fn all_routes(sequence: u32) -> Vec<u8> {
    let mut request = Request::new(RTM_GETROUTE, NLM_F_DUMP, sequence);
    request.push(&[libc::AF_INET as u8]);
    request.push(&[0; 11]); // The rest of `struct rtmsg`: of every table.
    request.finished()
}

/// A device's MTU, how many packets may wait for it, and how long those are at most that it is to cut.
pub fn set_sizes(
    index: u32,
    mtu_bytes: u32,
    queue_packets: u32,
    offloaded_bytes: u32,
    sequence: u32,
) -> Vec<u8> {
    let mut request = Request::new(RTM_NEWLINK, NLM_F_ACK, sequence);
    request.push(&device(index, 0));
    request.attribute(IFLA_MTU, &mtu_bytes.to_ne_bytes());
    request.attribute(IFLA_TXQLEN, &queue_packets.to_ne_bytes());
    request.attribute(IFLA_GSO_MAX_SIZE, &offloaded_bytes.to_ne_bytes());
    request.finished()
}

/// Switch a device on, with no ARP: nobody answers it on the other side of a relay.
pub fn set_up(index: u32, sequence: u32) -> Vec<u8> {
    let mut request = Request::new(RTM_NEWLINK, NLM_F_ACK, sequence);
    request.push(&device(index, (libc::IFF_UP | libc::IFF_NOARP) as u32));
    request.finished()
}

/// A device's address, and with it a route to the other host.
pub fn add_address(index: u32, address: Ipv4Addr, sequence: u32) -> Vec<u8> {
    let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    let mut request = Request::new(RTM_NEWADDR, flags, sequence);
    request.push(&[libc::AF_INET as u8, PREFIX_BITS, 0, 0]);
    request.push(&index.to_ne_bytes());
    request.attribute(IFA_LOCAL, &address.octets());
    request.attribute(IFA_ADDRESS, &address.octets());
    request.finished()
}

/// One end of a veth pair.
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    /// The device's name.
    pub name: &'a str,
    /// Its Ethernet address.
    pub mac: [u8; 6],
}

/// A pair of which `near` is in the network that is asked, and `far` in another one.
pub fn make_veth(
    near: VethEnd<'_>,
    far: VethEnd<'_>,
    far_namespace: BorrowedFd<'_>,
    sequence: u32,
) -> Vec<u8> {
    let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    let mut request = Request::new(RTM_NEWLINK, flags, sequence);
    request.push(&NEW_DEVICE);
    request.name_and_mac(near);
    request.nested(IFLA_LINKINFO, |info| {
        info.attribute(IFLA_INFO_KIND, b"veth");
        info.nested(IFLA_INFO_DATA, |data| {
            data.nested(VETH_INFO_PEER, |peer| {
                peer.push(&NEW_DEVICE);
                peer.name_and_mac(far);
                let namespace_fd = far_namespace.as_raw_fd();
                peer.attribute(IFLA_NET_NS_FD, &namespace_fd.to_ne_bytes());
            });
        });
    });
    request.finished()
}

/// `struct ifinfomsg` of a device, with flags to set.
fn device(index: u32, flags: u32) -> Vec<u8> {
    // Family, padding and type are 0: of any kind.
    [0, index, flags, flags].map(u32::to_ne_bytes).concat()
}

struct Request {
    bytes: Vec<u8>,
}

impl Request {
    fn new(kind: u16, flags: u16, sequence: u32) -> Self {
        let mut bytes = vec![0; 4]; // The length, when it is known.
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend([0; 4]); // To the kernel.
        Self { bytes }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nested(kind, |inside| inside.push(value));
    }

    fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.bytes.extend([0; 2]); // The length, when it is known.
        self.bytes.extend(kind.to_ne_bytes());
        fill(self);
        let length = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        let padded = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(padded, 0);
    }

    fn name_and_mac(&mut self, end: VethEnd<'_>) {
        self.attribute(IFLA_IFNAME, &[end.name.as_bytes(), &[0]].concat());
        self.attribute(IFLA_ADDRESS, &end.mac);
    }

    fn finished(mut self) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::netlink::wire::attributes;
    use std::{fs::File, os::fd::AsFd};

    #[test]
    fn a_request_says_its_own_length_and_is_whole_words() {
        for (request, length) in [
            (all_routes(7), 16 + 12),
            (set_sizes(2, 1500, 10_000, 12_000, 7), 16 + 16 + 8 + 8 + 8),
            (set_up(2, 7), 16 + 16),
            (add_address(2, Ipv4Addr::LOCALHOST, 7), 16 + 8 + 8 + 8),
        ] {
            assert_eq!(request.len(), length);
            assert_eq!(request[..4], (length as u32).to_ne_bytes());
            assert_eq!(request[8..12], 7u32.to_ne_bytes());
        }
    }

    #[test]
    fn a_pair_names_both_ends_and_the_far_ones_namespace() {
        let end = |name| VethEnd {
            name,
            mac: [2, 0, 0, 0, 0, 1],
        };
        let file = File::open("/dev/null").unwrap();
        let request = make_veth(end("near"), end("far"), file.as_fd(), 7);
        let find = |bytes: &[u8], wanted: &[u16]| {
            wanted.iter().fold(bytes.to_vec(), |bytes, &wanted| {
                let mut found = Vec::new();
                attributes(&bytes, |kind, value| {
                    if kind == wanted {
                        found = value.to_vec();
                    }
                })
                .unwrap();
                found
            })
        };
        let device = &request[32..];
        assert_eq!(find(device, &[IFLA_IFNAME]), b"near\0");
        assert_eq!(find(device, &[IFLA_LINKINFO, IFLA_INFO_KIND]), b"veth");
        let peer = find(device, &[IFLA_LINKINFO, IFLA_INFO_DATA, VETH_INFO_PEER]);
        assert_eq!(find(&peer[16..], &[IFLA_IFNAME]), b"far\0");
        let fd = file.as_raw_fd().to_ne_bytes();
        assert_eq!(find(&peer[16..], &[IFLA_NET_NS_FD]), fd);
    }
}
