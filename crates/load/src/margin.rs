//! The margin by which a wait wakes early, and the wait itself.
//!
//! Clocks are read only by [`Clock`], so that tests decide how late a sleep ends.

const MIN_NS: u64 = 2_000;
const MAX_NS: u64 = 100_000;
/// The first margin: low, for a margin grows within a few waits and shrinks within many.
const FIRST_NS: u64 = 5_000;
/// A sleep below this is not worth its system call.
const LEAST_SLEEP_NS: u64 = 2_000;
/// If two looks at the clock lie further apart than this, something else had the core meanwhile.
const ELSEWHERE_NS: u64 = 2_000;

/// The parts of a wait.
pub trait Clock {
    /// CLOCK_MONOTONIC in nanoseconds.
    fn now_ns(&self) -> u64;

    /// Sleep until `wake_ns`, or later.
    fn sleep_until_ns(&self, wake_ns: u64);

    /// Let some nanoseconds pass while spinning.
    fn pause(&self);
}

/// How early to wake, learned from past oversleep: the rest of the wait is spun.
///
/// It changes by shares of itself, so that one stop of the host counts as one late wake-up however long
/// it was. It settles where one wake-up in eight is later than the margin.
#[derive(Clone, Copy, Debug)]
pub struct Margin {
    ns: u64,
}

impl Default for Margin {
    /// A margin that has learned nothing yet.
    fn default() -> Self {
        Self { ns: FIRST_NS }
    }
}

impl Margin {
    /// A margin that has learned to be this long.
    #[cfg(test)]
    pub fn of_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// The margin in nanoseconds, at most 100 µs.
    pub fn ns(self) -> u64 {
        self.ns
    }

    /// A sleep ended late by `oversleep_ns`.
    pub fn learn(&mut self, oversleep_ns: u64) {
        let changed_ns = if oversleep_ns > self.ns {
            self.ns + self.ns / 4
        } else {
            self.ns - self.ns / 32
        };
        self.ns = changed_ns.clamp(MIN_NS, MAX_NS);
    }

    /// When to wake for a message that is due at `due_ns`; `None`: so soon that the whole wait is spun.
    ///
    /// A thread that spins through all its waits learns nothing. So each spun wait shortens the margin a
    /// little, until a sleep is tried again: this makes at most one in some hundred waits late.
    pub fn wake_ns(&mut self, now_ns: u64, due_ns: u64) -> Option<u64> {
        if due_ns > now_ns + self.ns + LEAST_SLEEP_NS {
            return Some(due_ns - self.ns);
        }
        self.ns = (self.ns - self.ns / 4096).max(MIN_NS);
        None
    }

    /// Sleep until shortly before `due_ns` and spin the rest. Returns how long it spun, in nanoseconds:
    /// at most 100 µs and the shortest sleep.
    pub fn wait_until_ns(&mut self, clock: &impl Clock, due_ns: u64) -> u64 {
        if let Some(wake_ns) = self.wake_ns(clock.now_ns(), due_ns) {
            clock.sleep_until_ns(wake_ns);
            self.learn(clock.now_ns().saturating_sub(wake_ns));
        }
        spin_until_ns(clock, due_ns)
    }
}

/// Spin until `due_ns`. Returns the CPU time that this took, in nanoseconds.
///
/// Reading the thread's CPU clock is a system call, which would delay the release of the message. Looks
/// at `clock` are enough: when it jumps, something else had the core.
pub fn spin_until_ns(clock: &impl Clock, due_ns: u64) -> u64 {
    let mut spun_ns = 0;
    let mut seen_ns = clock.now_ns();
    while seen_ns < due_ns {
        clock.pause();
        let now_ns = clock.now_ns();
        if now_ns - seen_ns < ELSEWHERE_NS {
            spun_ns += now_ns - seen_ns;
        }
        seen_ns = now_ns;
    }
    spun_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const RATES_PER_S: [u64; 9] = [
        100, 1_000, 5_000, 10_000, 20_000, 50_000, 75_000, 100_000, 200_000,
    ];
    /// A message's own cost, which the fastest of those rates leaves room for.
    const SEND_NS: u64 = 3_000;
    const READ_NS: u64 = 30;
    /// Waits after which it has learned what there is to learn.
    const LEARNED_AFTER: usize = 64;
    const WAITS: usize = 4_000;

    /// A clock that ends the nth sleep `oversleep_ns(n)` late, and in which each look takes a while.
    struct Virtual<F> {
        now_ns: Cell<u64>,
        sleeps: Cell<u64>,
        oversleep_ns: F,
    }

    impl<F: Fn(u64) -> u64> Clock for Virtual<F> {
        fn now_ns(&self) -> u64 {
            self.now_ns.set(self.now_ns.get() + READ_NS);
            self.now_ns.get()
        }

        fn sleep_until_ns(&self, wake_ns: u64) {
            let sleep = self.sleeps.get();
            self.sleeps.set(sleep + 1);
            let ends_ns = wake_ns.max(self.now_ns.get()) + (self.oversleep_ns)(sleep);
            self.now_ns.set(ends_ns);
        }

        fn pause(&self) {
            self.now_ns.set(self.now_ns.get() + READ_NS);
        }
    }

    fn clock<F: Fn(u64) -> u64>(oversleep_ns: F) -> Virtual<F> {
        Virtual {
            now_ns: Cell::new(1_000_000_000),
            sleeps: Cell::new(0),
            oversleep_ns,
        }
    }

    /// From 0 to 999, for each n always the same.
    fn luck(n: u64) -> u64 {
        (n.wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407)
            >> 33)
            % 1_000
    }

    /// How late each message of a sender at this rate is released, since it was due or asked for.
    fn errors_ns<F: Fn(u64) -> u64>(rate_per_s: u64, oversleep_ns: F) -> Vec<u64> {
        let clock = clock(oversleep_ns);
        let mut margin = Margin::default();
        let start_ns = clock.now_ns();
        let mut errors_ns = Vec::new();
        for message in 1..=WAITS as u64 {
            let due_ns = start_ns + message * 1_000_000_000 / rate_per_s;
            let asked_ns = clock.now_ns();
            let spun_ns = margin.wait_until_ns(&clock, due_ns);
            assert!(
                spun_ns <= MAX_NS + LEAST_SLEEP_NS + READ_NS * 4,
                "{spun_ns}"
            );
            let released_ns = clock.now_ns();
            assert!(released_ns >= due_ns, "never early");
            errors_ns.push(released_ns - due_ns.max(asked_ns));
            clock.now_ns.set(released_ns + SEND_NS);
        }
        errors_ns
    }

    fn percentile(values: &[u64], percent: usize) -> u64 {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        sorted[sorted.len() * percent / 100]
    }

    type Oversleep = fn(u64) -> u64;
    /// What was seen of sleeps, on cores that are awake and on such that halt.
    const OVERSLEEPS: [(&str, Oversleep); 6] = [
        ("always 8 µs", |_| 8_000),
        ("5 to 12 µs", |n| 5_000 + 7 * luck(n)),
        ("25 to 35 µs", |n| 25_000 + 10 * luck(n)),
        ("60 to 80 µs", |n| 60_000 + 20 * luck(n)),
        ("4 or 50 µs", |n| if luck(n) < 800 { 4_000 } else { 50_000 }),
        ("8 to 13 µs, and of 50 one 5 ms", |n| {
            8_000 + 5 * luck(n) + if luck(n) < 20 { 5_000_000 } else { 0 }
        }),
    ];

    #[test]
    fn it_has_learned_after_few_waits_at_every_rate() {
        for (name, oversleep_ns) in OVERSLEEPS {
            for rate_per_s in RATES_PER_S {
                let errors_ns = errors_ns(rate_per_s, oversleep_ns);
                for (part, of) in [
                    ("the first half", LEARNED_AFTER..WAITS / 2),
                    ("the second half", WAITS / 2..WAITS),
                ] {
                    let p50_ns = percentile(&errors_ns[of], 50);
                    assert!(
                        p50_ns <= 1_000,
                        "{name}, {rate_per_s}/s, {part}: {p50_ns} ns"
                    );
                }
            }
        }
    }

    #[test]
    fn whoever_spins_all_waits_is_late_with_few() {
        for rate_per_s in [20_000, 50_000, 200_000] {
            let errors_ns = errors_ns(rate_per_s, |_| 60_000);
            let p98_ns = percentile(&errors_ns[LEARNED_AFTER..], 98);
            assert!(p98_ns <= 1_000, "{rate_per_s}/s: {p98_ns} ns");
        }
    }

    #[test]
    fn one_stop_of_the_host_is_one_late_wake_up() {
        let mut margin = Margin::default();
        for _ in 0..100 {
            margin.learn(15_000);
        }
        let before_ns = margin.ns();
        margin.learn(500_000_000);
        assert!(margin.ns() <= before_ns * 5 / 4, "{before_ns} {margin:?}");
        for _ in 0..10 {
            margin.learn(15_000);
        }
        assert!(margin.ns() <= 19_000, "{margin:?}");
    }

    #[test]
    fn what_a_bad_minute_taught_is_forgotten_at_every_rate() {
        for rate_per_s in RATES_PER_S {
            let clock = clock(|_| 8_000);
            let mut margin = Margin::of_ns(MAX_NS);
            let gap_ns = 1_000_000_000 / rate_per_s;
            for _ in 0..20_000 {
                let due_ns = clock.now_ns() + gap_ns;
                margin.wait_until_ns(&clock, due_ns);
            }
            assert!(
                margin.ns() <= gap_ns.max(11_000),
                "{rate_per_s}/s: {margin:?}"
            );
        }
    }

    #[test]
    fn what_another_program_had_of_a_spin_is_not_spun() {
        let clock = clock(|_| 0);
        let due_ns = clock.now_ns() + 60_000;
        let stop = Cell::new(Some(40_000));
        struct Stopped<'a, F>(&'a Virtual<F>, &'a Cell<Option<u64>>);
        impl<F: Fn(u64) -> u64> Clock for Stopped<'_, F> {
            fn now_ns(&self) -> u64 {
                self.0.now_ns()
            }
            fn sleep_until_ns(&self, wake_ns: u64) {
                self.0.sleep_until_ns(wake_ns);
            }
            fn pause(&self) {
                self.0.pause();
                let stopped_ns = self.1.take().unwrap_or(0);
                self.0.now_ns.set(self.0.now_ns.get() + stopped_ns);
            }
        }
        let spun_ns = spin_until_ns(&Stopped(&clock, &stop), due_ns);
        assert!((19_000..=21_000).contains(&spun_ns), "{spun_ns}");
    }
}
