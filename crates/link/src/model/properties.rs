//! The laws of [`Direction`], for any link and any packets.

use super::{Direction, ETHERNET_BYTES, LinkSpec, Load, Offer};
use proptest::{collection::vec, prelude::*};

/// Any that fill their queues, and that do not.
fn specs() -> impl Strategy<Value = LinkSpec> {
    let bandwidth = prop_oneof![1_000u64..1_000_000, 1_000_000u64..10_000_000_000];
    let jitter_ns = prop_oneof![Just(0), 0u64..5_000_000];
    (
        0u64..50_000_000,
        jitter_ns,
        proptest::option::of(bandwidth),
        0.0f64..0.5,
        prop_oneof![1538u64..6_000, 1538u64..300_000],
    )
        .prop_map(
            |(one_way_ns, jitter_ns, bandwidth_bits_per_s, loss, queue_bytes)| LinkSpec {
                one_way_ns,
                jitter_ns,
                bandwidth_bits_per_s,
                loss,
                queue_bytes,
                mtu_bytes: 1500,
            },
        )
}

/// One packet most of the time, or several that a device hands over as one.
fn loads() -> impl Strategy<Value = Load> {
    prop_oneof![3 => Just(1u32), 1 => 2u32..=8]
        .prop_flat_map(|packets| (Just(packets), 20 * packets..=1500 * packets))
        .prop_map(|(packets, bytes)| Load { packets, bytes })
}

fn wire_bytes(load: Load) -> u64 {
    u64::from(load.bytes) + u64::from(load.packets) * ETHERNET_BYTES
}

/// (when, after the one before it; what) of each load: often at once.
fn offered() -> impl Strategy<Value = Vec<(u64, Load)>> {
    let gap_ns = prop_oneof![Just(0), 0u64..20_000, 0u64..20_000_000];
    vec((gap_ns, loads()), 1..200)
}

#[derive(Clone, Copy)]
struct Carried {
    offered_ns: u64,
    load: Load,
    offer: Offer,
}

impl Carried {
    fn arrival_ns(&self) -> Option<u64> {
        match self.offer {
            Offer::At(arrival_ns) => Some(arrival_ns),
            Offer::Lost | Offer::Full => None,
        }
    }
}

fn carried(spec: LinkSpec, offered: &[(u64, Load)], seed: u64) -> Vec<Carried> {
    let mut direction = Direction::new(spec, seed);
    let mut now_ns = 1;
    offered
        .iter()
        .map(|&(gap_ns, load)| {
            now_ns += gap_ns;
            Carried {
                offered_ns: now_ns,
                load,
                offer: direction.offer(now_ns, load),
            }
        })
        .collect()
}

/// (arrival, bytes on the wire) of those that arrive.
fn arrivals(carried: &[Carried]) -> Vec<(u64, u64)> {
    carried
        .iter()
        .filter_map(|one| Some((one.arrival_ns()?, wire_bytes(one.load))))
        .collect()
}

proptest! {
    #[test]
    fn packets_arrive_in_the_order_in_which_they_were_offered(
        spec in specs(), offered in offered(), seed: u64
    ) {
        prop_assert!(arrivals(&carried(spec, &offered, seed)).is_sorted_by_key(|&(at_ns, _)| at_ns));
    }

    #[test]
    fn none_is_lost_or_dropped_without_a_reason(
        spec in specs(), offered in offered(), seed: u64
    ) {
        let calm = LinkSpec { loss: 0.0, queue_bytes: 1 << 30, ..spec };
        let all = arrivals(&carried(calm, &offered, seed));
        prop_assert_eq!(all.len(), offered.len());
        let unlimited = LinkSpec { bandwidth_bits_per_s: None, ..spec };
        let fates = carried(unlimited, &offered, seed);
        prop_assert!(fates.iter().all(|one| one.offer != Offer::Full));
        // What finds nothing before it is not dropped.
        let first = carried(calm, &offered[..1], seed);
        prop_assert!(first[0].arrival_ns().is_some());
    }

    #[test]
    fn no_interval_between_arrivals_carries_more_than_the_bandwidth(
        spec in specs(), offered in offered(), seed: u64
    ) {
        let Some(bits_per_s) = spec.bandwidth_bits_per_s else { return Ok(()) };
        let arrivals = arrivals(&carried(spec, &offered, seed));
        for (first, &(from_ns, _)) in arrivals.iter().enumerate() {
            let mut bits = 0u128;
            for &(to_ns, bytes) in &arrivals[first + 1..] {
                bits += u128::from(bytes) * 8;
                let room = u128::from(bits_per_s) * u128::from(to_ns - from_ns);
                prop_assert!(bits * 1_000_000_000 <= room);
            }
        }
    }

    #[test]
    fn the_delay_is_never_undercut_and_jitter_adds_no_more_than_itself(
        spec in specs(), offered in offered(), seed: u64
    ) {
        let carried = carried(spec, &offered, seed);
        let mut free_ns = 0;
        for one in &carried {
            let Some(arrival_ns) = one.arrival_ns() else { continue };
            let sent_ns = one.offered_ns.max(free_ns) + spec.serialisation_ns(one.load);
            free_ns = sent_ns;
            prop_assert!(sent_ns + spec.one_way_ns <= arrival_ns);
            prop_assert!(arrival_ns <= sent_ns + spec.one_way_ns + spec.jitter_ns);
        }
    }

    #[test]
    fn the_queue_never_holds_more_than_it_may_and_drops_only_what_has_no_room(
        spec in specs(), offered in offered(), seed: u64
    ) {
        let Some(bits_per_s) = spec.bandwidth_bits_per_s else { return Ok(()) };
        // Without jitter an arrival says when the packet was sent.
        let spec = LinkSpec { jitter_ns: 0, loss: 0.0, ..spec };
        let carried = carried(spec, &offered, seed);
        let mut free_ns = 0u64;
        for one in &carried {
            let left_ns = u128::from(free_ns.saturating_sub(one.offered_ns));
            let waiting = (left_ns * u128::from(bits_per_s)).div_ceil(8_000_000_000) as u64;
            let with_it = waiting + wire_bytes(one.load);
            prop_assert_eq!(one.offer == Offer::Full, with_it > spec.queue_bytes);
            if let Some(arrival_ns) = one.arrival_ns() {
                free_ns = arrival_ns - spec.one_way_ns;
            }
        }
    }

    #[test]
    fn the_same_seed_has_the_same_fates_and_a_smaller_loss_loses_a_part_of_them(
        spec in specs(), offered in offered(), seed: u64
    ) {
        let offers = |spec| -> Vec<Offer> {
            carried(spec, &offered, seed).iter().map(|one| one.offer).collect()
        };
        prop_assert_eq!(offers(spec), offers(spec));
        let fewer = LinkSpec { loss: spec.loss / 2.0, ..spec };
        for (rarely, often) in offers(fewer).iter().zip(offers(spec)) {
            prop_assert!(*rarely != Offer::Lost || often == Offer::Lost);
        }
    }
    #[test]
    fn order_rate_and_delay_hold_while_the_link_changes(
        steps in vec((specs(), 0u64..1_000_000, offered()), 2..5), seed: u64
    ) {
        let mut direction = Direction::new(steps[0].0, seed);
        let (mut now_ns, mut free_ns, mut last_ns) = (1, 0, 0);
        for (spec, excess_ns, offered) in steps {
            direction.set_spec(spec);
            direction.set_excess_ns(excess_ns);
            for (gap_ns, load) in offered {
                now_ns += gap_ns;
                let Offer::At(arrival_ns) = direction.offer(now_ns, load) else { continue };
                let serialisation_ns = spec.serialisation_ns(load);
                free_ns = now_ns.max(free_ns) + serialisation_ns;
                let delay_ns = spec.one_way_ns.saturating_sub(excess_ns);
                prop_assert!(free_ns + delay_ns <= arrival_ns);
                prop_assert!(last_ns + serialisation_ns <= arrival_ns);
                last_ns = arrival_ns;
            }
        }
    }

    #[test]
    fn the_longest_and_slowest_link_that_can_be_counts_right(
        offered in offered(), since_boot_ns in 0..u64::MAX / 4, seed: u64
    ) {
        let spec = LinkSpec {
            one_way_ns: 10_000_000_000,
            jitter_ns: 10_000_000_000,
            bandwidth_bits_per_s: Some(1_000),
            loss: 0.0,
            queue_bytes: 1 << 30,
            mtu_bytes: 65_535,
        };
        prop_assert_eq!(spec.check(), Ok(()));
        let mut direction = Direction::new(spec, seed);
        let mut wire_ns = 0;
        for (_, load) in offered {
            // 1,000 bits take a second.
            wire_ns += wire_bytes(load) * 8_000_000;
            let sent_ns = since_boot_ns + wire_ns;
            let Offer::At(arrival_ns) = direction.offer(since_boot_ns, load) else {
                return Err(TestCaseError::fail("there is room for it"));
            };
            prop_assert!(sent_ns + spec.one_way_ns <= arrival_ns);
            prop_assert!(arrival_ns <= sent_ns + spec.one_way_ns + spec.jitter_ns);
        }
    }
}
