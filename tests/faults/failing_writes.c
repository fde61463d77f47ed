/* Calls of the C library that change a folder, counted and made to fail; loaded ahead of it by LD_PRELOAD.

   Whatever writes in a process comes through here: Python, and the libraries in C that know nothing of Python. The file
   that FAULTS_STATE names is shared by all processes that a test starts, so that a batch counts as one. The file that
   FAULTS_LOG names gets a line for each call: its number, the name of the call, what it was called on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct state {
    long count;    /* calls below the root so far */
    long at;       /* the number of the call that fails; 0: none */
    long error;    /* with this errno */
    long lasting;  /* 1: a full disk; from then on nothing new can be written, but names can be moved and removed */
    char root[PATH_MAX];
};

static struct state *state;
static int journal = -1;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULTS_STATE"), *log = getenv("FAULTS_LOG");
    int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    if (mapped == MAP_FAILED)
        return;
    state = mapped;
    if (log) {
        int low = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        journal = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 500); /* out of the way of who counts descriptors */
        syscall(SYS_close, low);
    }
}

static int is_below(const char *path) {
    size_t length = strlen(state->root);
    return length && !strncmp(path, state->root, length) && (path[length] == '/' || !path[length]);
}

/* Counts a call; returns whether it is to fail. */
static int meet(const char *call, const char *path, int needs_space) {
    if (!state || !is_below(path))
        return 0;
    long number = __atomic_add_fetch(&state->count, 1, __ATOMIC_SEQ_CST);
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%ld %s %s\n", number, call, path);
    if (journal >= 0)
        syscall(SYS_write, journal, line, (size_t)length);
    if (!state->at || number < state->at)
        return 0;
    return state->lasting ? needs_space : number == state->at;
}

static int refuse(void) {
    errno = (int)state->error;
    return -1;
}

static const char *path_of(int file, char *into) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, name, into, (size_t)PATH_MAX - 1);
    into[length < 0 ? 0 : length] = 0;
    return into;
}

static const char *path_at(int folder, const char *path, char *into) {
    if (path[0] == '/')
        return path;
    char base[PATH_MAX];
    if (folder == AT_FDCWD) {
        if (!getcwd(base, sizeof base))
            return path;
    } else {
        path_of(folder, base);
    }
    if (snprintf(into, PATH_MAX, "%s/%s", base, path) >= PATH_MAX)
        return path;
    return into;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define ON_PATH(call, folder, path, space, failed) \
    do { char held[PATH_MAX]; if (state && meet(call, path_at(folder, path, held), space)) { refuse(); return failed; } } while (0)
#define ON_FILE(call, file, space, failed) \
    do { char held[PATH_MAX]; if (state && meet(call, path_of(file, held), space)) { refuse(); return failed; } } while (0)

#define WRITES(flags) (((flags) & O_ACCMODE) != O_RDONLY)
#define OPENING(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        if (WRITES(flags)) ON_PATH("open", AT_FDCWD, path, (flags & O_CREAT) != 0, -1); \
        return REAL(name)(path, flags, mode); \
    }
#define OPENING_AT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        if (WRITES(flags)) ON_PATH("open", folder, path, (flags & O_CREAT) != 0, -1); \
        return REAL(name)(folder, path, flags, mode); \
    }
OPENING(open)
OPENING(open64)
OPENING_AT(openat)
OPENING_AT(openat64)

#define OPENING_STREAM(name) \
    FILE *name(const char *restrict path, const char *restrict mode) { \
        if (strpbrk(mode, "wa+")) ON_PATH("open", AT_FDCWD, path, 1, NULL); \
        return REAL(name)(path, mode); \
    }
OPENING_STREAM(fopen)
OPENING_STREAM(fopen64)

ssize_t write(int file, const void *data, size_t size) { ON_FILE("write", file, 1, -1); return REAL(write)(file, data, size); }
ssize_t pwrite(int file, const void *data, size_t size, off_t place) { ON_FILE("write", file, 1, -1); return REAL(pwrite)(file, data, size, place); }
ssize_t pwrite64(int file, const void *data, size_t size, off64_t place) { ON_FILE("write", file, 1, -1); return REAL(pwrite64)(file, data, size, place); }
ssize_t writev(int file, const struct iovec *data, int count) { ON_FILE("write", file, 1, -1); return REAL(writev)(file, data, count); }
size_t fwrite(const void *restrict data, size_t size, size_t count, FILE *restrict stream) { ON_FILE("write", fileno(stream), 1, 0); return REAL(fwrite)(data, size, count, stream); }
int fsync(int file) { ON_FILE("fsync", file, 0, -1); return REAL(fsync)(file); }
int fdatasync(int file) { ON_FILE("fsync", file, 0, -1); return REAL(fdatasync)(file); }
int ftruncate(int file, off_t size) { ON_FILE("truncate", file, 0, -1); return REAL(ftruncate)(file, size); }
int ftruncate64(int file, off64_t size) { ON_FILE("truncate", file, 0, -1); return REAL(ftruncate64)(file, size); }
int posix_fallocate(int file, off_t place, off_t size) { ON_FILE("write", file, 1, (int)state->error); return REAL(posix_fallocate)(file, place, size); }
int posix_fallocate64(int file, off64_t place, off64_t size) { ON_FILE("write", file, 1, (int)state->error); return REAL(posix_fallocate64)(file, place, size); }
ssize_t sendfile(int out, int in, off_t *place, size_t size) { ON_FILE("write", out, 1, -1); return REAL(sendfile)(out, in, place, size); }
ssize_t sendfile64(int out, int in, off64_t *place, size_t size) { ON_FILE("write", out, 1, -1); return REAL(sendfile64)(out, in, place, size); }
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) { ON_FILE("write", out, 1, -1); return REAL(copy_file_range)(in, from, out, to, size, flags); }

int rename(const char *from, const char *to) { ON_PATH("rename", AT_FDCWD, to, 0, -1); return REAL(rename)(from, to); }
int renameat(int one, const char *from, int other, const char *to) { ON_PATH("rename", other, to, 0, -1); return REAL(renameat)(one, from, other, to); }
int renameat2(int one, const char *from, int other, const char *to, unsigned flags) { ON_PATH("rename", other, to, 0, -1); return REAL(renameat2)(one, from, other, to, flags); }
int link(const char *from, const char *to) { ON_PATH("link", AT_FDCWD, to, 1, -1); return REAL(link)(from, to); }
int linkat(int one, const char *from, int other, const char *to, int flags) { ON_PATH("link", other, to, 1, -1); return REAL(linkat)(one, from, other, to, flags); }
int symlink(const char *from, const char *to) { ON_PATH("link", AT_FDCWD, to, 1, -1); return REAL(symlink)(from, to); }
int mkdir(const char *path, mode_t mode) { ON_PATH("mkdir", AT_FDCWD, path, 1, -1); return REAL(mkdir)(path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) { ON_PATH("mkdir", folder, path, 1, -1); return REAL(mkdirat)(folder, path, mode); }
int unlink(const char *path) { ON_PATH("unlink", AT_FDCWD, path, 0, -1); return REAL(unlink)(path); }
int unlinkat(int folder, const char *path, int flags) { ON_PATH("unlink", folder, path, 0, -1); return REAL(unlinkat)(folder, path, flags); }
int rmdir(const char *path) { ON_PATH("unlink", AT_FDCWD, path, 0, -1); return REAL(rmdir)(path); }
