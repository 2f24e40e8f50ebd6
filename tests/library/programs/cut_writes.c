/* Preloaded: lets the kernel take as little of each write to one descriptor as a test asks for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_PARTS = 64 };

static int cut_fd = -1;
static const long *takes;
static long count, next;

/* Writes to fd take taken[0], taken[1], … bytes at most, 0: EAGAIN; after the last, everything. */
void cut_writes(int fd, const long *taken, long taken_count)
{
    cut_fd = fd;
    takes = taken;
    count = taken_count;
    next = 0;
}

/* How many writes were cut. */
long cuts(void) { return next; }

/* How many bytes this write may take; -1: it is not to be cut. */
static long limit(int fd)
{
    return fd == cut_fd && next < count ? takes[next++] : -1;
}

static ssize_t blocked(void)
{
    errno = EAGAIN;
    return -1;
}

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
    ssize_t (*real)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");
    long most = limit(fd);
    if (most == 0)
        return blocked();
    return real(fd, bytes, most > 0 && (size_t)most < size ? (size_t)most : size, flags);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    long most = limit(fd);
    if (most == 0)
        return blocked();
    return real(fd, bytes, most > 0 && (size_t)most < size ? (size_t)most : size);
}

/* The first `most` bytes of these parts; how many parts that is. */
static int cut(struct iovec *to, const struct iovec *from, int parts, size_t most)
{
    int at = 0;
    for (; at < parts && at < MOST_PARTS && most > 0; at++) {
        to[at] = from[at];
        if (to[at].iov_len > most)
            to[at].iov_len = most;
        most -= to[at].iov_len;
    }
    return at;
}

ssize_t writev(int fd, const struct iovec *parts, int part_count)
{
    ssize_t (*real)(int, const struct iovec *, int) = dlsym(RTLD_NEXT, "writev");
    struct iovec some[MOST_PARTS];
    long most = limit(fd);
    if (most < 0)
        return real(fd, parts, part_count);
    return most == 0 ? blocked() : real(fd, some, cut(some, parts, part_count, most));
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t (*real)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");
    struct iovec some[MOST_PARTS];
    struct msghdr shorter = *message;
    long most = limit(fd);
    if (most < 0)
        return real(fd, message, flags);
    if (most == 0)
        return blocked();
    shorter.msg_iov = some;
    shorter.msg_iovlen = cut(some, message->msg_iov, message->msg_iovlen, most);
    return real(fd, &shorter, flags);
}
