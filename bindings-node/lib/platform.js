'use strict'

// What this platform is called in the names of native files.

/** Such as `linux-x64-gnu`. */
function platform() {
  const { platform, arch } = process
  if (platform !== 'linux') return `${platform}-${arch}`
  const report = /** @type {any} */ (process.report.getReport())
  return `${platform}-${arch}-${report.header.glibcVersionRuntime ? 'gnu' : 'musl'}`
}

module.exports = { platform }
