/* Counts the writes of one socket, in code that is not ours, without disturbing it.
 *
 * Preloaded (LD_PRELOAD) into the sender's process: it stands in front of the C library's send,
 * sendto, sendmsg, write and writev, and counts the calls that hand bytes of the watched
 * descriptors to the kernel. The counts lie in shared memory, so that a forked child that owns the
 * socket is counted too. A call costs one look into a table more, and a counted one two additions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#define WATCHED_WORDS 16

struct counts {
    atomic_uint_fast64_t watched[WATCHED_WORDS]; /* a bit for each descriptor */
    atomic_uint_fast64_t writes;
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t would_block;
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
    if (shared != MAP_FAILED)
        counts = shared;
    real_send = (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
}

/* Where the counts are; NULL where there is no shared memory, and nothing is counted. */
void *tinygram_write_counts(void)
{
    return counts == &nothing ? NULL : counts;
}

static int is_watched(int fd)
{
    if ((unsigned)fd >= 64 * WATCHED_WORDS)
        return 0;
    uint64_t word = atomic_load_explicit(&counts->watched[fd / 64], memory_order_relaxed);
    return word >> fd % 64 & 1;
}

static ssize_t count(int fd, ssize_t result)
{
    if (is_watched(fd)) {
        if (result > 0) {
            atomic_fetch_add_explicit(&counts->writes, 1, memory_order_relaxed);
            atomic_fetch_add_explicit(&counts->bytes, (uint64_t)result, memory_order_relaxed);
        } else if (result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            atomic_fetch_add_explicit(&counts->would_block, 1, memory_order_relaxed);
        }
    }
    return result;
}

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    find_real_calls();
    return count(fd, real_send(fd, bytes, length, flags));
}

ssize_t sendto(int fd, const void *bytes, size_t length, int flags,
               const struct sockaddr *address, socklen_t address_length)
{
    find_real_calls();
    return count(fd, real_sendto(fd, bytes, length, flags, address, address_length));
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    find_real_calls();
    return count(fd, real_sendmsg(fd, message, flags));
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    find_real_calls();
    return count(fd, real_write(fd, bytes, length));
}

ssize_t writev(int fd, const struct iovec *parts, int part_count)
{
    find_real_calls();
    return count(fd, real_writev(fd, parts, part_count));
}
