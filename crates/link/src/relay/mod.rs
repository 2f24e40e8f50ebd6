//! Carries packets between two devices as a link does: one thread for both directions (carrier.rs).

mod calibrate;
mod carrier;
mod departures;
mod framing;
mod lane;
mod priority;
mod stops;
#[cfg(test)]
mod tests;

pub use calibrate::{Calibration, calibrate};
pub use departures::{Departures, Segment};
pub use framing::{Framing, OFFLOADED_BYTES};
pub use lane::Counts;
pub use stops::Stops;

use crate::model::{Direction, LinkError, LinkSpec};
use carrier::Carrier;
use departures::Watch;
use lane::Lane;
use std::{
    fs::File,
    io, mem,
    net::Shutdown,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    ptr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};
use thiserror::Error;
use tinygram_core::Histogram;
use tinygram_net::{clock::read_clock, process::with_signals_blocked};

/// During calibration the delay is this at most, each way, so that it does not take long.
pub const CALIBRATION_DELAY_NS: u64 = 5_000_000;
/// During calibration the bandwidth is this at least.
pub const CALIBRATION_BITS_PER_S: u64 = 10_000_000;

/// Why there is no relay.
#[derive(Debug, Error)]
pub enum RelayError {
    /// There can be no such link.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The process may open no more descriptors.
    #[error("a device cannot be held: {0}")]
    Descriptors(#[from] io::Error),
}

/// The figures of a relay so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// The counts of packets from the near device, and from the far one.
    pub counts: [Counts; 2],
    /// When packets from the near device left.
    pub departures: Departures,
    /// When the relay itself stood still.
    pub stops: Stops,
    /// CPU time of the relay's thread, in nanoseconds.
    pub cpu_ns: u64,
    /// Why the relay carries nothing any more, if it ended by itself.
    pub failed_errno: Option<i32>,
}

/// A relay between the near device, which is the first, and the far one.
#[derive(Debug)]
pub struct Relay {
    spec: LinkSpec,
    state: Arc<Mutex<State>>,
    /// The relay's devices, if they are packet sockets, which must be asked how many frames they dropped.
    packet_sockets: Vec<OwnedFd>,
    idle: Option<Carrier>,
    running: Option<(UnixStream, JoinHandle<()>)>,
}

/// The state that the relay's thread and its owner share; locked for a batch of packets at most.
#[derive(Debug)]
pub(super) struct State {
    pub(super) settings: Settings,
    pub(super) report: Report,
    pub(super) lateness: Histogram,
    /// From when until when the relay stood still, since this was last taken; CLOCK_MONOTONIC.
    pub(super) stood_still_ns: Vec<(u64, u64)>,
    pub(super) is_stopping: bool,
    /// The CPU clock of its thread, while that runs.
    pub(super) clock: Option<libc::clockid_t>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) excess_ns: u64,
    pub(super) is_calibrating: bool,
}

impl Relay {
    /// A relay between two devices that do not block; `spec` is the link, each way.
    ///
    /// # Errors
    /// [`RelayError`], for a link that cannot be.
    pub fn new(
        devices: [OwnedFd; 2],
        spec: LinkSpec,
        seed: u64,
        framing: Framing,
    ) -> Result<Self, RelayError> {
        spec.check()?;
        let state = Arc::new(Mutex::new(State {
            settings: Settings::default(),
            report: Report::default(),
            lateness: Histogram::new(),
            stood_still_ns: Vec::new(),
            is_stopping: false,
            clock: None,
        }));
        let packet_sockets = match framing {
            Framing::Ethernet => devices.iter().map(OwnedFd::try_clone).collect(),
            Framing::Tun | Framing::TunOffload => Ok(Vec::new()),
        }?;
        // Each direction has its own luck.
        let lanes = [seed, !seed].map(|seed| Lane::new(Direction::new(spec, seed), framing));
        let carrier = Carrier {
            devices: devices.map(File::from),
            lanes,
            spec,
            watch: Watch::default(),
            settings: Settings::default(),
            state: Arc::clone(&state),
        };
        Ok(Self {
            spec,
            state,
            packet_sockets,
            idle: Some(carrier),
            running: None,
        })
    }

    /// Start its thread.
    ///
    /// # Errors
    /// When no thread can be started; on the second call.
    pub fn start(&mut self) -> io::Result<()> {
        let carrier = self
            .idle
            .take()
            .ok_or_else(|| io::Error::other("a relay is started once"))?;
        let (stop, stopped) = UnixStream::pair()?;
        let thread = with_signals_blocked(|| {
            thread::Builder::new()
                .name("tg-relay".into())
                .spawn(move || carrier.run(&stopped))
        })?;
        self.running = Some((stop, thread));
        Ok(())
    }

    /// End the relay's thread, and forget the packets on the way.
    pub fn stop(&mut self) {
        self.idle = None;
        if let Some((stop, thread)) = self.running.take() {
            locked(&self.state).is_stopping = true;
            // This wakes the thread if it sleeps; closing the descriptor would not, if a forked process has
            // another. It fails only if the relay has ended.
            let _ended = stop.shutdown(Shutdown::Both);
            // If it ended by itself, the report says why.
            let _broken = thread.join();
        }
    }

    /// Take half of `excess_ns` off the delay of each direction.
    pub fn set_excess_ns(&self, excess_ns: u64) {
        locked(&self.state).settings.excess_ns = excess_ns;
    }

    /// Be without jitter and loss, and of little delay: see [`Relay::calibration_rtt_ns`].
    pub(super) fn set_calibrating(&self, is_calibrating: bool) {
        locked(&self.state).settings.is_calibrating = is_calibrating;
    }

    /// How long a round trip of packets of that length is to take during calibration.
    pub(super) fn calibration_rtt_ns(&self, packet_bytes: u32) -> u64 {
        let spec = calibrating(self.spec);
        2 * (spec.one_way_ns + spec.serialisation_ns(packet_bytes))
    }

    /// The figures so far.
    pub fn report(&self) -> Report {
        let mut state = locked(&self.state);
        for (counts, socket) in state.report.counts.iter_mut().zip(&self.packet_sockets) {
            counts.missed += take_missed(socket.as_fd());
        }
        let mut report = state.report;
        if let Some(clock) = state.clock {
            report.cpu_ns = read_clock(clock);
        }
        report
    }

    /// Let the relay's thread stand still during `while_so`, as if it were stopped.
    #[cfg(test)]
    pub(super) fn stand_still(&self, while_so: impl FnOnce()) {
        let _held = locked(&self.state);
        while_so();
    }

    /// How late each packet was delivered since this was last asked: from when it was due to when the
    /// relay began to hand it over.
    pub fn take_lateness(&self) -> Histogram {
        // Made before the lock is taken, for it is large, and the relay waits for the lock.
        let empty = Histogram::new();
        mem::replace(&mut locked(&self.state).lateness, empty)
    }

    /// From when until when the relay stood still, each time since this was last taken: CLOCK_MONOTONIC in
    /// nanoseconds, without the beat that [`Stops::stopped_ns`] leaves out.
    pub fn take_stood_still_ns(&self) -> Vec<(u64, u64)> {
        mem::take(&mut locked(&self.state).stood_still_ns)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The link while it is calibrated.
pub(super) fn calibrating(spec: LinkSpec) -> LinkSpec {
    let at_least = |bits_per_s: u64| bits_per_s.max(CALIBRATION_BITS_PER_S);
    LinkSpec {
        one_way_ns: spec.one_way_ns.min(CALIBRATION_DELAY_NS),
        jitter_ns: 0,
        bandwidth_bits_per_s: spec.bandwidth_bits_per_s.map(at_least),
        loss: 0.0,
        ..spec
    }
}

pub(super) fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // The numbers are right after each line of ours, even if a thread has panicked.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a relay ended by itself, as errno; `None`: it was told to end.
pub(super) fn errno_of(ended: thread::Result<io::Result<()>>) -> Option<i32> {
    match ended {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.raw_os_error().unwrap_or(libc::EIO)),
        // It panicked, and its message is on stderr.
        Err(_) => Some(libc::EIO),
    }
}

/// How many frames a packet socket had no room for since this was last asked; 0 for other descriptors.
fn take_missed(socket: BorrowedFd<'_>) -> u64 {
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
