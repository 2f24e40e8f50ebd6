/* CPU time of calls and between them, of the calling thread, for one call in many.
 *
 * A timed call has its own time, and that of what the program does from there to its next call. How
 * many calls lie between two that are timed is random, so that no rhythm of the program is in step
 * with it, and on average so many that TARGET_NS of CPU time lie between them, for a thread's CPU
 * clock is read by a system call that takes 0.3 to 0.7 µs. Each value counts as often as there are
 * calls for one that is timed (Horvitz and Thompson, 1952).
 *
 * CPU time is no more than what CLOCK_MONOTONIC says, which takes no system call to read: unless the
 * thread was off its core meanwhile, that one alone counts, without what reading the other takes.
 * A pause before a write would change what it takes, since a receiver that is idle meanwhile has to be
 * woken up. So the CPU clock is read before the call that precedes a timed write, and after the write;
 * if the thread was off its core in between, it was so in the longer of the two pieces.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <time.h>

#ifndef SIOCOUTQNSD
#define SIOCOUTQNSD 0x894B /* linux/sockios.h: bytes that are not sent yet */
#endif

#define TARGET_NS 150000
#define MOST_BETWEEN 256

enum kind { WRITE, WAIT, BETWEEN, KINDS };

struct times {
    atomic_uint_fast64_t calls[KINDS];  /* all calls; BETWEEN has none of its own */
    atomic_uint_fast64_t weight[KINDS]; /* how many calls the timed ones stand for */
    atomic_uint_fast64_t ns[KINDS];     /* their time, each as often as it counts */
    atomic_uint_fast64_t unsent;        /* writes after which bytes were left unsent */
    atomic_uint_fast64_t clock_reads;
    atomic_uint_fast64_t clock_ns; /* of CPU time that one reading takes */
};

static __thread struct {
    uint64_t until;       /* calls until one is timed, that one with them */
    uint64_t every;       /* a call in so many is timed, on average */
    uint64_t mean_ns;     /* of a call and what follows it, of late */
    uint64_t began_cpu_ns; /* of the call, or of the one before it, by the CPU clock */
    uint64_t led_ns;      /* when that was, by the other clock */
    uint64_t began_ns;    /* of the timed call */
    uint64_t call_ns;     /* what it took */
    uint64_t ended_cpu_ns;
    uint64_t ended_ns; /* 0: what follows a call is not timed */
    uint64_t left_out_ns; /* since then */
    uint64_t dice;
} own __attribute__((tls_model("initial-exec")));

static void add(atomic_uint_fast64_t *sum, uint64_t value)
{
    atomic_fetch_add_explicit(sum, value, memory_order_relaxed);
}

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t cpu_ns(struct times *times)
{
    add(&times->clock_reads, 1);
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The least of some readings: what interrupts a reading belongs to no reading. */
static uint64_t clock_cost_ns(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 64; i++) {
        uint64_t began = read_ns(CLOCK_THREAD_CPUTIME_ID);
        uint64_t took = read_ns(CLOCK_THREAD_CPUTIME_ID) - began;
        least = took < least ? took : least;
    }
    return least;
}

static void keep(struct times *times, enum kind kind, uint64_t ns)
{
    add(&times->weight[kind], own.every);
    add(&times->ns[kind], ns * own.every);
}

/* When the next call is timed; xorshift64 (Marsaglia, 2003), uniform from 1 to 2 × every - 1. */
static void choose_next(void)
{
    if (!own.dice)
        own.dice = (uintptr_t)&own ^ read_ns(CLOCK_MONOTONIC) << 20 ^ 1;
    own.dice ^= own.dice << 13;
    own.dice ^= own.dice >> 7;
    own.dice ^= own.dice << 17;
    uint64_t every = own.mean_ns ? TARGET_NS / own.mean_ns : 8;
    every = every < 1 ? 1 : every > MOST_BETWEEN ? MOST_BETWEEN : every;
    own.until = 2 + own.dice % (2 * every - 1);
    own.every = every + 1;
}

/* CPU time: no more than either clock says. A reading of the CPU clock is in what that one says. */
static uint64_t on_core_ns(const struct times *times, uint64_t wall_ns, uint64_t cpu_ns)
{
    uint64_t reading_ns = atomic_load_explicit(&times->clock_ns, memory_order_relaxed);
    cpu_ns = cpu_ns > reading_ns ? cpu_ns - reading_ns : 0;
    return cpu_ns < wall_ns ? cpu_ns : wall_ns;
}

/* What follows the timed call has ended, with the beginning of the next one. */
static void keep_between(struct times *times)
{
    uint64_t wall_ns = read_ns(CLOCK_MONOTONIC) - own.ended_ns;
    uint64_t ns = on_core_ns(times, wall_ns, cpu_ns(times) - own.ended_cpu_ns);
    ns -= own.left_out_ns < ns ? own.left_out_ns : ns;
    keep(times, BETWEEN, ns);
    uint64_t took_ns = own.call_ns + ns;
    own.mean_ns = own.mean_ns ? (7 * own.mean_ns + took_ns) / 8 : took_ns;
    own.ended_ns = 0;
}

/* A call begins: whether it is timed. */
static int begin(struct times *times, enum kind kind)
{
    add(&times->calls[kind], 1);
    if (own.ended_ns) {
        keep_between(times);
        choose_next();
    } else if (!own.until) {
        choose_next();
    }
    own.until--;
    if (own.until == 1 || (!own.until && kind == WAIT)) {
        own.began_cpu_ns = cpu_ns(times);
        own.led_ns = read_ns(CLOCK_MONOTONIC);
    }
    if (own.until)
        return 0;
    own.began_ns = kind == WAIT ? own.led_ns : read_ns(CLOCK_MONOTONIC);
    return 1;
}

/* It ends; `fd`: what a write was to. */
static void end(struct times *times, enum kind kind, int is_timed, int fd)
{
    if (!is_timed)
        return;
    own.ended_ns = read_ns(CLOCK_MONOTONIC);
    own.ended_cpu_ns = cpu_ns(times);
    uint64_t lead_ns = own.began_ns - own.led_ns, ns = own.ended_ns - own.began_ns;
    if (ns >= lead_ns) {
        uint64_t both_ns = lead_ns + ns;
        uint64_t on_ns = on_core_ns(times, both_ns, own.ended_cpu_ns - own.began_cpu_ns);
        uint64_t off_ns = both_ns - on_ns;
        ns -= off_ns < ns ? off_ns : ns;
    }
    own.call_ns = ns;
    keep(times, kind, ns);
    int unsent = 0;
    if (kind == WRITE && ioctl(fd, SIOCOUTQNSD, &unsent) == 0 && unsent > 0)
        add(&times->unsent, own.every);
    /* The clock and the kernel were asked on nobody's account. */
    uint64_t asked_ns = read_ns(CLOCK_MONOTONIC) - own.ended_ns;
    uint64_t reading_ns = atomic_load_explicit(&times->clock_ns, memory_order_relaxed);
    own.ended_cpu_ns += asked_ns > reading_ns ? asked_ns - reading_ns : 0;
    own.ended_ns += asked_ns;
    own.left_out_ns = 0;
}
