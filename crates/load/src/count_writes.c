/* Counts the writes of one socket, in code that is not ours, without disturbing it.
 *
 * Preloaded (LD_PRELOAD) into the sender's process: it stands in front of the C library's send,
 * sendto, sendmsg, write and writev, and counts the calls that hand bytes of the watched
 * descriptors to the kernel. The counts lie in shared memory, so that a forked child that owns the
 * socket is counted too. A call costs one look into a table more, and a counted one some additions.
 * Of one call in many it also takes the CPU time, and of calls that wait (call_times.h).
 */
#define _GNU_SOURCE
#include "call_times.h"
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>

#define WATCHED_WORDS 16

struct counts {
    atomic_uint_fast64_t watched[WATCHED_WORDS]; /* a bit for each descriptor */
    atomic_uint_fast64_t writes;
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t would_block;
    struct times times;
};

static struct counts nothing;
static struct counts *counts = &nothing;

static ssize_t (*real_send)(int, const void *, size_t, int);
static ssize_t (*real_sendto)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
static ssize_t (*real_sendmsg)(int, const struct msghdr *, int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);

/* Runs before main; or earlier, from a wrapper, when another preloaded library writes first. */
__attribute__((constructor)) static void find_real_calls(void)
{
    if (real_send)
        return;
    real_sendto = (ssize_t(*)(int, const void *, size_t, int, const struct sockaddr *, socklen_t))
        dlsym(RTLD_NEXT, "sendto");
    real_sendmsg = (ssize_t(*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
    real_write = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    real_writev = (ssize_t(*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
    void *shared = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    if (shared != MAP_FAILED) {
        counts = shared;
        atomic_store(&counts->times.clock_ns, clock_cost_ns());
    }
    real_send = (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
}

/* Where the counts are; NULL where there is no shared memory, and nothing is counted. What this
 * thread has done since a call that was timed is not counted: reading the counts is none of it. */
void *tinygram_write_counts(void)
{
    own.ended_ns = own.until = 0;
    return counts == &nothing ? NULL : counts;
}

/* So much of this thread's CPU time just now is not the program's: the bench's pacer spun. */
void tinygram_leave_out(uint64_t ns)
{
    own.left_out_ns += ns;
}

static int is_watched(int fd)
{
    if ((unsigned)fd >= 64 * WATCHED_WORDS)
        return 0;
    uint64_t word = atomic_load_explicit(&counts->watched[fd / 64], memory_order_relaxed);
    return word >> fd % 64 & 1;
}

static ssize_t counted(ssize_t result)
{
    if (result > 0) {
        add(&counts->writes, 1);
        add(&counts->bytes, (uint64_t)result);
    } else if (result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        add(&counts->would_block, 1);
    }
    return result;
}

#define COUNTED(fd, call)                                                                          \
    find_real_calls();                                                                             \
    if (!is_watched(fd))                                                                           \
        return call;                                                                               \
    int is_timed = begin(&counts->times, WRITE);                                                   \
    ssize_t result = counted(call);                                                                \
    int error = errno;                                                                             \
    end(&counts->times, WRITE, is_timed, fd);                                                      \
    errno = error;                                                                                 \
    return result

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    COUNTED(fd, real_send(fd, bytes, length, flags));
}

ssize_t sendto(int fd, const void *bytes, size_t length, int flags,
               const struct sockaddr *address, socklen_t address_length)
{
    COUNTED(fd, real_sendto(fd, bytes, length, flags, address, address_length));
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    COUNTED(fd, real_sendmsg(fd, message, flags));
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    COUNTED(fd, real_write(fd, bytes, length));
}

ssize_t writev(int fd, const struct iovec *parts, int part_count)
{
    COUNTED(fd, real_writev(fd, parts, part_count));
}

/* Calls that wait: an event loop's, a lock's, a sleep's. Those of programs without libc, and those
 * inside libc, are not seen: they count as what is between calls. */
#define WAITING(name, parameters, ...)                                                             \
    int name parameters                                                                            \
    {                                                                                              \
        static int(*_Atomic real) parameters;                                                      \
        int(*call) parameters = real;                                                              \
        if (!call)                                                                                 \
            real = call = (int(*) parameters)dlsym(RTLD_NEXT, #name);                              \
        int is_timed = begin(&counts->times, WAIT);                                                \
        int result = call(__VA_ARGS__);                                                            \
        end(&counts->times, WAIT, is_timed, -1);                                                   \
        return result;                                                                             \
    }

WAITING(epoll_wait, (int fd, struct epoll_event *events, int most, int timeout), fd, events, most,
        timeout)
WAITING(epoll_pwait,
        (int fd, struct epoll_event *events, int most, int timeout, const sigset_t *mask), fd,
        events, most, timeout, mask)
WAITING(poll, (struct pollfd *fds, nfds_t count, int timeout), fds, count, timeout)
WAITING(ppoll,
        (struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
        fds, count, timeout, mask)
WAITING(select, (int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *timeout), count,
        in, out, other, timeout)
WAITING(clock_nanosleep, (clockid_t clock, int flags, const struct timespec *until,
                          struct timespec *left), clock, flags, until, left)
WAITING(sem_wait, (sem_t *semaphore), semaphore)
WAITING(sem_timedwait, (sem_t *semaphore, const struct timespec *until), semaphore, until)
WAITING(sem_clockwait, (sem_t *semaphore, clockid_t clock, const struct timespec *until), semaphore,
        clock, until)

/* Rust's locks and parked threads wait by the system call itself. */
long syscall(long number, ...)
{
    static long (*_Atomic real)(long, ...);
    long (*call)(long, ...) = real;
    if (!call)
        real = call = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long with[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        with[i] = va_arg(rest, long);
    va_end(rest);
    int operation = number == SYS_futex ? (int)with[1] & FUTEX_CMD_MASK : -1;
    if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET)
        return call(number, with[0], with[1], with[2], with[3], with[4], with[5]);
    int is_timed = begin(&counts->times, WAIT);
    long result = call(number, with[0], with[1], with[2], with[3], with[4], with[5]);
    int error = errno;
    end(&counts->times, WAIT, is_timed, -1);
    errno = error;
    return result;
}
