/* Counts the writes of one socket, in code that is not ours, without disturbing it.
 *
 * Preloaded (LD_PRELOAD) into the sender's process: it stands in front of the C library's send,
 * sendto, sendmsg, write and writev, and counts the calls that hand bytes of the watched
 * descriptors to the kernel. The counts lie in shared memory, so that a forked child that owns the
 * socket is counted too. A call costs one look into a table more, and a counted one some additions.
 * It also takes the CPU time of such calls, of those that wait, and between them (call_times.h).
 *
 * A process that has started without it loads it (dlopen), and has the calls of all that is loaded
 * by then led here (tinygram_lead_writes_here).
 */
#define _GNU_SOURCE
#include "call_times.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define WATCHED_WORDS 512

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
 * thread does from here to its next call is not measured: reading the counts is none of it. */
void *tinygram_write_counts(void)
{
    rest(&counts->times);
    return counts == &nothing ? NULL : counts;
}

/* Leave this much of the thread's CPU time out of the program's: the bench's pacer spun. */
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
    begin(&counts->times, WRITE);                                                                  \
    ssize_t result = counted(call);                                                                \
    int error = errno;                                                                             \
    end(&counts->times, WRITE, fd);                                                                \
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
        begin(&counts->times, WAIT);                                                               \
        int result = call(__VA_ARGS__);                                                            \
        end(&counts->times, WAIT, -1);                                                             \
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

/* The interpreter's lock is waited for at a condition variable. Old programs have another function of
 * that name (before GLIBC_2.3.2), which is not meant here. */
#if defined(__x86_64__)
#define CONDITION(name) dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2")
#else
#define CONDITION(name) dlsym(RTLD_NEXT, name)
#endif

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    static int (*_Atomic real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    int (*call)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) = real;
    if (!call)
        real = call = (int (*)(pthread_cond_t *, pthread_mutex_t *,
                               const struct timespec *))CONDITION("pthread_cond_timedwait");
    begin(&counts->times, WAIT);
    int result = call(condition, mutex, until);
    end(&counts->times, WAIT, -1);
    return result;
}

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
    begin(&counts->times, WAIT);
    long result = call(number, with[0], with[1], with[2], with[3], with[4], with[5]);
    int error = errno;
    end(&counts->times, WAIT, -1);
    errno = error;
    return result;
}

/* Where a library's linker has put the address of a function that it calls: the two kinds of
 * relocations with the function's name (the processor's supplement of the ELF specification). */
#if defined(__x86_64__)
#define SLOT R_X86_64_JUMP_SLOT
#define ENTRY R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define SLOT R_AARCH64_JUMP_SLOT
#define ENTRY R_AARCH64_GLOB_DAT
#endif

#if defined(SLOT)
/* By names of our own: where this library came last, the others' names mean the C library's. */
static __typeof__(send) own_send __attribute__((alias("send")));
static __typeof__(sendto) own_sendto __attribute__((alias("sendto")));
static __typeof__(sendmsg) own_sendmsg __attribute__((alias("sendmsg")));
static __typeof__(write) own_write __attribute__((alias("write")));
static __typeof__(writev) own_writev __attribute__((alias("writev")));

struct led {
    const char *name;
    void *here;
};

static const struct led led[] = {
    {"send", (void *)own_send},   {"sendto", (void *)own_sendto}, {"sendmsg", (void *)own_sendmsg},
    {"write", (void *)own_write}, {"writev", (void *)own_writev},
};

struct leading {
    ElfW(Addr) own; /* where this library lies, whose own calls go on to the C library */
    int failed;
};

/* Make one place hold `here`: the linker may have made it read-only since. */
static int put(void **place, void *here, ElfW(Addr) sealed_from, ElfW(Addr) sealed_to)
{
    if (__atomic_load_n(place, __ATOMIC_ACQUIRE) == here)
        return 0;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)place & -page);
    /* The linker seals whole pages: what lies behind the last of them stays writable. */
    int is_sealed =
        (uintptr_t)place >= (sealed_from & -page) && (uintptr_t)place < (sealed_to & -page);
    if (is_sealed && mprotect(start, page, PROT_READ | PROT_WRITE))
        return -1;
    __atomic_store_n(place, here, __ATOMIC_RELEASE);
    return is_sealed ? mprotect(start, page, PROT_READ) : 0;
}

static int lead_library(struct dl_phdr_info *library, size_t size, void *argument)
{
    (void)size;
    struct leading *leading = argument;
    ElfW(Addr) base = library->dlpi_addr, sealed_from = 0, sealed_to = 0;
    const ElfW(Dyn) *entries = NULL;
    for (int at = 0; at < library->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[at];
        if (part->p_type == PT_DYNAMIC)
            entries = (const void *)(base + part->p_vaddr);
        if (part->p_type == PT_GNU_RELRO) {
            sealed_from = base + part->p_vaddr;
            sealed_to = sealed_from + part->p_memsz;
        }
    }
    if (!entries || base == leading->own || strstr(library->dlpi_name, "linux-vdso"))
        return 0;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const ElfW(Rela) *tables[2] = {NULL, NULL};
    size_t bytes[2] = {0, 0};
    for (; entries->d_tag != DT_NULL; entries++) {
        /* glibc has made addresses of these offsets, other C libraries leave them. */
        ElfW(Addr) value = entries->d_un.d_ptr;
        ElfW(Addr) address = value < base ? base + value : value;
        switch (entries->d_tag) {
        case DT_SYMTAB: symbols = (const void *)address; break;
        case DT_STRTAB: names = (const void *)address; break;
        case DT_JMPREL: tables[0] = (const void *)address; break;
        case DT_PLTRELSZ: bytes[0] = entries->d_un.d_val; break;
        case DT_RELA: tables[1] = (const void *)address; break;
        case DT_RELASZ: bytes[1] = entries->d_un.d_val; break;
        }
    }
    for (int table = 0; table < 2 && symbols && names; table++) {
        size_t count = tables[table] ? bytes[table] / sizeof(ElfW(Rela)) : 0;
        for (size_t at = 0; at < count; at++) {
            const ElfW(Rela) *each = &tables[table][at];
            uint32_t kind = ELF64_R_TYPE(each->r_info);
            if (kind != SLOT && kind != ENTRY)
                continue;
            const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(each->r_info)];
            if (symbol->st_shndx != SHN_UNDEF)
                continue; /* A function of the library's own that has such a name. */
            const char *name = names + symbol->st_name;
            for (size_t which = 0; which < sizeof led / sizeof *led; which++)
                if (!strcmp(name, led[which].name))
                    leading->failed |= put((void **)(base + each->r_offset), led[which].here,
                                           sealed_from, sealed_to);
        }
    }
    return 0;
}

/* Lead the calls of every library that is loaded now here; 0, or -1 where that failed. */
int tinygram_lead_writes_here(void)
{
    Dl_info own;
    if (counts == &nothing || !dladdr((void *)tinygram_write_counts, &own))
        return -1;
    struct leading leading = {(ElfW(Addr))own.dli_fbase, 0};
    dl_iterate_phdr(lead_library, &leading);
    return leading.failed ? -1 : 0;
}
#else
int tinygram_lead_writes_here(void)
{
    return -1; /* This processor's relocations are not known here. */
}
#endif
