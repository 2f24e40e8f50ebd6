/* Programs that know nothing of links, to see one from outside: a ping-pong and a bulk transfer.

   link_probe echo                    answer datagrams on port 7001 until killed
   link_probe ping ADDRESS COUNT      round trips of COUNT datagrams, one after the other: ns, a line each
   link_probe sink                    a TCP connection on port 7002: bytes and ns after its first 500 ms
   link_probe bulk ADDRESS MS         send to it for MS milliseconds
   link_probe count                   datagrams on port 7003, until none comes for 1 s: how many
   link_probe rate ADDRESS BYTES PER_S MS   send such datagrams at even intervals: how many, and the ns
                                      from the first to the last. After a stop it goes on at that rate:
                                      what it made up for in a burst would be a higher one, and queue
   link_probe stops NS MS             of MS milliseconds, the times that this host stopped a program which
                                      does nothing but look at the clock for more than NS: how many */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PING_PORT = 7001, BULK_PORT = 7002, RATE_PORT = 7003, WARM_UP_NS = 500000000, STOP_NS = 1000000 };

static char buffer[1 << 18];

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void or_exit(int failed, const char *what)
{
    if (failed) {
        perror(what);
        exit(1);
    }
}

static struct sockaddr_in address_of(const char *text, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    or_exit(inet_pton(AF_INET, text, &address.sin_addr) != 1, "address");
    return address;
}

static int listening(int type, int port)
{
    int fd = socket(AF_INET, type, 0), one = 1, bytes = 8 << 20;
    struct sockaddr_in address = address_of("0.0.0.0", port);
    or_exit(fd < 0, "socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (type == SOCK_DGRAM)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    or_exit(bind(fd, (struct sockaddr *)&address, sizeof address), "bind");
    if (type == SOCK_STREAM) {
        or_exit(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5), "cubic");
        or_exit(listen(fd, 1), "listen");
    }
    puts("listening");
    fflush(stdout);
    return fd;
}

static int connected(int type, const char *text, int port)
{
    int fd = socket(AF_INET, type, 0);
    struct sockaddr_in address = address_of(text, port);
    or_exit(fd < 0, "socket");
    if (type == SOCK_STREAM)
        or_exit(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5), "cubic");
    or_exit(connect(fd, (struct sockaddr *)&address, sizeof address), "connect");
    return fd;
}

static void receive_within(int fd, int seconds)
{
    struct timeval limit = {.tv_sec = seconds};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

static void echo(void)
{
    int fd = listening(SOCK_DGRAM, PING_PORT);
    for (;;) {
        struct sockaddr_in from;
        socklen_t length = sizeof from;
        ssize_t got = recvfrom(fd, buffer, sizeof buffer, 0, (struct sockaddr *)&from, &length);
        if (got >= 0)
            sendto(fd, buffer, got, 0, (struct sockaddr *)&from, length);
    }
}

static void ping(const char *address, long count)
{
    int fd = connected(SOCK_DGRAM, address, PING_PORT);
    receive_within(fd, 2);
    for (long i = 0; i < count; i++) {
        long long at_ns = now_ns();
        or_exit(send(fd, &at_ns, sizeof at_ns, 0) < 0, "send");
        or_exit(recv(fd, buffer, sizeof buffer, 0) < 0, "recv");
        printf("%lld\n", now_ns() - at_ns);
    }
}

static void sink(void)
{
    int listener = listening(SOCK_STREAM, BULK_PORT), fd = accept(listener, NULL, NULL);
    long long begun_ns = now_ns(), since_ns = 0, last_ns = 0, bytes = 0;
    ssize_t got;
    or_exit(fd < 0, "accept");
    while ((got = recv(fd, buffer, sizeof buffer, 0)) > 0) {
        last_ns = now_ns();
        if (since_ns)
            bytes += got;
        else if (last_ns - begun_ns > WARM_UP_NS)
            since_ns = last_ns;
    }
    printf("%lld %lld\n", bytes, last_ns - since_ns);
}

static void bulk(const char *address, long milliseconds)
{
    int fd = connected(SOCK_STREAM, address, BULK_PORT);
    long long end_ns = now_ns() + milliseconds * 1000000LL;
    while (now_ns() < end_ns)
        or_exit(send(fd, buffer, sizeof buffer, MSG_NOSIGNAL) < 0, "send");
}

static void count(void)
{
    int fd = listening(SOCK_DGRAM, RATE_PORT);
    long datagrams = 0;
    receive_within(fd, 30);
    while (recv(fd, buffer, sizeof buffer, 0) >= 0) {
        if (datagrams++ == 0)
            receive_within(fd, 1);
    }
    printf("%ld\n", datagrams);
}

static void rate(const char *address, long bytes, double per_s, long milliseconds)
{
    int fd = connected(SOCK_DGRAM, address, RATE_PORT);
    long datagrams = per_s * milliseconds / 1e3;
    long long begun_ns = now_ns(), stopped_ns = 0;
    or_exit(datagrams < 2, "datagrams");
    or_exit(bytes < 1 || bytes > (long)sizeof buffer, "bytes");
    for (long i = 0; i < datagrams; i++) {
        long long due_ns = begun_ns + stopped_ns + i * 1e9 / per_s, late_ns = now_ns() - due_ns;
        struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
        if (late_ns < 0)
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        else if (late_ns > STOP_NS)
            stopped_ns += late_ns;
        or_exit(send(fd, buffer, bytes, 0) < 0, "send");
    }
    printf("%ld %lld\n", datagrams, now_ns() - begun_ns);
}

static void stops(long long least_ns, long milliseconds)
{
    long long last_ns = now_ns(), end_ns = last_ns + milliseconds * 1000000LL;
    long found = 0;
    while (last_ns < end_ns) {
        long long at_ns = now_ns();
        found += at_ns - last_ns > least_ns;
        last_ns = at_ns;
    }
    printf("%ld\n", found);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    prctl(PR_SET_TIMERSLACK, 1);
    if (!strcmp(what, "echo"))
        echo();
    else if (!strcmp(what, "ping") && argc == 4)
        ping(argv[2], atol(argv[3]));
    else if (!strcmp(what, "sink"))
        sink();
    else if (!strcmp(what, "bulk") && argc == 4)
        bulk(argv[2], atol(argv[3]));
    else if (!strcmp(what, "count"))
        count();
    else if (!strcmp(what, "rate") && argc == 6)
        rate(argv[2], atol(argv[3]), atof(argv[4]), atol(argv[5]));
    else if (!strcmp(what, "stops") && argc == 4)
        stops(atoll(argv[2]), atol(argv[3]));
    else
        return 2;
    return 0;
}
