//! What packets go through: TUN devices, veth pairs and packet sockets, in namespaces of ours.

mod address;
mod requests;
mod routes;

pub use address::{MAX_NETWORKS, unrouted_networks};
pub use routes::{Route, host_routes, parse_routes};

use crate::namespace;
use requests::VethEnd;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, socket_with,
    sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force},
};
use std::{
    ffi::CString,
    fs::{self, File},
    io, mem,
    net::Ipv4Addr,
    os::{
        fd::{AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::OpenOptionsExt,
    },
    ptr, thread,
};
use tinygram_load::netlink::{Netlink, wire::messages};
use tinygram_net::process::with_signals_blocked;

/// Of each device with an address: with one for all a frame of one pair is right in another, and
/// without ARP a host takes its own for the other one's.
const HOST_MAC: [u8; 6] = [2, b't', b'g', 0, 0, 1];
/// Of devices that a relay listens at: what comes there is for somebody else.
const RELAY_MAC: [u8; 6] = [2, b't', b'g', 0, 0, 2];
/// What a packet socket keeps until the relay comes: 8 ms at 10 Gbit/s.
const PACKET_BUFFER_BYTES: usize = 16 << 20;

/// A TUN device with segmentation offload hands over no longer packets: at 1 Gbit/s such a one takes
/// 100 µs on the wire, and they all wait for its last bit.
pub(super) const OFFLOADED_BYTES: u32 = 12_000;
const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0;
/// TUN_F_CSUM and TUN_F_TSO4: checksums are left open, and TCP over IPv4 uncut.
const TUN_OFFLOADS: libc::c_ulong = 1 | 2;
/// The kernel's own choice, for a queue that a veth device has only when somebody puts one there.
const VETH_QUEUE_PACKETS: u32 = 1_000;
const SIOCETHTOOL: libc::Ioctl = 0x8946;
/// ETHTOOL_S…: checksums left to the device, segments left to it (TSO), to the kernel (GSO), and put
/// together on arrival (GRO).
const OFFLOADS: [u32; 4] = [0x17, 0x1f, 0x24, 0x2c];

/// One end of a veth pair.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// Where it lies.
    pub namespace: BorrowedFd<'a>,
    /// Its device's name.
    pub name: &'a str,
    /// Its address; `None`: a relay listens there.
    pub address: Option<Ipv4Addr>,
}

/// Make a TUN device with an address, of a network of two hosts, and switch it on. It goes with the
/// descriptor, which does not block. With `has_offload` what it hands over is
/// [`Framing::TunOffload`](super::Framing::TunOffload)'s.
///
/// # Errors
/// ENOENT without /dev/net/tun, EACCES where it is not ours to open, EPERM without CAP_NET_ADMIN,
/// EBUSY when the name is taken, EINVAL for a name that is none.
pub fn open_tun(
    namespace: BorrowedFd<'_>,
    name: &str,
    address: Ipv4Addr,
    mtu_bytes: u32,
    queue_packets: u32,
    has_offload: bool,
) -> io::Result<OwnedFd> {
    in_namespace(namespace, || {
        let mut request = named_request(name)?;
        let header = if has_offload { libc::IFF_VNET_HDR } else { 0 };
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | header) as libc::c_short;
        let device = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")?;
        // SAFETY: TUNSETIFF reads and writes an ifreq, and `request` is one.
        if unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, &mut request) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if has_offload {
            // SAFETY: TUNSETOFFLOAD takes a number.
            if unsafe { libc::ioctl(device.as_raw_fd(), TUNSETOFFLOAD, TUN_OFFLOADS) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        switch_on(name, Some(address), mtu_bytes, queue_packets)?;
        Ok(device.into())
    })
}

/// Make a veth pair, and switch both ends on. After an error it may be there, until one of the
/// namespaces goes.
///
/// # Errors
/// EPERM without CAP_NET_ADMIN, EEXIST when a name is taken, EOPNOTSUPP where the kernel has no veth,
/// EINVAL for a name that is none.
pub fn make_veth(near: End<'_>, far: End<'_>, mtu_bytes: u32) -> io::Result<()> {
    let [wanted_near, wanted_far] = [near, far].map(|end| VethEnd {
        name: end.name,
        mac: end.address.map_or(RELAY_MAC, |_| HOST_MAC),
    });
    // Both names are looked at before anything is made.
    named_request(near.name)?;
    named_request(far.name)?;
    in_namespace(near.namespace, || {
        let make = |sequence| requests::make_veth(wanted_near, wanted_far, far.namespace, sequence);
        change(&mut Netlink::open(None)?, make)
    })?;
    for end in [near, far] {
        in_namespace(end.namespace, || {
            switch_offloads_off(end.name)?;
            switch_on(end.name, end.address, mtu_bytes, VETH_QUEUE_PACKETS)
        })?;
    }
    Ok(())
}

/// A socket that reads and writes the IPv4 frames of a device, and does not block.
///
/// # Errors
/// EPERM without CAP_NET_RAW, ENODEV without that device.
pub fn packet_socket(namespace: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    in_namespace(namespace, || {
        let index = index_of(name)?;
        // Of no protocol until it is bound, so that nothing of other devices comes.
        let socket = socket_with(
            AddressFamily::PACKET,
            SocketType::RAW,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        set_socket_recv_buffer_size(&socket, PACKET_BUFFER_BYTES)?;
        // This one is not for everyone, and then the first one's limit holds.
        let _may_be_refused = set_socket_recv_buffer_size_force(&socket, PACKET_BUFFER_BYTES);
        // SAFETY: an all-zero sockaddr_ll is valid.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as libc::c_ushort;
        address.sll_protocol = (libc::ETH_P_IP as u16).to_be();
        address.sll_ifindex = index as libc::c_int;
        // SAFETY: the kernel reads a sockaddr_ll.
        let status = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                ptr::from_ref(&address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        };
        match status {
            0 => Ok(socket),
            _ => Err(io::Error::last_os_error()),
        }
    })
}

/// How many frames a packet socket had no room for since this was last asked; 0 for what is none.
pub(super) fn take_missed(socket: BorrowedFd<'_>) -> u64 {
    let mut found = libc::tpacket_stats {
        tp_packets: 0,
        tp_drops: 0,
    };
    let mut length = size_of_val(&found) as libc::socklen_t;
    // SAFETY: the kernel writes a tpacket_stats, no longer than `length` says.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            ptr::from_mut(&mut found).cast(),
            &mut length,
        )
    };
    if status == 0 {
        found.tp_drops.into()
    } else {
        0
    }
}

/// Do something by a thread in another network: it ends there, so that nobody has to come home.
///
/// # Errors
/// Where there is no thread to be had, or it may not go there (EPERM); what `act` says.
pub(super) fn in_namespace<T: Send>(
    namespace: BorrowedFd<'_>,
    act: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let in_there = || {
            namespace::enter(namespace)?;
            act()
        };
        let start = || thread::Builder::new().spawn_scoped(scope, in_there);
        with_signals_blocked(start)?
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("a thread in a namespace broke")))
    })
}

fn switch_on(
    name: &str,
    address: Option<Ipv4Addr>,
    mtu_bytes: u32,
    queue_packets: u32,
) -> io::Result<()> {
    let index = index_of(name)?;
    // IPv6 would send by itself, and is not carried. Where /proc/sys is read-only it does.
    let _may_be_refused = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
    let mut netlink = Netlink::open(None)?;
    change(&mut netlink, |sequence| {
        requests::set_sizes(index, mtu_bytes, queue_packets, OFFLOADED_BYTES, sequence)
    })?;
    if let Some(address) = address {
        change(&mut netlink, |sequence| {
            requests::add_address(index, address, sequence)
        })?;
    }
    change(&mut netlink, |sequence| requests::set_up(index, sequence))
}

/// Ask for a change, and wait until it is made.
fn change(netlink: &mut Netlink, request: impl FnOnce(u32) -> Vec<u8>) -> io::Result<()> {
    netlink.exchange(request, |datagram, sequence| {
        messages(datagram, sequence, |_, _| Ok(()))
    })
}

/// Packets then have the size and the checksum that they would have on a wire.
fn switch_offloads_off(name: &str) -> io::Result<()> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    for command in OFFLOADS {
        let mut value = [command, 0]; // `struct ethtool_value`: off.
        let mut request = named_request(name)?;
        request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
        // SAFETY: SIOCETHTOOL reads an ifreq, and what it points to, which is a command and a value.
        let status = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &mut request) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn index_of(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: reads a zero-terminated string.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// An ifreq of a device; EINVAL for a name that none can have.
fn named_request(name: &str) -> io::Result<libc::ifreq> {
    let is_name = (1..libc::IFNAMSIZ).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !is_name {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: an all-zero ifreq is valid.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    Ok(request)
}
