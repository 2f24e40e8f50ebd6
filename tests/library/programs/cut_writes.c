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
static long count, next, left, cut_count;

/* After taken[0] bytes a write to fd ends short, after taken[1] more another one, …; one that could
   take nothing: EAGAIN. After the last, everything is taken. */
void cut_writes(int fd, const long *taken, long taken_count)
{
    cut_fd = fd;
    takes = taken;
    count = taken_count;
    next = 0;
    left = count > 0 ? takes[0] : 0;
    cut_count = 0;
}

/* How many writes took less than they were to write. */
long cuts(void) { return cut_count; }

/* How many bytes this write may take, fewer than its size; -1: it is not to be cut. */
static long limit(int fd, size_t size)
{
    if (fd != cut_fd || next == count)
        return -1;
    if (size <= (size_t)left) {
        left -= size;
        return -1;
    }
    long most = left;
    cut_count++;
    next++;
    left = next < count ? takes[next] : 0;
    return most;
}

static ssize_t blocked(void)
{
    errno = EAGAIN;
    return -1;
}

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
    ssize_t (*real)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");
    long most = limit(fd, size);
    if (most == 0)
        return blocked();
    return real(fd, bytes, most > 0 ? (size_t)most : size, flags);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    long most = limit(fd, size);
    if (most == 0)
        return blocked();
    return real(fd, bytes, most > 0 ? (size_t)most : size);
}

static size_t size_of(const struct iovec *parts, int part_count)
{
    size_t size = 0;
    for (int at = 0; at < part_count; at++)
        size += parts[at].iov_len;
    return size;
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
    long most = limit(fd, size_of(parts, part_count));
    if (most < 0)
        return real(fd, parts, part_count);
    return most == 0 ? blocked() : real(fd, some, cut(some, parts, part_count, most));
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t (*real)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");
    struct iovec some[MOST_PARTS];
    struct msghdr shorter = *message;
    long most = limit(fd, size_of(message->msg_iov, message->msg_iovlen));
    if (most < 0)
        return real(fd, message, flags);
    if (most == 0)
        return blocked();
    shorter.msg_iov = some;
    shorter.msg_iovlen = cut(some, message->msg_iov, message->msg_iovlen, most);
    return real(fd, &shorter, flags);
}
