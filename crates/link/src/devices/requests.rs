//! What is asked of the kernel about devices and their addresses, as bytes (rtnetlink(7);
//! linux/rtnetlink.h, linux/if_link.h). No I/O.

use std::{
    net::Ipv4Addr,
    os::fd::{AsRawFd, BorrowedFd},
};
use tinygram_load::netlink::request::{NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, Request};

/// A link's two hosts and no more.
const PREFIX_BITS: u8 = 30;

const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;

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
    name_and_mac(&mut request, near);
    request.nested(IFLA_LINKINFO, |info| {
        info.attribute(IFLA_INFO_KIND, b"veth");
        info.nested(IFLA_INFO_DATA, |data| {
            data.nested(VETH_INFO_PEER, |peer| {
                peer.push(&NEW_DEVICE);
                name_and_mac(peer, far);
                let namespace_fd = far_namespace.as_raw_fd();
                peer.attribute(IFLA_NET_NS_FD, &namespace_fd.to_ne_bytes());
            });
        });
    });
    request.finished()
}

fn name_and_mac(request: &mut Request, end: VethEnd<'_>) {
    request.attribute(IFLA_IFNAME, &[end.name.as_bytes(), &[0]].concat());
    request.attribute(IFLA_ADDRESS, &end.mac);
}

/// `struct ifinfomsg` of a device, with flags to set.
fn device(index: u32, flags: u32) -> Vec<u8> {
    // Family, padding and type are 0: of any kind.
    [0, index, flags, flags].map(u32::to_ne_bytes).concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs::File, os::fd::AsFd};
    use tinygram_load::netlink::wire::attributes;

    #[test]
    fn a_request_says_its_own_length_and_is_whole_words() {
        for (request, length) in [
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
