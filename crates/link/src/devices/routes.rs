//! Which networks the host has routes to (rtnetlink(7)).

use std::{io, net::Ipv4Addr};
use tinygram_load::netlink::{
    Netlink,
    request::{NLM_F_DUMP, Request},
    wire::{Outcome, ReplyError, attributes, length_within, messages},
};

const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
/// `struct rtmsg`, which attributes follow.
const ROUTE_BYTES: usize = 12;
const RTA_DST: u16 = 1;

/// What a route leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The network's first address.
    pub network: Ipv4Addr,
    /// So many of its bits are the network's, 0 to 32.
    pub prefix_bits: u8,
}

/// All IPv4 routes of the calling thread's network, of every table: the host's own addresses too.
///
/// # Errors
/// What the kernel says; `InvalidData` for an answer that is none; `TimedOut`.
pub fn host_routes() -> io::Result<Vec<Route>> {
    let mut routes = Vec::new();
    Netlink::open(None)?.exchange(all_routes, |datagram, sequence| {
        parse_routes(datagram, sequence, |route| routes.push(route))
    })?;
    Ok(routes)
}

fn all_routes(sequence: u32) -> Vec<u8> {
    let mut request = Request::new(RTM_GETROUTE, NLM_F_DUMP, sequence);
    let mut of_every_table = [0; ROUTE_BYTES];
    of_every_table[0] = libc::AF_INET as u8;
    request.push(&of_every_table);
    request.finished()
}

/// Read a datagram of the answer to request `sequence`; `keep` gets each IPv4 route in it.
///
/// # Errors
/// [`ReplyError`]; what came before was kept.
pub fn parse_routes(
    datagram: &[u8],
    sequence: u32,
    mut keep: impl FnMut(Route),
) -> Result<Outcome, ReplyError> {
    messages(datagram, sequence, |kind, body| {
        if kind == RTM_NEWROUTE {
            length_within("a route", body, ROUTE_BYTES, <[u8]>::len)?;
            let mut network = Ipv4Addr::UNSPECIFIED;
            attributes(&body[ROUTE_BYTES..], |kind, value| {
                if let (RTA_DST, Some(&octets)) = (kind, value.first_chunk::<4>()) {
                    network = octets.into();
                }
            })?;
            let (family, prefix_bits) = (body[0], body[1]);
            if i32::from(family) == libc::AF_INET && prefix_bits <= 32 {
                keep(Route {
                    network,
                    prefix_bits,
                });
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    const SEQUENCE: u32 = 3;

    /// A datagram with one route to `destination`.
    fn told(family: i32, prefix_bits: u8, destination: &[u8]) -> Vec<u8> {
        let mut body = vec![family as u8, prefix_bits];
        body.resize(ROUTE_BYTES, 0);
        body.extend((4 + destination.len() as u16).to_ne_bytes());
        body.extend(RTA_DST.to_ne_bytes());
        body.extend(destination);
        let mut message = (16 + body.len() as u32).to_ne_bytes().to_vec();
        message.extend(RTM_NEWROUTE.to_ne_bytes());
        message.extend([0; 2]);
        message.extend(SEQUENCE.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        message
    }

    fn routes(datagram: &[u8]) -> (Vec<Route>, Result<Outcome, ReplyError>) {
        let mut routes = Vec::new();
        let outcome = parse_routes(datagram, SEQUENCE, |route| routes.push(route));
        (routes, outcome)
    }

    #[test]
    fn a_route_is_read_and_those_of_ipv6_are_passed_over() {
        let mut datagram = told(libc::AF_INET, 8, &[10, 0, 0, 0]);
        datagram.extend(told(libc::AF_INET6, 64, &[0xfd; 16]));
        let expected = Route {
            network: Ipv4Addr::new(10, 0, 0, 0),
            prefix_bits: 8,
        };
        assert_eq!(routes(&datagram), (vec![expected], Ok(Outcome::More)));
    }

    #[test]
    fn what_is_cut_off_is_refused() {
        let datagram = told(libc::AF_INET, 8, &[10, 0, 0, 0]);
        for length in 1..datagram.len() {
            assert!(routes(&datagram[..length]).1.is_err(), "{length}");
        }
    }

    #[test]
    fn the_host_has_a_route_to_itself() {
        let all = host_routes().unwrap();
        assert!(all.iter().any(|route| route.network.is_loopback()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
            prop_assert!(routes(&bytes).0.len() * (16 + ROUTE_BYTES) <= bytes.len());
        }
    }
}
