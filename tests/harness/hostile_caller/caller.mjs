// Calls a hostile server and a good one at the same time, in Node. The protocol is that of caller.py.

import { readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, QuotalockError } from 'quotalock'

const BAD_CALLERS = 3

/** A number that the kernel knows of this process. */
function status(/** @type {string} */ name) {
  const found = readFileSync('/proc/self/status', 'utf8').match(new RegExp(`${name}:\\s*(\\d+)`))
  return Number(found?.[1])
}

/** What one side's calls came to. */
class Tally {
  longest = 0
  calls = 0
  threads = 0
  /** @type {Set<string>} */
  codes = new Set()

  constructor(/** @type {number} */ seconds) {
    this.end = performance.now() + seconds * 1000
  }

  more() {
    return performance.now() < this.end
  }

  /** Makes one call and notes it. */
  async note(/** @type {() => Promise<unknown>} */ call) {
    const began = performance.now()
    let code = 'ok'
    try {
      await call()
    } catch (error) {
      if (!(error instanceof QuotalockError)) throw error
      code = error.code
    }
    this.longest = Math.max(this.longest, performance.now() - began)
    this.calls += 1
    this.codes.add(code)
    this.threads = Math.max(this.threads, status('Threads'))
    await sleep(2)
  }
}

/** One attack. */
async function attack(/** @type {Record<string, any>} */ request) {
  const badClient = new Client(request.bad, { timeoutMs: request.timeout_ms })
  const goodClient = new Client(request.good)
  const limiter = goodClient.limiter('good', '1000000/1s')
  await limiter.consume('k')
  writeFileSync('/proc/self/clear_refs', '5')
  const before = status('VmRSS')
  const [bad, good] = [new Tally(request.seconds), new Tally(request.seconds)]
  const hostile = badClient.limiter('bad', '5/1h')
  const waitMs = request.wait_ms
  const ask = request.call === 'acquire' ? () => badClient.lock('bad', { waitMs }) : () => hostile.consume('k')
  const callBad = async () => {
    while (bad.more()) await bad.note(async () => void (await ask()))
  }
  const callGood = async () => {
    while (good.more()) await good.note(() => limiter.consume('k'))
  }
  await Promise.all([...Array.from({ length: BAD_CALLERS }, callBad), callGood()])
  badClient.close()
  goodClient.close()
  return {
    bad_ms: bad.longest,
    bad_calls: bad.calls,
    codes: [...bad.codes].sort(),
    good_ms: good.longest,
    good_calls: good.calls,
    good_codes: [...good.codes].sort(),
    threads: Math.max(bad.threads, good.threads),
    grown_kb: status('VmHWM') - before,
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await attack(JSON.parse(line)))}\n`)
}
