//! Private network namespaces, kept by descriptors only: the kernel removes them with their last
//! process, also after a kill.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::{
    fs::File,
    io,
    net::{Ipv4Addr, UdpSocket},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    thread,
};
use tinygram_net::process::with_signals_blocked;

fn current() -> io::Result<OwnedFd> {
    Ok(File::open("/proc/thread-self/ns/net")?.into())
}

/// Move the calling thread into `namespace`; processes that it starts are born there.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN.
pub fn enter(namespace: BorrowedFd) -> io::Result<()> {
    let network = Some(LinkNameSpaceType::Network);
    Ok(move_into_link_name_space(namespace, network)?)
}

/// Make a network namespace with nothing but a loopback device that is up. Returns descriptors
/// of the namespace the caller is in, and stays in, and of the new one.
///
/// # Errors
/// What the kernel says where that is not permitted or not available (EPERM without
/// CAP_SYS_ADMIN). ESRCH: the way home failed, and the caller is in the new namespace.
pub fn create() -> io::Result<(OwnedFd, OwnedFd)> {
    let home = current()?;
    // Changes nothing, and needs what coming home needs: in a user namespace of its own a process
    // may leave a network that it may not enter again.
    enter(home.as_fd())?;
    // SAFETY: takes a number; affects the calling thread alone.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let made = set_loopback_up().and_then(|()| current());
    enter(home.as_fd()).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    Ok((home, made?))
}

/// Run `act` on a thread in another network, where the thread ends.
///
/// # Errors
/// Without a thread, or where it may not go there (EPERM); what `act` says.
pub(super) fn in_namespace<T: Send>(
    namespace: BorrowedFd<'_>,
    act: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let in_there = || {
            enter(namespace)?;
            act()
        };
        let start = || thread::Builder::new().spawn_scoped(scope, in_there);
        with_signals_blocked(start)?
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("a thread in a namespace broke")))
    })
}

pub(super) fn set_loopback_up() -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: an all-zero ifreq is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads an ifreq with a name and flags.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
