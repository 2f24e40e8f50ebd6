// A paced stream in plain C, which shares no code with the bench: its own pacing and its own times.
//
// usage: paced_stream receive CPU BYTES   prints its port; at the end, of each read, 8 bytes each: when it
//                                         ended (CLOCK_MONOTONIC, ns), and how many bytes had come by then
//        paced_stream send CPU BYTES PORT RATE COUNT
//                                         message n leaves n / RATE s after the time that it prints
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

enum { MOST_READS = 1 << 20, SPIN_NS = 20000, SETTLE_NS = 20000000 };

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// Sleeps until 20 µs before, and spins the rest.
static void wait_until(int64_t due_ns) {
    int64_t early_ns = due_ns - SPIN_NS;
    if (early_ns > now_ns()) {
        struct timespec wake = {.tv_sec = early_ns / 1000000000, .tv_nsec = early_ns % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL)) continue;
    }
    while (now_ns() < due_ns) continue;
}

static int tcp_socket(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0) fail("socket");
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5)) fail("TCP_CONGESTION");
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) fail("TCP_NODELAY");
    return fd;
}

static void receive(void) {
    static int64_t notes[MOST_READS][2];
    static char bytes[256 << 10];
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t here_bytes = sizeof here;
    memset(notes, 1, sizeof notes);
    int listener = tcp_socket(), fd;
    if (bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, 1)) fail("listen");
    if (getsockname(listener, (struct sockaddr *)&here, &here_bytes)) fail("getsockname");
    printf("%d\n", ntohs(here.sin_port));
    fflush(stdout);
    if ((fd = accept(listener, NULL, NULL)) < 0) fail("accept");
    size_t reads = 0;
    int64_t come = 0;
    for (ssize_t count; (count = recv(fd, bytes, sizeof bytes, 0)) != 0; reads++) {
        if (count < 0) fail("recv");
        if (reads == MOST_READS) fail("more reads than are noted");
        notes[reads][0] = now_ns();
        notes[reads][1] = come += count;
    }
    if (fwrite(notes, sizeof *notes, reads, stdout) != reads) fail("fwrite");
}

static void send_paced(int64_t message_bytes, int port, int64_t rate_per_s, int64_t count) {
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(port)};
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = tcp_socket();
    if (connect(fd, (struct sockaddr *)&there, sizeof there)) fail("connect");
    char *message = malloc(message_bytes);
    if (!message) fail("malloc");
    memset(message, 1, message_bytes);
    int64_t start_ns = now_ns() + SETTLE_NS;
    for (int64_t each = 0; each < count; each++) {
        wait_until(start_ns + each * 1000000000 / rate_per_s);
        for (ssize_t sent = 0, more; sent < message_bytes; sent += more) {
            more = send(fd, message + sent, message_bytes - sent, MSG_NOSIGNAL);
            if (more < 0) fail("send");
        }
    }
    printf("%lld\n", (long long)start_ns);
}

int main(int count, char **words) {
    int sends = count == 7 && !strcmp(words[1], "send");
    if (!sends && !(count == 4 && !strcmp(words[1], "receive"))) return 2;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(words[2]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus)) fail("sched_setaffinity");
    if (prctl(PR_SET_TIMERSLACK, 1)) fail("PR_SET_TIMERSLACK");
    if (sends) send_paced(atoll(words[3]), atoi(words[4]), atoll(words[5]), atoll(words[6]));
    else receive();
    return 0;
}
