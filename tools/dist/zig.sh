#!/bin/sh
# What cargo and the `cc` crate call in place of cc and ar: `zig.sh ZIG TOOL TARGET ARGUMENT ...`. zig brings the C library,
# its start files and libunwind, so the arguments that name the compiler's own are left out.
set -eu
zig=$1 tool=$2 target=$3
shift 3
[ "$tool" != ar ] || exec "$zig" ar "$@"
for argument in "$@"; do
  shift
  case $argument in
    -lgcc_s) set -- "$@" -lunwind ;;
    # zig's linker knows no such options.
    --target=* | -lgcc | -nostartfiles | -Wl,--eh-frame-hdr | -Wl,-O1 | -Wl,--no-undefined-version) ;;
    */self-contained/*crt*.o) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "$zig" "$tool" -target "$target" "$@"
