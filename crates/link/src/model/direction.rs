use super::spec::{LinkSpec, Load, wire_bytes};
use tinygram_load::generator::Generator;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is lost, as the link is asked to.
    Lost,
    /// It is dropped: the queue has no room for it.
    Full,
    /// It arrives at this time, in nanoseconds.
    At(u64),
}

/// One direction's state. A packet passes loss, then a tail-drop queue limited in bytes, then the
/// wire, then the delay with its jitter.
///
/// Laws: packets arrive in the order in which they were offered; those that arrive in any interval
/// are no more than the bandwidth carries in it, but for the one that begins before it; none
/// arrives before its delay is over, nor after delay and jitter.
#[derive(Clone, Debug)]
pub struct Direction {
    spec: LinkSpec,
    generator: Generator,
    excess_ns: u64,
    /// When the wire has sent all that it was given.
    free_at_ns: u64,
    last_arrival_ns: u64,
}

impl Direction {
    /// An idle one. The same seed and the same packets at the same times have the same fate.
    ///
    /// The spec must be one that passes [`LinkSpec::check`].
    pub fn new(spec: LinkSpec, seed: u64) -> Self {
        Self {
            spec,
            generator: Generator::new(seed),
            excess_ns: 0,
            free_at_ns: 0,
            last_arrival_ns: 0,
        }
    }

    /// What it is like now.
    pub fn spec(&self) -> &LinkSpec {
        &self.spec
    }

    /// Be like that from the next packet on.
    pub fn set_spec(&mut self, spec: LinkSpec) {
        self.spec = spec;
    }

    /// Take this off the delay, as far as there is one: what carries the packets takes as long by
    /// itself.
    pub fn set_excess_ns(&mut self, excess_ns: u64) {
        self.excess_ns = excess_ns;
    }

    /// A load comes at `now_ns`, which is never before that of the last one.
    pub fn offer(&mut self, now_ns: u64, load: impl Into<Load>) -> Offer {
        let load = load.into();
        // Drawn for each load, whatever becomes of it: so one's fate does not change the next one's.
        let luck = self.generator.unit_open();
        let jitter_ns = self.generator.between(0, self.spec.jitter_ns);
        if luck <= self.spec.loss {
            return Offer::Lost;
        }
        if self.queued_bytes(now_ns) + wire_bytes(load) > self.spec.queue_bytes
            && self.spec.bandwidth_bits_per_s.is_some()
        {
            return Offer::Full;
        }
        let serialisation_ns = self.spec.serialisation_ns(load);
        let sent_ns = self.free_at_ns.max(now_ns).saturating_add(serialisation_ns);
        self.free_at_ns = sent_ns;
        let delay_ns = self.spec.one_way_ns.saturating_sub(self.excess_ns);
        // Behind the last one by what it takes on the wire: this keeps order and rate, and is never
        // after delay and jitter, for the same holds of the last one and of when it was sent.
        let after_last_ns = self.last_arrival_ns.saturating_add(serialisation_ns);
        let arrival_ns = sent_ns
            .saturating_add(delay_ns)
            .saturating_add(jitter_ns)
            .max(after_last_ns);
        self.last_arrival_ns = arrival_ns;
        Offer::At(arrival_ns)
    }

    /// What is not sent yet, of the packet on the wire too; rounded up.
    fn queued_bytes(&self, now_ns: u64) -> u64 {
        let Some(bits_per_s) = self.spec.bandwidth_bits_per_s else {
            return 0;
        };
        let left_ns = u128::from(self.free_at_ns.saturating_sub(now_ns));
        let bytes = (left_ns * u128::from(bits_per_s)).div_ceil(8_000_000_000);
        u64::try_from(bytes).unwrap_or(u64::MAX / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: LinkSpec = LinkSpec {
        one_way_ns: 500_000,
        jitter_ns: 0,
        bandwidth_bits_per_s: Some(100_000_000),
        loss: 0.0,
        queue_bytes: 3 * 1538,
        mtu_bytes: 1500,
    };

    #[test]
    fn a_packet_on_an_idle_link_takes_the_wire_and_the_delay() {
        let mut direction = Direction::new(PLAIN, 1);
        // 1538 bytes at 100 Mbit/s: 123,040 ns.
        assert_eq!(direction.offer(1_000, 1500), Offer::At(1_000 + 623_040));
        assert_eq!(direction.offer(9_000_000, 62), Offer::At(9_508_000));
    }

    #[test]
    fn packets_at_one_time_queue_and_the_last_are_dropped() {
        let mut direction = Direction::new(PLAIN, 1);
        let fates: Vec<Offer> = (0..5).map(|_| direction.offer(0, 1500)).collect();
        assert_eq!(
            fates,
            [
                Offer::At(623_040),
                Offer::At(746_080),
                Offer::At(869_120),
                Offer::Full,
                Offer::Full
            ]
        );
        // The first is sent: there is room for one.
        assert_eq!(direction.offer(123_040, 1500), Offer::At(992_160));
        assert_eq!(direction.offer(123_040, 1500), Offer::Full);
    }

    #[test]
    fn without_a_bandwidth_nothing_queues_or_is_dropped() {
        let spec = LinkSpec {
            bandwidth_bits_per_s: None,
            ..PLAIN
        };
        let mut direction = Direction::new(spec, 1);
        for _ in 0..100 {
            assert_eq!(direction.offer(7, 1500), Offer::At(500_007));
        }
    }

    #[test]
    fn what_the_relay_takes_by_itself_comes_off_the_delay_and_no_more() {
        let mut direction = Direction::new(PLAIN, 1);
        direction.set_excess_ns(100_000);
        assert_eq!(direction.offer(0, 1500), Offer::At(523_040));
        direction.set_excess_ns(u64::MAX);
        assert_eq!(direction.offer(9_000_000, 1500), Offer::At(9_123_040));
    }

    #[test]
    fn a_tenth_is_lost_where_a_tenth_is_asked_for() {
        let spec = LinkSpec { loss: 0.1, ..PLAIN };
        let mut direction = Direction::new(spec, 1);
        let lost = (0..100_000u64)
            .filter(|index| direction.offer(index * 1_000_000, 100) == Offer::Lost)
            .count();
        assert!((9_500..10_500).contains(&lost), "{lost}");
    }

    #[test]
    fn jitter_is_spread_over_its_whole_range() {
        let spec = LinkSpec {
            jitter_ns: 1_000_000,
            bandwidth_bits_per_s: None,
            ..PLAIN
        };
        let mut direction = Direction::new(spec, 1);
        let mut tenths = [0; 10];
        // Far enough apart that none waits for the one before it.
        for index in 0..10_000u64 {
            let now_ns = index * 10_000_000;
            let Offer::At(at_ns) = direction.offer(now_ns, 100) else {
                panic!("nothing is lost");
            };
            tenths[((at_ns - now_ns - 500_000) / 100_001) as usize] += 1;
        }
        assert!(
            tenths.iter().all(|count| (850..1150).contains(count)),
            "{tenths:?}"
        );
    }
}
