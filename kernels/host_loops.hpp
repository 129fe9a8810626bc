#pragma once

// How the host's inner loops are vectorised.

// One clone of a function per instruction set, chosen when the program starts. Its ifunc resolver would run before a
// sanitizer's runtime is ready; clang 14 cannot clone templates. No clone changes a result: the library is compiled
// without contraction.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__x86_64__) && defined(__gnu_linux__) && \
    defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define REFRAIN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define REFRAIN_CLONES
#endif

// The next loop carries nothing from one turn to the next, though its output may be one of its inputs.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // a sanitizer may prevent it
#define REFRAIN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define REFRAIN_INDEPENDENT _Pragma("GCC ivdep")
#else
#define REFRAIN_INDEPENDENT
#endif
