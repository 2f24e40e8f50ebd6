//! Reads /proc/net/tcp and /proc/net/tcp6, where there is no sock_diag.

use super::{
    held::{Held, Wanted},
    proc_net::parse_line,
};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

/// The largest file that is read: some two million sockets.
const MAX_BYTES: u64 = 300 << 20;

/// The sockets of the network whose files are in `directory`: `/proc/thread-self/net`, or
/// `/proc/PID/net` of a process in another network.
///
/// # Errors
/// When `tcp` cannot be read; `InvalidData` for a line that is none.
pub fn read_proc(directory: &Path, wanted: &Wanted) -> io::Result<Held> {
    let mut held = Held::default();
    read_file(&directory.join("tcp"), wanted, &mut held)?;
    match read_file(&directory.join("tcp6"), wanted, &mut held) {
        // A kernel without IPv6 has no such file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(held),
        other => other.map(|()| held),
    }
}

fn read_file(path: &Path, wanted: &Wanted, held: &mut Held) -> io::Result<()> {
    let lines = BufReader::new(File::open(path)?.take(MAX_BYTES)).lines();
    for line in lines.skip(1) {
        let socket = parse_line(&line?)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        held.take(wanted, socket);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Diag, State};
    use std::{
        io::Write,
        net::{TcpListener, TcpStream},
    };
    use tinygram_net::clock::monotonic_ns;

    #[test]
    fn it_tells_of_the_same_sockets_as_sock_diag() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let (_server, _) = listener.accept().unwrap();
        let _waits = TcpStream::connect(address).unwrap();
        client.write_all(b"hello").unwrap();
        let wanted = Wanted {
            port: Some(address.port()),
            inodes: None,
        };
        let directory = Path::new("/proc/thread-self/net");
        let told = |held: &Held| {
            let mut told: Vec<_> = held
                .sockets
                .iter()
                .map(|socket| {
                    let ends = (socket.id.local, socket.id.remote, socket.inode);
                    (ends, socket.receive_queue, socket.cwnd_segments)
                })
                .collect();
            told.sort_by_key(|&(ends, ..)| ends);
            told
        };
        let mut diag = Diag::open().unwrap();
        // Data may be on its way while we look.
        let mut is_same = || {
            let by_netlink = diag.sockets(&wanted).unwrap();
            let by_file = read_proc(directory, &wanted).unwrap();
            by_file.sockets.len() == 5 && told(&by_file) == told(&by_netlink)
        };
        let give_up_ns = monotonic_ns() + 60_000_000_000;
        while !is_same() {
            assert!(monotonic_ns() < give_up_ns, "not the same for a minute");
        }
        let by_file = read_proc(directory, &wanted).unwrap();
        let is_listener = |state| state == State::Listen;
        let listens = by_file
            .sockets
            .iter()
            .find(|s| is_listener(s.state))
            .unwrap();
        assert_eq!((listens.receive_queue, listens.send_queue), (1, None));
    }

    #[test]
    fn a_folder_without_the_files_is_an_error() {
        let missing = read_proc(Path::new("/proc/self/ns"), &Wanted::default());
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
