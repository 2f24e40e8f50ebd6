/* Preloaded into the program whose instructions callgrind counts (faces.py).
 *
 * Its clock goes on by a fixed step whenever it is read, and never by itself, so that whatever is
 * decided by time is decided the same in each run. It tells callgrind when to count, and counts
 * meanwhile what is handed to the kernel: writes, and wake-ups of the writing thread, which are
 * writes of 8 bytes to an eventfd (eventfd(2)).
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

enum { SECOND_NS = 1000000000, TICK_NS = 4000000, WAKE_BYTES = 8 };

static atomic_long now_ns;
static atomic_long step_ns = 1000;
static atomic_int is_counting;
static atomic_long writes, wakes;

/* Begin with a whole second that is past: timers, which the kernel's own clock ends, are late then, and
 * those of an hour end in an hour. */
static __attribute__((constructor)) void begin(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    now_ns = now.tv_sec * SECOND_NS;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long ns;
    if (clock == CLOCK_MONOTONIC)
        ns = atomic_fetch_add(&now_ns, step_ns) + step_ns;
    else if (clock == CLOCK_MONOTONIC_COARSE)
        ns = now_ns / TICK_NS * TICK_NS;
    else
        return syscall(SYS_clock_gettime, clock, now);
    now->tv_sec = ns / SECOND_NS;
    now->tv_nsec = ns % SECOND_NS;
    return 0;
}

ssize_t send(int fd, const void *bytes, size_t count, int flags)
{
    writes += is_counting;
    return syscall(SYS_sendto, fd, bytes, count, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    writes += is_counting;
    return syscall(SYS_sendmsg, fd, message, flags);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    writes += is_counting;
    return syscall(SYS_writev, fd, parts, count);
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    if (count == WAKE_BYTES)
        wakes += is_counting;
    else
        writes += is_counting;
    return syscall(SYS_write, fd, bytes, count);
}

/* For faces.py, by ctypes. */

void counts_clock_step(long ns) { step_ns = ns; }

void counts_zero(void)
{
    writes = wakes = 0;
    CALLGRIND_ZERO_STATS;
}

void counts_begin(void)
{
    is_counting = 1;
    CALLGRIND_START_INSTRUMENTATION;
}

/* From here on writes and wake-ups are counted, and instructions are not. */
void counts_pause(void) { CALLGRIND_STOP_INSTRUMENTATION; }

void counts_end(void) { is_counting = 0; }

void counts_dump(const char *face) { CALLGRIND_DUMP_STATS_AT(face); }

long counts_writes(void) { return writes; }

long counts_wakes(void) { return wakes; }
