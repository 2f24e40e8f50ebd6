//! Ten million messages of 32 threads, on one connection with small buffers whose reader pauses
//! again and again: each thread's are in order, and every byte is the one that was sent.

use std::{
    io::Read,
    net::{TcpListener, TcpStream},
    os::fd::AsRawFd,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tinygram_net::{CoalescingSocket, Knobs, SendError, Strategy};

const SENDERS: u8 = 32;
const MESSAGES_EACH: u32 = 312_500;
/// A prime, so that a write which does not end between two messages was cut by the kernel.
const MESSAGE_BYTES: usize = 13;
const BUFFER_BYTES: libc::c_int = 64 << 10;
const MAX_BUFFERED_BYTES: usize = 512 << 10;
const PAUSES: usize = 20;
const LONG: Duration = Duration::from_secs(60);

/// A message: its sender, its number, and eight bytes that no other message has.
fn message(sender: u8, number: u32) -> [u8; MESSAGE_BYTES] {
    let mut bytes = [sender; MESSAGE_BYTES];
    bytes[1..5].copy_from_slice(&number.to_le_bytes());
    let own = (u64::from(sender) << 32 | u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes[5..].copy_from_slice(&own.to_le_bytes());
    bytes
}

fn set_buffer(socket: &impl AsRawFd, option: libc::c_int) {
    // SAFETY: the kernel reads one int.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            std::ptr::from_ref(&BUFFER_BYTES).cast(),
            size_of_val(&BUFFER_BYTES) as libc::socklen_t,
        )
    };
    assert_eq!(status, 0);
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set_buffer(&listener, libc::SO_RCVBUF);
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    set_buffer(&ours, libc::SO_SNDBUF);
    ours.set_nodelay(true).unwrap();
    (ours, listener.accept().unwrap().0)
}

/// Read to the end, and call `pause` `PAUSES` times on the way. Returns how many came of each sender.
fn check_stream(mut peer: TcpStream, mut pause: impl FnMut()) -> [u32; SENDERS as usize] {
    let total = u64::from(SENDERS) * u64::from(MESSAGES_EACH) * MESSAGE_BYTES as u64;
    let mut next = [0; SENDERS as usize];
    let mut chunk = vec![0; 40_000];
    let (mut kept, mut received, mut pauses) = (0, 0, 0);
    loop {
        let count = peer.read(&mut chunk[kept..]).unwrap();
        if count == 0 {
            assert_eq!(kept, 0);
            return next;
        }
        received += count as u64;
        let bytes = &chunk[..kept + count];
        let whole = bytes.chunks_exact(MESSAGE_BYTES);
        let rest_bytes = whole.remainder().len();
        for got in whole {
            let number = &mut next[usize::from(got[0])];
            assert_eq!(got, message(got[0], *number));
            *number += 1;
        }
        let end = bytes.len();
        chunk.copy_within(end - rest_bytes..end, 0);
        kept = rest_bytes;
        if received * (PAUSES as u64 + 1) > total * (pauses + 1) {
            pauses += 1;
            pause();
        }
    }
}

#[test]
fn each_thread_s_are_in_order_and_every_byte_is_as_sent() {
    let (ours, peer) = pair();
    let mut knobs = Knobs::new(Strategy::Adaptive);
    knobs.max_buffered_bytes = Some(MAX_BUFFERED_BYTES);
    let socket = Arc::new(CoalescingSocket::new(&ours, knobs).unwrap());
    let refusals = Arc::new(AtomicU64::new(0));
    let cut_writes = Arc::new(AtomicU64::new(0));

    let reading = {
        let (socket, cut_writes) = (socket.clone(), cut_writes.clone());
        let refusals = refusals.clone();
        thread::spawn(move || {
            check_stream(peer, || {
                // Pause until more is held than both kernel buffers can still take, and the first time
                // until there is no room left; the peer makes none meanwhile.
                let give_up = Instant::now() + LONG;
                while socket.held_bytes() <= MAX_BUFFERED_BYTES / 2
                    || refusals.load(Ordering::Relaxed) == 0
                {
                    assert!(Instant::now() < give_up, "too little is held");
                    thread::sleep(Duration::from_millis(1));
                }
                thread::sleep(Duration::from_millis(5));
                let was_cut = socket.stats().bytes % MESSAGE_BYTES as u64 != 0;
                cut_writes.fetch_add(u64::from(was_cut), Ordering::Relaxed);
            })
        })
    };
    thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (socket, refusals) = (&socket, &refusals);
            scope.spawn(move || {
                for number in 0..MESSAGES_EACH {
                    let bytes = message(sender, number);
                    while let Err(error) = socket.send(&bytes) {
                        assert!(matches!(error, SendError::NoRoom { .. }), "{error}");
                        refusals.fetch_add(1, Ordering::Relaxed);
                        assert!(socket.wait_room(bytes.len(), LONG), "there was no room");
                    }
                }
            });
        }
    });
    socket.close(LONG).unwrap();
    assert_eq!(reading.join().unwrap(), [MESSAGES_EACH; SENDERS as usize]);
    let stats = socket.stats();
    assert_eq!(
        stats.messages,
        u64::from(SENDERS) * u64::from(MESSAGES_EACH)
    );
    assert_eq!(stats.bytes, stats.messages * MESSAGE_BYTES as u64);
    let cut_writes = cut_writes.load(Ordering::Relaxed);
    assert!(cut_writes > 0, "no write was cut by the kernel");
    assert!(
        refusals.load(Ordering::Relaxed) > 0,
        "no thread had to wait for room"
    );
    println!(
        "{} writes, {cut_writes} of {PAUSES} pauses cut one",
        stats.writes
    );
}
