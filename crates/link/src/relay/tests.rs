//! The relay with sockets in place of devices.

use super::{Counts, Framing, Relay, RelayError, errno_of};
use crate::model::LinkSpec;
use std::{
    fs::File,
    io,
    os::{fd::OwnedFd, unix::net::UnixDatagram},
    time::Duration,
};
use tinygram_net::clock::{monotonic_ns, sleep_until_ns};

const ONE_MS: LinkSpec = LinkSpec {
    one_way_ns: 1_000_000,
    jitter_ns: 0,
    bandwidth_bits_per_s: None,
    loss: 0.0,
    queue_bytes: 100_000,
    mtu_bytes: 1500,
};

/// A relay, and sockets that stand for the two hosts.
fn relay_between(spec: LinkSpec) -> (Relay, [UnixDatagram; 2]) {
    let mut devices = Vec::new();
    let hosts = [0, 1].map(|_| {
        let (host, device) = UnixDatagram::pair().unwrap();
        device.set_nonblocking(true).unwrap();
        host.set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        devices.push(OwnedFd::from(device));
        host
    });
    let devices = <[OwnedFd; 2]>::try_from(devices).unwrap();
    let relay = Relay::new(devices, spec, 1, Framing::Tun).unwrap();
    (relay, hosts)
}

fn packet(number: u8) -> [u8; 40] {
    let mut packet = [number; 40];
    packet[..4].copy_from_slice(&[0x45, 0, 0, 40]);
    packet
}

fn received(host: &UnixDatagram) -> Vec<u8> {
    let mut bytes = [0; 2000];
    let length = host.recv(&mut bytes).unwrap();
    bytes[..length].to_vec()
}

/// Wait until the relay's figures are so, or a minute has passed.
fn wait_until(mut is_so: impl FnMut() -> bool) {
    let give_up_ns = monotonic_ns() + 60_000_000_000;
    while !is_so() {
        assert!(monotonic_ns() < give_up_ns, "not within a minute");
        sleep_until_ns(monotonic_ns() + 1_000_000);
    }
}

#[test]
fn packets_come_whole_in_order_and_never_before_their_delay_is_over() {
    let (mut relay, [near, far]) = relay_between(ONE_MS);
    relay.start().unwrap();
    for (from, to) in [(&near, &far), (&far, &near)] {
        let sent_ns = monotonic_ns();
        for number in 0..5 {
            from.send(&packet(number)).unwrap();
        }
        for number in 0..5 {
            assert_eq!(received(to), packet(number));
            assert!(monotonic_ns() - sent_ns >= ONE_MS.one_way_ns);
        }
    }
    relay.stop();
    let report = relay.report();
    for counts in report.counts {
        assert_eq!((counts.packets, counts.bytes), (5, 200));
    }
    assert_eq!(report.failed_errno, None);
    assert!(report.cpu_ns > 0);
    assert_eq!(relay.take_lateness().count(), 10);
    assert_eq!(relay.take_lateness().count(), 0);
}

#[test]
fn what_finds_the_queue_full_and_what_is_no_packet_are_counted() {
    // 1538 bytes at 1 kbit/s: 12 s. The second one of them finds the queue full.
    let slow = LinkSpec {
        bandwidth_bits_per_s: Some(1_000),
        queue_bytes: 1538,
        ..ONE_MS
    };
    let (mut relay, [near, _far]) = relay_between(slow);
    relay.start().unwrap();
    let mut long = [0; 1500];
    long[..4].copy_from_slice(&[0x45, 0, 0x05, 0xdc]);
    near.send(&long).unwrap();
    near.send(&long).unwrap();
    near.send(b"no packet").unwrap();
    wait_until(|| {
        let from_near = relay.report().counts[0];
        (from_near.full, from_near.ignored) == (1, 1)
    });
    relay.stop();
    let dropped = Counts {
        full: 1,
        ignored: 1,
        ..Counts::default()
    };
    assert_eq!(relay.report().counts, [dropped, Counts::default()]);
}

#[test]
fn what_is_lost_is_counted() {
    let lossy = LinkSpec {
        loss: 0.999_999_999,
        ..ONE_MS
    };
    let (mut relay, [_near, far]) = relay_between(lossy);
    relay.start().unwrap();
    far.send(&packet(1)).unwrap();
    wait_until(|| relay.report().counts[1].lost == 1);
    relay.stop();
    assert_eq!(relay.report().counts.map(|counts| counts.packets), [0, 0]);
}

#[test]
fn a_device_that_is_gone_ends_the_relay_and_is_told() {
    let (mut relay, [near, far]) = relay_between(ONE_MS);
    relay.start().unwrap();
    near.send(&[]).unwrap();
    wait_until(|| relay.report().failed_errno == Some(libc::EIO));
    drop((near, far));
    relay.stop();
    relay.stop();
}

#[test]
fn a_relay_that_broke_says_so_and_one_that_was_told_to_end_does_not() {
    assert_eq!(errno_of(Ok(Ok(()))), None);
    let no_device = io::Error::from_raw_os_error(libc::ENODEV);
    assert_eq!(errno_of(Ok(Err(no_device))), Some(libc::ENODEV));
    assert_eq!(errno_of(Err(Box::new("a panic"))), Some(libc::EIO));
}

#[test]
fn a_device_that_never_ends_does_not_keep_the_other_one_waiting() {
    let endless = File::options()
        .read(true)
        .write(true)
        .open("/dev/zero")
        .unwrap();
    let (far, device) = UnixDatagram::pair().unwrap();
    device.set_nonblocking(true).unwrap();
    let devices = [endless.into(), device.into()];
    let mut relay = Relay::new(devices, ONE_MS, 1, Framing::Tun).unwrap();
    relay.start().unwrap();
    wait_until(|| relay.report().counts[0].ignored > 1_000);
    far.send(&packet(1)).unwrap();
    wait_until(|| relay.report().counts[1].packets == 1);
    relay.stop();
}

#[test]
fn a_relay_that_stood_still_notes_it_and_what_waited_for_it_meanwhile_is_late() {
    const STOP_NS: u64 = 200_000_000;
    let (mut relay, [near, far]) = relay_between(ONE_MS);
    relay.start().unwrap();
    near.send(&packet(1)).unwrap();
    received(&far);
    assert_eq!(relay.report().counts[0].packets, 1);
    let before = relay.report().stops;
    relay.take_lateness();
    relay.take_stood_still_ns();
    let began_ns = monotonic_ns();
    // Nothing is on the way, so that no packet can tell by its delay.
    relay.stand_still(|| {
        near.send(&packet(2)).unwrap();
        sleep_until_ns(monotonic_ns() + STOP_NS);
    });
    assert_eq!(received(&far), packet(2));
    let stops = relay.report().stops;
    assert!(stops.count > before.count, "{stops:?}");
    assert!(
        stops.stopped_ns - before.stopped_ns >= STOP_NS / 2,
        "{stops:?}"
    );
    assert!(stops.watched_ns >= stops.stopped_ns, "{stops:?}");
    wait_until(|| relay.report().counts[0].packets == 2);
    assert!(relay.take_lateness().max_ns() >= STOP_NS / 2);
    let stood_still_ns = relay.take_stood_still_ns();
    let longest_ns = stood_still_ns.iter().map(|(from, to)| to - from).max();
    assert!(longest_ns >= Some(STOP_NS / 2), "{stood_still_ns:?}");
    assert!(
        stood_still_ns
            .iter()
            .all(|&(_, to)| (began_ns..=monotonic_ns()).contains(&to)),
        "{stood_still_ns:?}"
    );
    relay.stop();
}

#[test]
fn it_starts_once_and_stops_while_it_sleeps() {
    let (mut relay, _hosts) = relay_between(ONE_MS);
    relay.start().unwrap();
    assert!(relay.start().is_err());
    relay.stop();
    assert!(relay.start().is_err());
}

#[test]
fn a_link_that_cannot_be_is_refused() {
    let (near, far) = UnixDatagram::pair().unwrap();
    let devices = [near, far].map(OwnedFd::from);
    let lost = LinkSpec {
        loss: 1.0,
        ..ONE_MS
    };
    let refused = Relay::new(devices, lost, 1, Framing::Tun).unwrap_err();
    assert!(matches!(refused, RelayError::Link(_)), "{refused}");
}
