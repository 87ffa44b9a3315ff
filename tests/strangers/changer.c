/* changer: the network between two ranks, when it is not honest. Preloaded into rank 1; what it
 * receives over TCP is altered once, behind so many bytes. CHANGER is one of
 *
 *   "flip BYTES BIT"   one bit is another
 *   "lose BYTES 0"     what one read brings is swallowed
 *   "repeat BYTES 0"   what one read brings comes twice
 *
 * CHANGED names a file that is made when that was done. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kLongest = 1 << 20 };
static unsigned long seen;
static int is_done;
static char kept[kLongest];
static size_t kept_bytes, kept_at;
static int kept_fd = -1;

static int is_tcp(int fd) {
  struct sockaddr_storage name;
  socklen_t bytes = sizeof name;
  return getsockname(fd, (struct sockaddr*)&name, &bytes) == 0 &&
         (name.ss_family == AF_INET || name.ss_family == AF_INET6);
}

static void tell(void) {
  const char* file = getenv("CHANGED");
  is_done = 1;
  if (file != NULL) close(open(file, O_CREAT | O_WRONLY, 0600));
}

/* What is to be done with these bytes: how many there are afterwards. */
static ssize_t change(int fd, char* data, size_t got) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  const char* order = getenv("CHANGER");
  char what[16];
  unsigned long from, bit;
  if (is_done || order == NULL || rank == NULL || strcmp(rank, "1") != 0 || !is_tcp(fd) ||
      sscanf(order, "%15s %lu %lu", what, &from, &bit) != 3)
    return (ssize_t)got;
  const unsigned long before = seen;
  seen += got;
  if (seen <= from) return (ssize_t)got;
  tell();
  if (strcmp(what, "lose") == 0) return 0;
  if (strcmp(what, "repeat") == 0) {
    memcpy(kept, data, got);
    kept_bytes = got;
    kept_fd = fd;
  } else {
    data[from > before ? from - before : 0] ^= (char)(1U << bit);
  }
  return (ssize_t)got;
}

static ssize_t again(int fd, char* data, size_t room) {
  if (fd != kept_fd) return 0;
  const size_t bytes = kept_bytes - kept_at < room ? kept_bytes - kept_at : room;
  memcpy(data, kept + kept_at, bytes);
  kept_at += bytes;
  if (kept_at == kept_bytes) kept_fd = -1;
  return (ssize_t)bytes;
}

ssize_t recv(int fd, void* data, size_t room, int flags) {
  static ssize_t (*real)(int, void*, size_t, int);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "recv");
  if (room > kLongest) room = kLongest;
  ssize_t got = again(fd, data, room);
  if (got > 0) return got;
  got = real(fd, data, room, flags);
  if (got <= 0) return got;
  got = change(fd, data, (size_t)got);
  if (got == 0) errno = EAGAIN;
  return got == 0 ? -1 : got;
}

ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  (void)flags;
  for (size_t i = 0; i < message->msg_iovlen; ++i)
    if (message->msg_iov[i].iov_len > 0 && is_tcp(fd))
      return recv(fd, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len, MSG_DONTWAIT);
  static ssize_t (*real)(int, struct msghdr*, int);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "recvmsg");
  return real(fd, message, flags);
}
