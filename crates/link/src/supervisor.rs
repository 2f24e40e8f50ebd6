//! A PID namespace, so that nothing that a process starts outlives it, whichever process is killed.
//!
//! Three processes: the first stays outside and ends as the worker does; PID 1 inside reaps, and is
//! killed when the first is; the worker goes on. When PID 1 ends, the kernel kills all processes in its
//! namespace. Being killed with the parent (PR_SET_PDEATHSIG) is not enough: the children of a process
//! that is killed so stay.

use crate::namespace;
use rustix::{
    io::Errno,
    mount::{MountFlags, MountPropagationFlags, mount, mount_change},
    process::{
        Pid, Signal, WaitOptions, WaitStatus, getegid, geteuid, set_parent_process_death_signal,
        waitpid,
    },
};
use std::{
    fs,
    io::{self, Read},
    mem,
    os::unix::net::UnixStream,
    ptr,
};

/// The signals that tell a process to end, those for the user's own purposes, and SIGCHLD.
const ATTENDED: [libc::c_int; 7] = [
    libc::SIGCHLD,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// Go on as a child in a PID namespace of its own; with a user namespace as its root, and in an empty
/// network of its own. Returns in the child alone, whether /proc shows the new namespace's processes.
/// `fork` is fork(2), for a caller that does more about it.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN, or where user namespaces are refused; ENOSPC at the kernel's limit of
/// namespaces; EINVAL for a user namespace when there are other threads. Later ones are of whichever
/// process is then the one that goes on.
pub fn enter(
    has_user_namespace: bool,
    mut fork: impl FnMut() -> io::Result<libc::pid_t>,
) -> io::Result<bool> {
    leave_host(has_user_namespace, &root_maps())?;
    let (kept_outside, lifeline) = UnixStream::pair()?;
    let signals = Attended::block();
    let init = fork()?;
    if init != 0 {
        drop(lifeline);
        end_as(init);
    }
    drop(kept_outside);
    die_with_the_first(&lifeline)?;
    let is_proc_ours = mount_proc().is_ok();
    let worker = fork()?;
    if worker != 0 {
        end_as(worker);
    }
    drop(signals);
    Ok(is_proc_ours)
}

/// The errno with which [`enter`] would be refused, or without a user namespace the making of networks
/// afterwards; tried by a child. `None`: it is permitted.
///
/// # Errors
/// When no child can be made.
pub fn refusal(has_user_namespace: bool) -> io::Result<Option<i32>> {
    hear_of_children();
    let maps = root_maps();
    // SAFETY: the child makes system calls and ends: what another thread may hold, such as memory to
    // give, it does not ask for.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    if child == 0 {
        // Root of a user namespace in a network of somebody else's may not come home to that, and one
        // without CAP_NET_ADMIN has no use for a network: both can have a user namespace of their own.
        let refused = match has_user_namespace {
            true => leave_host(true, &maps).err(),
            false => namespace::create()
                .and_then(|_| leave_host(false, &maps))
                .err(),
        };
        let errno = refused.map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO));
        // SAFETY: ends the child at once, with nothing of the parent's done a second time.
        unsafe { libc::_exit(errno) };
    }
    let child = Pid::from_raw(child);
    loop {
        match waitpid(child, WaitOptions::empty()) {
            Err(Errno::INTR) => {}
            ended => {
                let errno = ended?.map_or(0, |(_, status)| exit_code(status));
                return Ok((errno != 0).then_some(errno));
            }
        }
    }
}

/// Go into the namespaces of [`enter`], except those of a child. Allocates no memory.
fn leave_host(has_user_namespace: bool, maps: &[(&str, String)]) -> io::Result<()> {
    unshare(has_user_namespace)?;
    if has_user_namespace {
        // Some hosts permit the namespace, and then refuse it any rights.
        for (path, line) in maps {
            fs::write(path, line)?;
        }
        namespace::set_loopback_up()?;
    }
    Ok(())
}

/// Leave the namespaces. With a user namespace the network is new, too, for its root may not come back to
/// the old one.
fn unshare(has_user_namespace: bool) -> io::Result<()> {
    let with_user = libc::CLONE_NEWUSER | libc::CLONE_NEWNET;
    let kinds = libc::CLONE_NEWPID | if has_user_namespace { with_user } else { 0 };
    // SAFETY: takes a number. The calling process stays in its PID namespace: its children are born
    // in the new one.
    match unsafe { libc::unshare(kinds) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The files and their contents that make this user root of a new user namespace; outside it stays the
/// same user (user_namespaces(7)).
fn root_maps() -> [(&'static str, String); 3] {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {user} 1")),
        ("/proc/self/gid_map", format!("0 {group} 1")),
    ]
}

/// Make sure that the end of a child is reported: a process may be started with SIGCHLD ignored.
fn hear_of_children() {
    // SAFETY: takes numbers.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// In PID 1: die with the first process, or now, if it is dead already. Its PID cannot be seen from here,
/// so it holds the other end of `lifeline`.
fn die_with_the_first(mut lifeline: &UnixStream) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    lifeline.set_nonblocking(true)?;
    match lifeline.read(&mut [0]) {
        Ok(0) => {
            // SAFETY: ends this process at once.
            unsafe { libc::_exit(1) }
        }
        _ => Ok(()),
    }
}

/// Show this namespace's processes in /proc, only to processes that are born here.
fn mount_proc() -> io::Result<()> {
    // SAFETY: takes a number.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // Later mounts of the host are still seen here, but mounts made here are not seen there.
    mount_change(
        c"/",
        MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM,
    )?;
    let safe = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount(c"proc", c"/proc", c"proc", safe, None)?)
}

/// Blocks the signals of [`ATTENDED`], which then wait until they are taken; dropping this restores them.
struct Attended {
    before: libc::sigset_t,
}

impl Attended {
    fn block() -> Self {
        hear_of_children();
        // SAFETY: both sets are initialized before they are read.
        unsafe {
            let mut before: libc::sigset_t = mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, &attended(), &mut before);
            Self { before }
        }
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        // SAFETY: `before` is what the kernel wrote.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}

fn attended() -> libc::sigset_t {
    // SAFETY: the set is made empty before anything is added, and the numbers are signals.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in ATTENDED {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// Attend a child until it ends, and end with its exit code.
fn end_as(child: libc::pid_t) -> ! {
    let code = attend(child);
    // SAFETY: ends this process at once: the child has done all that is to be done at exit.
    unsafe { libc::_exit(code) }
}

/// Reap all children, and pass this process's signals on to `child`, until it ends. Returns its exit code.
/// The signals are blocked.
fn attend(child: libc::pid_t) -> i32 {
    let set = attended();
    loop {
        if let Some(code) = reap(child) {
            return code;
        }
        // SAFETY: an all-zero siginfo_t is valid.
        let mut told: libc::siginfo_t = unsafe { mem::zeroed() };
        // SAFETY: the kernel reads a set and writes a siginfo_t.
        let signal = unsafe { libc::sigwaitinfo(&set, &mut told) };
        // The child gets a key's signal by itself, being in the terminal's foreground. Only the session's
        // leader is told that the terminal is gone.
        let is_of_a_key = matches!(signal, libc::SIGINT | libc::SIGQUIT) && told.si_code > 0;
        if signal > 0 && signal != libc::SIGCHLD && !is_of_a_key {
            // SAFETY: takes numbers; `child` is not reaped yet, so it is nobody else's.
            unsafe { libc::kill(child, signal) };
        }
    }
}

/// Take note of all children that have ended. Returns the exit code of `child`, if it is among them.
fn reap(child: libc::pid_t) -> Option<i32> {
    loop {
        match waitpid(None, WaitOptions::NOHANG) {
            Ok(None) => return None,
            Ok(Some((ended, status))) if Some(ended) == Pid::from_raw(child) => {
                return Some(exit_code(status));
            }
            // There is no child: it cannot be waited for.
            Err(_) => return Some(1),
            Ok(Some(_)) => {}
        }
    }
}

/// The shell's convention: 128 plus the signal's number for a process that was killed.
fn exit_code(status: WaitStatus) -> i32 {
    match status.terminating_signal() {
        Some(signal) => 128 + signal,
        None => status.exit_status().unwrap_or(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[allow(clippy::zombie_processes)] // waitpid(2) waits for them.
    fn an_exit_code_is_kept_and_a_signal_is_told_apart() {
        let ended = |command| {
            let child = Command::new("sh").args(["-c", command]).spawn().unwrap();
            let (_, status) = waitpid(Some(Pid::from_child(&child)), WaitOptions::empty())
                .unwrap()
                .unwrap();
            exit_code(status)
        };
        assert_eq!(ended("exit 7"), 7);
        assert_eq!(ended("kill -KILL $$"), 137);
    }

    #[test]
    fn a_refusal_is_what_the_kernel_says_and_asking_leaves_this_process_where_it_is() {
        let namespace = || fs::read_link("/proc/thread-self/ns/pid_for_children").unwrap();
        let before = namespace();
        for has_user_namespace in [false, true] {
            let refused = refusal(has_user_namespace).unwrap();
            assert!(refused.is_none_or(|errno| (1..128).contains(&errno)));
        }
        assert_eq!(namespace(), before);
    }
}
