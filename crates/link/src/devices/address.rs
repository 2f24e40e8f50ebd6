//! Networks for links that nothing of the host's is in. No I/O.

use super::routes::Route;
use std::net::Ipv4Addr;

/// So many are found at once.
pub const MAX_NETWORKS: usize = 64;
/// A network of two hosts.
const NETWORK_ADDRESSES: u32 = 4;
/// What leads to more than this is a way out, such as 0.0.0.0/0 or a VPN's two halves of it, and no
/// network that somebody has.
const LONGEST_WAY_OUT_BITS: u8 = 7;

/// Private ranges (RFC 1918), those first that fewer hosts have networks in: first and last address.
const RANGES: [(Ipv4Addr, Ipv4Addr); 4] = [
    (
        Ipv4Addr::new(10, 128, 0, 0),
        Ipv4Addr::new(10, 255, 255, 255),
    ),
    (
        Ipv4Addr::new(172, 16, 0, 0),
        Ipv4Addr::new(172, 31, 255, 255),
    ),
    (
        Ipv4Addr::new(192, 168, 0, 0),
        Ipv4Addr::new(192, 168, 255, 255),
    ),
    (Ipv4Addr::new(10, 0, 0, 0), Ipv4Addr::new(10, 127, 255, 255)),
];

/// The two hosts of `count` /30 networks that no route covers or is in: `None` where there are not
/// so many.
pub fn unrouted_networks(routes: &[Route], count: usize) -> Option<Vec<[Ipv4Addr; 2]>> {
    let taken: Vec<(u32, u32)> = routes.iter().filter_map(span).collect();
    let mut found = Vec::new();
    for (first, last) in RANGES {
        let (mut at, last) = (first.to_bits(), last.to_bits());
        while found.len() < count && at < last {
            let end = at + NETWORK_ADDRESSES - 1;
            let in_the_way = taken
                .iter()
                .filter(|&&(from, to)| from <= end && at <= to)
                .map(|&(_, to)| to)
                .max();
            if in_the_way.is_none() {
                found.push([at + 1, at + 2].map(Ipv4Addr::from_bits));
            }
            // To the first network behind it.
            at = (in_the_way.unwrap_or(end) | (NETWORK_ADDRESSES - 1)) + 1;
        }
    }
    (found.len() >= count).then_some(found)
}

/// First and last address of what a route leads to; `None`: it is a way out.
fn span(route: &Route) -> Option<(u32, u32)> {
    if route.prefix_bits <= LONGEST_WAY_OUT_BITS {
        return None;
    }
    let hosts = u32::MAX.checked_shr(route.prefix_bits.into()).unwrap_or(0);
    let first = route.network.to_bits() & !hosts;
    Some((first, first | hosts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn route(network: [u8; 4], prefix_bits: u8) -> Route {
        Route {
            network: network.into(),
            prefix_bits,
        }
    }

    fn first_near(routes: &[Route]) -> Option<Ipv4Addr> {
        unrouted_networks(routes, 1).map(|found| found[0][0])
    }

    #[test]
    fn a_network_that_a_route_leads_to_is_passed_over() {
        let near = |octets: [u8; 4]| Some(octets.into());
        assert_eq!(first_near(&[]), near([10, 128, 0, 1]));
        assert_eq!(
            first_near(&[route([10, 128, 0, 0], 16)]),
            near([10, 129, 0, 1])
        );
        // One address in it is enough.
        assert_eq!(
            first_near(&[route([10, 128, 0, 3], 32)]),
            near([10, 128, 0, 5])
        );
        assert_eq!(
            first_near(&[route([10, 0, 0, 0], 8)]),
            near([172, 16, 0, 1])
        );
    }

    #[test]
    fn a_way_out_is_in_nobodys_way() {
        let routes = [route([0; 4], 0), route([128, 0, 0, 0], 1)];
        assert_eq!(first_near(&routes), first_near(&[]));
    }

    #[test]
    fn where_all_is_taken_there_is_none() {
        let all = [
            route([10, 0, 0, 0], 8),
            route([172, 16, 0, 0], 12),
            route([192, 168, 0, 0], 16),
        ];
        assert_eq!(first_near(&all), None);
        assert_eq!(first_near(&all[..2]), Some(Ipv4Addr::new(192, 168, 0, 1)));
    }

    proptest! {
        #[test]
        fn no_address_is_in_a_network_of_the_hosts_and_all_differ(
            routes in vec((any::<[u8; 3]>(), 8u8..=32), 0..40), count in 1usize..=MAX_NETWORKS
        ) {
            let routes: Vec<Route> = routes
                .into_iter()
                .map(|([b, c, d], bits)| route([10, b, c, d], bits))
                .collect();
            let found = unrouted_networks(&routes, count).expect("172.16.0.0/12 is free");
            prop_assert_eq!(found.len(), count);
            let mut networks: Vec<u32> = found.iter().map(|[near, _]| near.to_bits() & !3).collect();
            for (network, [near, far]) in networks.iter().zip(&found) {
                prop_assert_eq!([near.to_bits(), far.to_bits()], [network + 1, network + 2]);
                prop_assert!(near.is_private());
                for (from, to) in routes.iter().filter_map(span) {
                    prop_assert!(network + 3 < from || to < *network);
                }
            }
            networks.sort_unstable();
            networks.dedup();
            prop_assert_eq!(networks.len(), count);
        }
    }
}
