//! The relay with sockets in place of devices, and devices where they are permitted.

use super::{Counts, Framing, Relay, RelayError, calibrate, calibrate::LOOKS, errno_of};
use crate::{
    devices::{End, in_namespace, make_veth, open_tun, packet_socket},
    model::LinkSpec,
    namespace,
    ping_pong::ping_pong,
};
use rustix::net::sockopt;
use std::{
    fs::File,
    io,
    net::{Ipv4Addr, UdpSocket},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixDatagram,
    },
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

/// A relay, and what stands for the two hosts.
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

/// Until the relay's figures are so, or a minute has passed.
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

/// Whether this is what a host says that permits no namespaces or has no TUN.
fn is_refusal(error: &io::Error) -> bool {
    let refusals = [
        libc::EPERM,
        libc::EACCES,
        libc::ENOENT,
        libc::ENODEV,
        libc::ENOSPC,
    ];
    error
        .raw_os_error()
        .is_some_and(|errno| refusals.contains(&errno))
}

/// A link through two TUN devices, from the first address to the second; `None`: not permitted.
fn tun_link(addresses: [Ipv4Addr; 2]) -> Option<(Relay, [OwnedFd; 2])> {
    let made = || -> io::Result<_> {
        let namespaces = [namespace::create()?.1, namespace::create()?.1];
        let device = |at: usize| {
            open_tun(
                namespaces[at].as_fd(),
                "tg0",
                addresses[at],
                1500,
                1000,
                false,
            )
        };
        Ok(([device(0)?, device(1)?], namespaces))
    };
    match made() {
        Ok((devices, namespaces)) => {
            let relay = Relay::new(devices, ONE_MS, 1, Framing::Tun).unwrap();
            Some((relay, namespaces))
        }
        Err(error) if is_refusal(&error) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn calibration_takes_off_what_the_relay_adds() {
    let addresses = [Ipv4Addr::new(10, 200, 0, 1), Ipv4Addr::new(10, 200, 0, 2)];
    let Some((mut relay, [near, far])) = tun_link(addresses) else {
        return;
    };
    relay.start().unwrap();
    let found = calibrate(&relay, near.as_fd(), far.as_fd(), addresses[1]).unwrap();
    assert_eq!(found.asked_rtt_ns, 2_000_000);
    assert!(found.found_rtt_ns >= found.asked_rtt_ns, "{found:?}");
    let round_trips_ns = ping_pong(near.as_fd(), far.as_fd(), addresses[1], 5).unwrap();
    assert_eq!(round_trips_ns.len(), 5);
    relay.stop();
    let [there, back] = relay.report().counts;
    // Two datagrams of each round trip, those of the ping-pong and of all looks.
    assert_eq!(there.packets, 5 + LOOKS * found.round_trips);
    assert_eq!(back.packets, there.packets);
}

/// A host, and the socket at the other end of its veth pair; `None`: not permitted.
fn veth_to_a_relay(address: Ipv4Addr) -> Option<(OwnedFd, OwnedFd)> {
    let made = || -> io::Result<_> {
        let (host, between) = (namespace::create()?.1, namespace::create()?.1);
        let end = |namespace, name, address| End {
            namespace,
            name,
            address,
        };
        let near = end(host.as_fd(), "tg0", Some(address));
        make_veth(near, end(between.as_fd(), "tg1", None), 1500)?;
        Ok((host, packet_socket(between.as_fd(), "tg1")?))
    };
    match made() {
        Ok(made) => Some(made),
        Err(error) if is_refusal(&error) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Counts that have not changed for a while: a busy host hands packets over after they were sent.
fn settled(counts: impl Fn() -> [u64; 2]) -> [u64; 2] {
    let (mut seen, mut looks) = (counts(), 0);
    let give_up_ns = monotonic_ns() + 60_000_000_000;
    while looks < 100 {
        assert!(monotonic_ns() < give_up_ns, "they still change: {seen:?}");
        sleep_until_ns(monotonic_ns() + 1_000_000);
        let now = counts();
        looks = if now == seen { looks + 1 } else { 0 };
        seen = now;
    }
    seen
}

#[test]
fn what_a_packet_socket_had_no_room_for_is_counted_once() {
    const SENT: u64 = 1_000;
    let (near, far) = (Ipv4Addr::new(10, 200, 0, 5), Ipv4Addr::new(10, 200, 0, 6));
    let Some((host, socket)) = veth_to_a_relay(near) else {
        return;
    };
    // The kernel makes of it the least that there is.
    sockopt::set_socket_recv_buffer_size(&socket, 0).unwrap();
    let (_other, idle) = UnixDatagram::pair().unwrap();
    idle.set_nonblocking(true).unwrap();
    // It is not started: nobody comes for what is there.
    let relay = Relay::new([socket, idle.into()], ONE_MS, 1, Framing::Ethernet).unwrap();
    let sending = in_namespace(host.as_fd(), || UdpSocket::bind((near, 0))).unwrap();
    let send = || sending.send_to(&[0; 1000], (far, 9)).unwrap();
    let missed = || relay.report().counts.map(|counts| counts.missed);
    // A kernel that is busy begins to use a new device after it was told that it is up.
    wait_until(|| {
        send();
        missed()[0] > 0
    });
    let before = settled(missed)[0];
    for _ in 0..SENT {
        send();
    }
    let [there, back] = settled(missed);
    let counted = there - before;
    assert!(
        (SENT / 2..SENT * 3 / 2).contains(&counted),
        "{counted} of {SENT}"
    );
    assert_eq!(back, 0);
    assert_eq!(missed(), [there, 0]);
}
