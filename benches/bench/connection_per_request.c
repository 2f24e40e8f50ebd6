// One client thread, a connection for each request: what `tinygram rr --connections per-request` does,
// in plain C. usage: connection_per_request PORT CALLS REQUEST_BYTES REPLY_BYTES; prints ns for all.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void call(const struct sockaddr_in *server, const char *request, size_t request_bytes,
                 char *reply, size_t reply_bytes) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0) fail("socket");
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5)) fail("TCP_CONGESTION");
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) fail("TCP_NODELAY");
    if (connect(fd, (const struct sockaddr *)server, sizeof *server)) fail("connect");
    for (size_t sent = 0; sent < request_bytes;) {
        ssize_t count = send(fd, request + sent, request_bytes - sent, MSG_NOSIGNAL);
        if (count < 0) fail("send");
        sent += count;
    }
    for (size_t received = 0; received < reply_bytes;) {
        ssize_t count = recv(fd, reply + received, reply_bytes - received, 0);
        if (count <= 0) fail("recv");
        for (ssize_t at = 0; at < count; at++, received++)
            if ((unsigned char)reply[received] != received % 251) fail("a wrong reply");
    }
    close(fd);
}

int main(int count, char **words) {
    if (count != 5) return 2;
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    long calls = atol(words[2]);
    size_t request_bytes = atol(words[3]), reply_bytes = atol(words[4]);
    char *request = malloc(request_bytes), *reply = malloc(reply_bytes);
    if (!request || !reply) fail("malloc");
    memset(request, 1, request_bytes);
    for (long warm_up = 0; warm_up < 100; warm_up++)
        call(&server, request, request_bytes, reply, reply_bytes);
    long long start_ns = now_ns();
    for (long made = 0; made < calls; made++)
        call(&server, request, request_bytes, reply, reply_bytes);
    printf("%lld\n", now_ns() - start_ns);
    return 0;
}
