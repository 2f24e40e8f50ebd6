//! One direction of a relay: the packets that are on the way from one device to the other.

use super::framing::{Framing, OFFLOADED_BYTES};
use crate::model::{Direction, Load, Offer};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, ErrorKind, Read, Write},
};
use tinygram_core::Histogram;
use tinygram_net::clock::monotonic_ns;

/// Packets read, or written, before the other direction has its turn: 10 to 20 µs.
pub(super) const BATCH: usize = 8;
/// Packets that are on the way take no more memory than this.
const MAX_HELD_BYTES: usize = 256 << 20;

/// The counts of the packets of one direction, by their fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Delivered.
    pub packets: u64,
    /// The bytes of the delivered IP packets.
    pub bytes: u64,
    /// Lost, because the link is to lose packets.
    pub lost: u64,
    /// Dropped, because the queue was full.
    pub full: u64,
    /// Dropped, because more bytes were on the way than are kept.
    pub overflow: u64,
    /// Dropped, because the device did not take them.
    pub refused: u64,
    /// Dropped, because they were no IPv4 packets, or longer than the MTU.
    pub ignored: u64,
    /// Dropped before, because a packet socket keeps no more than its buffer until the relay comes. The
    /// packets that a TUN device drops are counted by its network.
    pub missed: u64,
}

#[derive(Debug)]
struct Held {
    at_ns: u64,
    /// How long it may have waited in its device while the relay stood still.
    unseen_ns: u64,
    length: usize,
    load: Load,
    frame: Box<[u8]>,
}

/// The packets of one direction that are on the way.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) direction: Direction,
    /// For how long the relay stood still before what its device has now was read.
    pub(super) unseen_ns: u64,
    framing: Framing,
    frame_bytes: usize,
    held: VecDeque<Held>,
    /// Memory for frames that is not in use now.
    spare: Vec<Box<[u8]>>,
}

impl Lane {
    pub(super) fn new(direction: Direction, framing: Framing) -> Self {
        let mtu_bytes = direction.spec().mtu_bytes;
        let packet_bytes = match framing {
            Framing::TunOffload => mtu_bytes.max(OFFLOADED_BYTES),
            Framing::Tun | Framing::Ethernet => mtu_bytes,
        };
        Self {
            direction,
            unseen_ns: 0,
            framing,
            frame_bytes: framing.header_bytes() + packet_bytes as usize,
            held: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// The bytes behind the device's header; none if the frame is shorter than the header.
    fn packet<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        frame.get(self.framing.header_bytes()..).unwrap_or_default()
    }

    /// When the first packet is due.
    pub(super) fn next_due_ns(&self) -> Option<u64> {
        self.held.front().map(|first| first.at_ns)
    }

    /// Read what has come, a batch at most. Returns how many frames: after a whole batch there may be more.
    /// `taken_in` gets each packet, and the time.
    ///
    /// # Errors
    /// When the device hands over no more.
    pub(super) fn take_in(
        &mut self,
        mut from: &File,
        counts: &mut Counts,
        mut taken_in: impl FnMut(&[u8], u64),
    ) -> io::Result<usize> {
        for taken in 0..BATCH {
            let mut frame = self.spare_frame();
            match from.read(&mut frame) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => {
                    let now_ns = monotonic_ns();
                    taken_in(self.packet(&frame[..length]), now_ns);
                    self.offer(now_ns, frame, length, counts);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.spare.push(frame);
                    self.unseen_ns = 0;
                    return Ok(taken);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(BATCH)
    }

    /// Write what is due, a batch at most. Returns how many frames. `delivered_one` gets each packet, and
    /// the time.
    pub(super) fn deliver(
        &mut self,
        mut to: &File,
        counts: &mut Counts,
        lateness: &mut Histogram,
        mut delivered_one: impl FnMut(&[u8], u64),
    ) -> usize {
        for delivered in 0..BATCH {
            let Some(due_ns) = self.next_due_ns() else {
                return delivered;
            };
            // Read anew for each packet: the time that the ones before it took is its lateness.
            let now_ns = monotonic_ns();
            if now_ns < due_ns {
                return delivered;
            }
            let Some(held) = self.held.pop_front() else {
                return delivered;
            };
            lateness.record(now_ns - due_ns + held.unseen_ns);
            match to.write(&held.frame[..held.length]) {
                Ok(written) if written == held.length => {
                    delivered_one(self.packet(&held.frame[..held.length]), now_ns);
                    counts.packets += u64::from(held.load.packets);
                    counts.bytes += u64::from(held.load.bytes);
                }
                // Drop it, like a host that has no room.
                _ => counts.refused += u64::from(held.load.packets),
            }
            self.spare.push(held.frame);
        }
        BATCH
    }

    fn offer(&mut self, now_ns: u64, frame: Box<[u8]>, length: usize, counts: &mut Counts) {
        let Some(load) = self.framing.load(&frame[..length]) else {
            counts.ignored += 1;
            self.spare.push(frame);
            return;
        };
        let dropped = if self.held.len() >= MAX_HELD_BYTES / self.frame_bytes {
            &mut counts.overflow
        } else {
            match self.direction.offer(now_ns, load) {
                Offer::Lost => &mut counts.lost,
                Offer::Full => &mut counts.full,
                Offer::At(at_ns) => {
                    self.held.push_back(Held {
                        at_ns,
                        unseen_ns: self.unseen_ns,
                        length,
                        load,
                        frame,
                    });
                    return;
                }
            }
        };
        *dropped += u64::from(load.packets);
        self.spare.push(frame);
    }

    fn spare_frame(&mut self) -> Box<[u8]> {
        let made = || vec![0; self.frame_bytes].into_boxed_slice();
        self.spare.pop().unwrap_or_else(made)
    }
}
