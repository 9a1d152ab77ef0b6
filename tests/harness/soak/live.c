/* Preloaded into a program, it counts what is allocated and not freed yet: of the whole program, and of the library whose file's
   name has QUOTALOCK_LIBRARY in it. The numbers lie in a file of LIVE_FOLDER that is called like the process; a fork goes on in
   a file of its own. What libc allocates for the library (a thread, a name that is looked up) is counted as the program's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sizes of blocks are told apart in steps of 16 bytes, up to the last. */
#define SIZES 1024
/* What is larger no system gives. */
#define MOST (SIZE_MAX / 4)

struct numbers {
    int64_t program, library;
    int64_t blocks[SIZES];
};

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static struct numbers first;
static struct numbers *numbers = &first;
static uintptr_t from, to;

/* The last bytes of a block tell whose it is: who frees it may be somebody else. */
struct mark {
    uintptr_t of;
    uintptr_t is_library;
};
#define ROOM sizeof(struct mark)
#define SECRET 0x51756f74616c6f63UL

static struct mark *mark_of(void *block)
{
    return (struct mark *)((char *)block + malloc_usable_size(block) - ROOM);
}

static void count(void *block, int sign, int is_library)
{
    int64_t size = (int64_t)malloc_usable_size(block);
    __atomic_fetch_add(&numbers->program, sign * size, __ATOMIC_RELAXED);
    if (!is_library)
        return;
    __atomic_fetch_add(&numbers->library, sign * size, __ATOMIC_RELAXED);
    __atomic_fetch_add(&numbers->blocks[size / 16 < SIZES ? size / 16 : SIZES - 1], sign, __ATOMIC_RELAXED);
}

static void *came(void *block, void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (block) {
        struct mark mark = {(uintptr_t)block ^ SECRET, at >= from && at < to};
        memcpy(mark_of(block), &mark, ROOM);
        count(block, 1, mark.is_library == 1);
    }
    return block;
}

/* Whether it was the library's. */
static int goes(void *block)
{
    struct mark mark;
    memcpy(&mark, mark_of(block), ROOM);
    int is_library = mark.of == ((uintptr_t)block ^ SECRET) && mark.is_library == 1;
    count(block, -1, is_library);
    return is_library;
}

/* What was counted goes on in a file of this process. */
static void publish(void)
{
    const char *folder = getenv("LIVE_FOLDER");
    char path[4096];
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *numbers))
        _exit(97);
    struct numbers *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED)
        _exit(97);
    *page = *numbers;
    numbers = page;
}

__attribute__((constructor)) static void begin(void)
{
    publish();
    pthread_atfork(NULL, NULL, publish);
}

static int look(struct dl_phdr_info *loaded, size_t size, void *name)
{
    (void)size;
    if (!strstr(loaded->dlpi_name, name))
        return 0;
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (int at = 0; at < loaded->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &loaded->dlpi_phdr[at];
        if (part->p_type != PT_LOAD)
            continue;
        uintptr_t start = loaded->dlpi_addr + part->p_vaddr;
        low = start < low ? start : low;
        high = start + part->p_memsz > high ? start + part->p_memsz : high;
    }
    from = low;
    to = high;
    return 1;
}

void *dlopen(const char *path, int flags)
{
    static void *(*real)(const char *, int);
    if (!real)
        real = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    /* Bound deeply, as PHP has it, it would find libc's functions instead of these. */
    void *opened = real(path, flags & ~RTLD_DEEPBIND);
    char *name = getenv("QUOTALOCK_LIBRARY");
    if (name && !to)
        dl_iterate_phdr(look, name);
    return opened;
}

void *malloc(size_t size)
{
    return size > MOST ? __libc_malloc(size) : came(__libc_malloc(size + ROOM), __builtin_return_address(0));
}

void *calloc(size_t count, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(count, size, &all) || all > MOST)
        return __libc_calloc(count, size);
    return came(__libc_calloc(1, all + ROOM), __builtin_return_address(0));
}

void *memalign(size_t alignment, size_t size)
{
    return came(__libc_memalign(alignment, size + ROOM), __builtin_return_address(0));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return came(__libc_memalign(alignment, size + ROOM), __builtin_return_address(0));
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    void *made = came(__libc_memalign(alignment, size + ROOM), __builtin_return_address(0));
    if (!made)
        return ENOMEM;
    *block = made;
    return 0;
}

void free(void *block)
{
    if (!block)
        return;
    goes(block);
    __libc_free(block);
}

void *realloc(void *block, size_t size)
{
    if (!block)
        return size > MOST ? __libc_malloc(size) : came(__libc_malloc(size + ROOM), __builtin_return_address(0));
    if (size > MOST)
        return __libc_realloc(block, size);
    if (!size) {
        free(block);
        return NULL;
    }
    int is_library = goes(block);
    void *moved = __libc_realloc(block, size + ROOM);
    void *caller = is_library ? (void *)from : NULL;
    if (!moved)
        came(block, caller);
    return moved ? came(moved, caller) : NULL;
}
