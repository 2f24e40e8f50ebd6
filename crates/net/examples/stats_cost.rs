//! The coalescer's own time per write, in nanoseconds: `nodelay`, a write per message; `tick`, one
//! for 64 messages; `clock`, one reading of the clock. `benches/library/stats_cost.py` runs it.

use std::{hint::black_box, time::Instant};
use tinygram_core::{Coalescer, Knobs, Next, Strategy};

const MESSAGE: &[u8] = &[b'x'; 100];
const MESSAGES_PER_TICK: usize = 64;
/// The duration of a write by the coalescer's clock, which only this example moves.
const STEP_NS: u64 = 5_000;
const RUNS: usize = 100;

fn main() {
    let mut each = Coalescer::new(Knobs::new(Strategy::NoDelay)).expect("the knobs are valid");
    let mut tick = Coalescer::new(Knobs::new(Strategy::Tick)).expect("the knobs are valid");
    let nodelay_ns = ns_per_cycle(80_000, |now_ns| send(&mut each, now_ns));
    let tick_ns = ns_per_cycle(4_000, |now_ns| {
        for _ in 0..MESSAGES_PER_TICK {
            send(&mut tick, now_ns);
        }
        let next = tick.on_tick(now_ns + STEP_NS, true);
        write(&mut tick, &[], next, now_ns + STEP_NS);
    });
    let clock_ns = ns_per_cycle(40_000, |_| {
        black_box(Instant::now());
    });
    println!("{nodelay_ns} {tick_ns} {clock_ns}");
}

/// The fastest of some runs: disturbances only make a run slower.
fn ns_per_cycle(cycles: u64, mut cycle: impl FnMut(u64)) -> f64 {
    let mut fastest_ns = u128::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        for number in 0..cycles {
            cycle(black_box(2 * STEP_NS * number));
        }
        fastest_ns = fastest_ns.min(start.elapsed().as_nanos());
    }
    fastest_ns as f64 / cycles as f64
}

/// Send like the library: hold the message the short way, or do what the answer says.
fn send(coalescer: &mut Coalescer, now_ns: u64) {
    let message = black_box(MESSAGE);
    if !coalescer.hold_with_others(message) {
        let next = coalescer.on_message(message, || now_ns);
        write(coalescer, message, next, now_ns);
    }
}

/// Do what `next` says; the socket takes everything.
fn write(coalescer: &mut Coalescer, message: &[u8], next: Next, now_ns: u64) {
    if let Next::Write(reason) = next {
        let bytes = coalescer.pending().len() + message.len();
        coalescer.on_written(bytes, message, reason, now_ns, now_ns + STEP_NS);
    }
}
