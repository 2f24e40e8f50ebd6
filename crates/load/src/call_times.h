/* CPU time of calls and between them, of the calling thread.
 *
 * Calls and what lies between them follow each other, and all are measured by the processor's
 * counter: it takes no system call to read, and a pause before a write would change what the write
 * takes, since a receiver that becomes idle meanwhile has to be woken up. A thread's CPU clock is read
 * by a system call of 0.3 to 0.7 µs. So that is done once in EVERY_NS, before a call that waits, or
 * after a write, when nobody waits for what comes next. It says how long the thread was off its core
 * since it was read before: in its waits, as far as they lasted so long, or else in whatever kind has
 * the longest piece, such as a write to a full buffer, or a wait that is not seen here. What the kinds
 * have of the rest adds up to the clock's time.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <time.h>

#ifndef SIOCOUTQNSD
#define SIOCOUTQNSD 0x894B /* linux/sockios.h: bytes that are not sent yet */
#endif

#define EVERY_NS 100000

enum kind { WRITE, WAIT, BETWEEN, TIMING, KINDS };

struct times {
    atomic_uint_fast64_t waits;     /* calls of that kind */
    atomic_uint_fast64_t ns[KINDS]; /* CPU time; TIMING: of reading the clock, asking the kernel */
    atomic_uint_fast64_t asked;     /* writes after which the kernel was asked what it had not sent, */
    atomic_uint_fast64_t unsent;    /* and after which it had some */
    atomic_uint_fast64_t clock_ns;  /* what one reading of the clock takes */
};

static __thread struct {
    /* Since the clock was read: */
    uint64_t ticks[KINDS];
    uint64_t longest[KINDS];
    uint64_t left_out_ns; /* of what is between calls */
    int was_asked;        /* the kernel, what it had not sent */
    uint64_t read_ns;     /* when that was; 0: nothing is measured yet */
    uint64_t read_cpu_ns;
    uint64_t due;  /* from when on the clock is read again, in ticks */
    uint64_t edge; /* where the last piece ended, in ticks */
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

/* A counter that runs evenly; how fast, CLOCK_MONOTONIC says. */
static uint64_t ticks_now(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return read_ns(CLOCK_MONOTONIC);
#endif
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

static uint64_t least_of(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t sum_of(const uint64_t of_kinds[KINDS])
{
    return of_kinds[WRITE] + of_kinds[WAIT] + of_kinds[BETWEEN] + of_kinds[TIMING];
}

/* The kinds' CPU time since the clock was read: `lasted_ns` are over, `on_ns` of them on a core. */
static void share_out(struct times *times, uint64_t lasted_ns, uint64_t on_ns)
{
    uint64_t ticks = sum_of(own.ticks), ns[KINDS];
    for (int kind = 0; kind < KINDS; kind++)
        ns[kind] = (uint64_t)((double)lasted_ns * (double)own.ticks[kind] / (double)ticks);
    uint64_t off_ns = lasted_ns > on_ns ? lasted_ns - on_ns : 0;
    enum kind second = own.longest[WRITE] > own.longest[BETWEEN] ? WRITE : BETWEEN;
    const enum kind order[KINDS] = {WAIT, second, second == WRITE ? BETWEEN : WRITE, TIMING};
    for (int at = 0; at < KINDS; at++) {
        uint64_t here_ns = least_of(off_ns, ns[order[at]]);
        ns[order[at]] -= here_ns;
        off_ns -= here_ns;
    }
    ns[BETWEEN] -= least_of(own.left_out_ns, ns[BETWEEN]);
    for (int kind = 0; kind < KINDS; kind++)
        add(&times->ns[kind], ns[kind]);
}

/* Read the clock, and begin anew. */
static void read_clock(struct times *times)
{
    uint64_t now_ns = read_ns(CLOCK_MONOTONIC);
    uint64_t cpu_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t reading_ns = atomic_load_explicit(&times->clock_ns, memory_order_relaxed);
    uint64_t ticks = sum_of(own.ticks), lasted_ns = now_ns - own.read_ns, due = 0;
    add(&times->ns[TIMING], reading_ns);
    /* In a forked child the clock has begun anew. */
    if (own.read_ns && ticks && lasted_ns && cpu_ns >= own.read_cpu_ns + reading_ns) {
        share_out(times, lasted_ns, cpu_ns - own.read_cpu_ns - reading_ns);
        due = (uint64_t)((double)EVERY_NS * (double)ticks / (double)lasted_ns);
    }
    for (int kind = 0; kind < KINDS; kind++)
        own.ticks[kind] = own.longest[kind] = 0;
    own.left_out_ns = 0;
    own.was_asked = 0;
    own.read_cpu_ns = cpu_ns;
    own.read_ns = read_ns(CLOCK_MONOTONIC);
    own.edge = ticks_now();
    own.due = own.edge + due;
}

/* A piece ends now. */
static void measure(enum kind kind)
{
    uint64_t now = ticks_now(), took = now > own.edge ? now - own.edge : 0;
    own.ticks[kind] += took;
    own.longest[kind] = took > own.longest[kind] ? took : own.longest[kind];
    own.edge = now;
}

/* A call begins. */
static void begin(struct times *times, enum kind kind)
{
    if (kind == WAIT)
        add(&times->waits, 1);
    if (!own.read_ns) {
        read_clock(times);
        return;
    }
    measure(BETWEEN);
    if (kind == WAIT && own.edge >= own.due)
        read_clock(times);
}

/* It ends; `fd`: what a write was to. */
static void end(struct times *times, enum kind kind, int fd)
{
    measure(kind);
    if (kind != WRITE)
        return;
    if (!own.was_asked) {
        /* The first write after each reading, which is no longer than others. */
        int unsent = 0;
        own.was_asked = 1;
        add(&times->asked, 1);
        if (ioctl(fd, SIOCOUTQNSD, &unsent) == 0 && unsent > 0)
            add(&times->unsent, 1);
        measure(TIMING);
    }
    if (own.edge >= own.due)
        read_clock(times);
}

/* Add what was measured so far; until this thread's next call nothing is. */
static void rest(struct times *times)
{
    if (own.read_ns) {
        measure(BETWEEN);
        read_clock(times);
    }
    own.read_ns = 0;
}
