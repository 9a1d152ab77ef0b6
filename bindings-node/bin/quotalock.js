#!/usr/bin/env node
'use strict'

// Runs the program `quotalock` of this platform as if it had been started itself: the file next to this one, or that of the
// platform's package.

const { spawn } = require('node:child_process')
const { existsSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { platform, nativePackage } = require('../lib/platform.js')

/** What ends a program, or asks it for something; a terminal's Ctrl-C reaches it without us. */
const PASSED_ON = /** @type {const} */ (['SIGHUP', 'SIGTERM', 'SIGUSR1', 'SIGUSR2'])
/** The exit code for usage: nothing can be run. */
const NO_PROGRAM = 2

function program() {
  const own = join(__dirname, `quotalock-${platform()}`)
  if (existsSync(own)) return own
  try {
    return join(dirname(require.resolve(`${nativePackage()}/package.json`)), 'quotalock')
  } catch {
    return own
  }
}

const child = spawn(program(), process.argv.slice(2), { argv0: 'quotalock', stdio: 'inherit' })
for (const signal of PASSED_ON) process.on(signal, () => child.kill(signal))
// It decides when to end, and with what.
for (const signal of ['SIGINT', 'SIGQUIT']) process.on(signal, () => {})

child.on('error', (error) => {
  console.error(`quotalock: no program for ${platform()} (${error.message}): install ${nativePackage()}`)
  process.exitCode = NO_PROGRAM
})
child.on('exit', (code, signal) => {
  if (signal === null) return process.exit(code)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
