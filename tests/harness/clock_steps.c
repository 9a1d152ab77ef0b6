/* Preloaded into a server, it steps the server's wall clock: the microseconds in the file that CLOCK_STEPS names are
   added to all that is asked of the wall clock. The monotonic clock goes on as it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *steps;

__attribute__((constructor)) static void open_steps(void)
{
    const char *path = getenv("CLOCK_STEPS");
    int file = path ? open(path, O_RDONLY) : -1;
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *steps, PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED)
        _exit(97);
    steps = page;
    close(file);
}

static int64_t wall(void)
{
    static int (*real)(clockid_t, struct timespec *);
    struct timespec now;
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    real(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec + (steps ? *steps : 0) * 1000;
}

int clock_gettime(clockid_t clock, struct timespec *at)
{
    static int (*real)(clockid_t, struct timespec *);
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) {
        if (!real)
            real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
        return real(clock, at);
    }
    int64_t now = wall();
    at->tv_sec = now / 1000000000;
    at->tv_nsec = now % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
    (void)zone;
    int64_t now = wall();
    at->tv_sec = now / 1000000000;
    at->tv_usec = now % 1000000000 / 1000;
    return 0;
}

time_t time(time_t *at)
{
    time_t now = wall() / 1000000000;
    if (at)
        *at = now;
    return now;
}
