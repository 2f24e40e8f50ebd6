//! Making many connections, so few at a time that no backlog overflows.

use super::{
    super::{
        caller::{BUFFER_BYTES, INTRODUCTION_LIMIT, Line},
        error::CallError,
        options::CallOptions,
        tally::{Called, Tally},
    },
    LONGEST_WAIT_MS,
};
use crate::{messages::CallContent, schedule::Span, socket::unconnected};
use std::{
    io::{self, ErrorKind},
    net::TcpStream,
    os::fd::AsRawFd,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use tinygram_net::{
    clock::monotonic_ns,
    epoll::{Epoll, For},
};

/// How many connections are made at a time. Each makes the first call of the warm-up before the next
/// ones are made, and so has been accepted by then.
const AT_A_TIME: usize = 64;

/// All connections, and the tally of connecting and of their first calls, of which there are none without
/// a warm-up.
pub fn connected(
    options: &CallOptions,
    content: &CallContent,
    is_stopped: &AtomicBool,
) -> Result<(Vec<Line>, Tally), CallError> {
    let mut lines = Vec::with_capacity(options.callers);
    let mut tally = Tally::default();
    let mut buffer = vec![1; content.reply_bytes().min(BUFFER_BYTES) as usize];
    while lines.len() < options.callers {
        let count = AT_A_TIME.min(options.callers - lines.len());
        let mut made = together(options, count, &mut tally, is_stopped)?;
        if options.warm_up_calls > 0 {
            first_calls(options, content, &mut made, &mut buffer, &mut tally)?;
        }
        lines.append(&mut made);
    }
    Ok((lines, tally))
}

/// Make `count` connections at the same time.
fn together(
    options: &CallOptions,
    count: usize,
    tally: &mut Tally,
    is_stopped: &AtomicBool,
) -> Result<Vec<Line>, CallError> {
    let failed = |source| CallError::Connect {
        address: options.address,
        source,
    };
    let mut epoll = Epoll::new().map_err(failed)?;
    let mut begun = Vec::with_capacity(count);
    for _ in 0..count {
        let control = Some(options.congestion_control.as_str());
        let socket = unconnected(
            options.address,
            control,
            options.is_nodelay,
            options.admission.host,
        )
        .map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let begun_ns = monotonic_ns();
        begin(&socket, options).map_err(failed)?;
        epoll
            .watch(socket.as_raw_fd(), For::Writing)
            .map_err(failed)?;
        begun.push((socket, begun_ns));
    }
    let mut left = count;
    while left > 0 {
        if is_stopped.load(Relaxed) {
            return Err(failed(ErrorKind::TimedOut.into()));
        }
        let ready = match epoll.wait(LONGEST_WAIT_MS) {
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            outcome => outcome.map_err(failed)?,
        };
        let now_ns = monotonic_ns();
        for index in 0..ready {
            let fd = epoll.ready(index).fd;
            let Some((socket, begun_ns)) = begun.iter().find(|each| each.0.as_raw_fd() == fd)
            else {
                continue;
            };
            if let Some(error) = socket.take_error().map_err(failed)? {
                return Err(failed(error));
            }
            epoll.unwatch(fd);
            tally.connect.record(now_ns - begun_ns);
            // At once, for a server turns away a connection that sends no token for some seconds.
            options.admission.bring(socket).map_err(failed)?;
            left -= 1;
        }
    }
    let lines = begun.into_iter().map(|(socket, _)| {
        // A ring waits for room by itself; send calls that must not wait say so with a flag.
        socket.set_nonblocking(false).map_err(failed)?;
        options
            .admission
            .wait_admitted(&socket, INTRODUCTION_LIMIT)
            .map_err(failed)?;
        Ok(Line {
            socket,
            requests: 0,
        })
    });
    lines.collect()
}

fn begin(socket: &TcpStream, options: &CallOptions) -> io::Result<()> {
    use rustix::{io::Errno, net};
    match net::connect(socket, &options.address) {
        Err(Errno::INPROGRESS) => Ok(()),
        outcome => Ok(outcome?),
    }
}

/// The first call of each, all at the same time.
fn first_calls(
    options: &CallOptions,
    content: &CallContent,
    lines: &mut [Line],
    buffer: &mut [u8],
    tally: &mut Tally,
) -> Result<(), CallError> {
    let mut begun_ns = Vec::with_capacity(lines.len());
    for line in &*lines {
        begun_ns.push(monotonic_ns());
        line.send(content.request(0), options.sends_per_request)?;
    }
    for (line, begun_ns) in lines.iter_mut().zip(begun_ns) {
        let called = Called {
            called_ns: begun_ns,
            begun_ns,
            ended_ns: line.receive(content, buffer)?,
        };
        tally.record_call(&Span::always(), &called);
    }
    Ok(())
}
