//! A connection that keeps a record which the kernel does not take whole, as OpenSSL does.

use super::*;
use crate::schedule::Slices;
use crate::{
    echo::client::{EncryptedConnection, Sent},
    socket::receive_now,
};
use std::{io, os::fd::RawFd};
use tinygram_net::socket::send_now;

const RECORD_BYTES: usize = 16 << 10;
/// How often it says of each record that the kernel takes none of it.
const REFUSALS: usize = 3;

#[derive(Debug)]
struct Keeping {
    fd: RawFd,
    kept: usize,
    /// How much of what is kept the kernel has.
    at: usize,
    refusals_left: usize,
}

impl EncryptedConnection for Keeping {
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        if bytes.len() < self.kept {
            return Err(io::Error::other("bad write retry"));
        }
        if self.kept == 0 {
            self.kept = bytes.len().min(RECORD_BYTES);
            self.refusals_left = REFUSALS;
        }
        if self.refusals_left > 0 {
            self.refusals_left -= 1;
        } else {
            self.at += send_now(self.fd, &bytes[self.at..self.kept], &[])?;
        }
        let (taken, encrypted) = if self.at == self.kept {
            (self.kept, 0)
        } else {
            (0, self.kept)
        };
        if taken > 0 {
            (self.kept, self.at) = (0, 0);
        }
        Ok(Sent { taken, encrypted })
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        receive_now(self.fd, buffer)
    }
}

fn keeping(fd: RawFd) -> io::Result<Box<dyn EncryptedConnection>> {
    Ok(Box::new(Keeping {
        fd,
        kept: 0,
        at: 0,
        refusals_left: 0,
    }))
}

#[test]
fn messages_at_a_rate_are_encrypted_like_others() {
    while_serving(&settings(PER_READ, 1 << 16), |address| {
        let settings = load(3_000, 2, 7).settings();
        let pool = pool(3_000);
        let mut client = EchoClient::connect(address, pool, &settings, Some(&keeping)).unwrap();
        client.run(Goal::Messages(24), TIMEOUT_NS).unwrap();
        // There are so many at once that they wait for room, and share records.
        let due_ns = (0..200).map(|index| index / 50 * 1_000_000).collect();
        let found = client
            .run_at_a_rate(due_ns, 1_000_000_000, TIMEOUT_NS)
            .unwrap();
        assert_eq!(
            (found.turns[0].all_messages, found.start_delays.not_begun),
            (200, 0)
        );
        assert_eq!(found.start_delays.times.count(), 200);
        client.finish(Duration::from_secs(5)).unwrap();
    });
}

#[test]
fn the_end_of_a_slice_leaves_no_record_half_sent() {
    let slices = Slices::new(vec![0, 10_000_000, 20_000_000, 30_000_000], 5_000_000).unwrap();
    while_serving(&settings(PER_READ, 1 << 16), |address| {
        // A record has five messages, and a part of a sixth.
        let settings = load(3_000, 2, 100).settings();
        let pool = pool(3_000);
        let mut client = EchoClient::connect(address, pool, &settings, Some(&keeping)).unwrap();
        client.run(Goal::Messages(24), TIMEOUT_NS).unwrap();
        let start_ns = monotonic_ns() + 5_000_000;
        let turns = client
            .run_in_slices(&slices, 500_000, 4_000_000, start_ns, TIMEOUT_NS)
            .unwrap();
        assert_eq!(turns.len(), 4);
        client.run(Goal::Messages(10), TIMEOUT_NS).unwrap();
        client.finish(Duration::from_secs(5)).unwrap();
    });
}
