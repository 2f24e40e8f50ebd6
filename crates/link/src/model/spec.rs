use thiserror::Error;

/// What Ethernet adds to each IP packet on the wire: preamble 8, header 14, checksum 4, gap 12 bytes
/// (IEEE 802.3). Short frames are not padded here.
pub const ETHERNET_BYTES: u64 = 38;

/// No round trip below this can be asked for: it is what the way through two devices and a relay
/// takes by itself. Source: a trial of this design, a ping-pong over a link without delay, on 2
/// cores of a virtual machine with Linux 6.18. A slower host adds more; calibration tells it.
pub const RTT_FLOOR_NS: u64 = 45_000;

const MAX_DELAY_NS: u64 = 10_000_000_000;
const MIN_BITS_PER_S: u64 = 1_000;
const MAX_BITS_PER_S: u64 = 1_000_000_000_000;
const MAX_QUEUE_BYTES: u64 = 1 << 30;
/// What every host must accept (RFC 791).
const MIN_MTU_BYTES: u32 = 576;
/// The longest IPv4 packet.
const MAX_MTU_BYTES: u32 = 65_535;

/// A value that no link can have.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{what} of {value}: {allowed}")]
pub struct LinkError {
    what: &'static str,
    value: String,
    allowed: String,
}

/// What a link is offered at once: a packet, or several of one connection that a device hands over as
/// one (segmentation offload). They have one fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Packets on the wire, 1 or more.
    pub packets: u32,
    /// Bytes of all of them at the level of IP: headers count with each.
    pub bytes: u32,
}

impl From<u32> for Load {
    /// One packet of so many bytes.
    fn from(bytes: u32) -> Self {
        Self { packets: 1, bytes }
    }
}

/// What one direction of a link is asked to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// From a packet's last bit on the wire to its arrival, at least.
    pub one_way_ns: u64,
    /// What is added to that at most: uniform from 0, for each packet anew, but order is kept.
    pub jitter_ns: u64,
    /// Counts packets and [`ETHERNET_BYTES`] each; `None`: unlimited, and then nothing queues.
    pub bandwidth_bits_per_s: Option<u64>,
    /// The share of packets that is lost before the queue, from 0 to below 1.
    pub loss: f64,
    /// What waits for the wire and is on it, at most, with [`ETHERNET_BYTES`] each; what would be more
    /// is dropped on arrival.
    pub queue_bytes: u64,
    /// The longest IP packet.
    pub mtu_bytes: u32,
}

impl LinkSpec {
    /// Whether a link can be like that.
    ///
    /// # Errors
    /// [`LinkError`] names the first value that it cannot have, and what is allowed.
    pub fn check(&self) -> Result<(), LinkError> {
        within("a delay in ns", self.one_way_ns, 0, MAX_DELAY_NS)?;
        within("a jitter in ns", self.jitter_ns, 0, MAX_DELAY_NS)?;
        if let Some(bits) = self.bandwidth_bits_per_s {
            within("a bandwidth in bit/s", bits, MIN_BITS_PER_S, MAX_BITS_PER_S)?;
        }
        // Not `1 <= loss`, so that what is no number is refused as well.
        if !(0.0..1.0).contains(&self.loss) {
            return Err(LinkError {
                what: "a loss",
                value: self.loss.to_string(),
                allowed: "a share from 0 to below 1 (100 %)".into(),
            });
        }
        let mtu = (MIN_MTU_BYTES.into(), MAX_MTU_BYTES.into());
        within("an MTU in bytes", self.mtu_bytes.into(), mtu.0, mtu.1)?;
        let least = u64::from(self.mtu_bytes) + ETHERNET_BYTES;
        within(
            "a queue in bytes, Ethernet's with each packet",
            self.queue_bytes,
            least,
            MAX_QUEUE_BYTES,
        )
    }

    /// How long a load occupies the wire, rounded up.
    pub fn serialisation_ns(&self, load: impl Into<Load>) -> u64 {
        let Some(bits_per_s) = self.bandwidth_bits_per_s else {
            return 0;
        };
        let bits = u128::from(wire_bytes(load.into())) * 8;
        let ns = (bits * 1_000_000_000).div_ceil(bits_per_s.max(1).into());
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

/// With what Ethernet adds to each packet.
pub(super) fn wire_bytes(load: Load) -> u64 {
    u64::from(load.bytes) + ETHERNET_BYTES * u64::from(load.packets)
}

fn within(what: &'static str, value: u64, least: u64, most: u64) -> Result<(), LinkError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(LinkError {
        what,
        value: value.to_string(),
        allowed: format!("{least} to {most} are allowed"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSSIBLE: LinkSpec = LinkSpec {
        one_way_ns: 1_000_000,
        jitter_ns: 0,
        bandwidth_bits_per_s: Some(1_000_000_000),
        loss: 0.0,
        queue_bytes: 256_000,
        mtu_bytes: 1500,
    };

    #[test]
    fn a_full_packet_takes_12_304_ns_at_1_gbit_per_s() {
        assert_eq!(POSSIBLE.serialisation_ns(1500), 12_304);
        let unlimited = LinkSpec {
            bandwidth_bits_per_s: None,
            ..POSSIBLE
        };
        assert_eq!(unlimited.serialisation_ns(1500), 0);
        let three = Load {
            packets: 3,
            bytes: 4500,
        };
        assert_eq!(POSSIBLE.serialisation_ns(three), 3 * 12_304);
        assert_eq!(unlimited.check(), Ok(()));
    }

    #[test]
    fn what_no_link_can_have_is_named_with_what_is_allowed() {
        let wrong = |change: fn(&mut LinkSpec), words: &[&str]| {
            let mut spec = POSSIBLE;
            change(&mut spec);
            let told = spec.check().unwrap_err().to_string();
            for word in words {
                assert!(told.contains(word), "{told}");
            }
        };
        assert_eq!(POSSIBLE.check(), Ok(()));
        wrong(|spec| spec.loss = 1.2, &["loss", "1.2", "below 1"]);
        wrong(|spec| spec.loss = f64::NAN, &["loss", "NaN"]);
        wrong(|spec| spec.loss = -0.1, &["loss", "-0.1"]);
        let zero = |spec: &mut LinkSpec| spec.bandwidth_bits_per_s = Some(0);
        wrong(zero, &["bandwidth", "of 0", "1000 to"]);
        wrong(
            |spec| spec.queue_bytes = 1537,
            &["queue", "1537", "1538 to"],
        );
        wrong(|spec| spec.mtu_bytes = 575, &["MTU", "575", "576 to 65535"]);
        wrong(|spec| spec.one_way_ns = u64::MAX, &["delay"]);
        wrong(|spec| spec.jitter_ns = u64::MAX, &["jitter"]);
    }
}
