/* PHP loads its extensions so that each finds its own symbols first: then AddressSanitizer would not see what they allocate,
   and refuses. */
#define _GNU_SOURCE
#include <dlfcn.h>

void *dlopen(const char *file, int flags) {
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(file, flags & ~RTLD_DEEPBIND);
}
