dnl What phpize reads when PIE finds no archive for a PHP and builds from source: cargo builds the extension.

PHP_ARG_ENABLE([ratelimit],
  [whether to enable the extension ratelimit],
  [AS_HELP_STRING([--disable-ratelimit], [Disable the extension ratelimit])],
  [yes])

if test "$PHP_RATELIMIT" != "no"; then
  AC_PATH_PROG([CARGO], [cargo], [no])
  if test "$CARGO" = "no"; then
    AC_MSG_ERROR([cargo is missing: install Rust 1.88 or later, or use a PHP that a release has an archive for])
  fi
  dnl ext-php-rs looks for a file of this name.
  PHP_CONFIG=`command -v "$PHP_CONFIG"`
  CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-`pwd`/target}
  PHP_MODULES="$PHP_MODULES \$(phplibdir)/ratelimit.so"
  PHP_SUBST([CARGO])
  PHP_SUBST([CARGO_TARGET_DIR])
  PHP_SUBST([PHP_CONFIG])
  PHP_ADD_MAKEFILE_FRAGMENT([$abs_srcdir/Makefile.frag], [$abs_srcdir], [$abs_builddir])
fi
