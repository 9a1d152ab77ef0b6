'use strict'

// What this platform is called in the names of native files, and the npm package that has them.

/** Such as `linux-x64-gnu`. */
function platform() {
  const { platform, arch } = process
  if (platform !== 'linux') return `${platform}-${arch}`
  const report = /** @type {any} */ (process.report.getReport())
  return `${platform}-${arch}-${report.header.glibcVersionRuntime ? 'gnu' : 'musl'}`
}

/** The package that npm installs next to ours on a platform: its native part, and the program. */
function nativePackage(name = platform()) {
  return `@quotalock/native-${name}`
}

module.exports = { platform, nativePackage }
