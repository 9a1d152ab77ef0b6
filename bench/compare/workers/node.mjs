// Node: as many calls in flight as there are lanes. See common.py for the task, serve.py for the protocol of a round, and
// node_peers.mjs for whom.

import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { limiters, locks, versions } from './node_peers.mjs'

/** @typedef {import('./node_peers.mjs').Calls} Calls */

// So many lanes, at most, watch the clock: reading it must not become part of what is measured.
const WATCHED = 10
const CHECKED = 'checked'

/** @type {import('./node_peers.mjs').Task} */
const task = JSON.parse(process.argv[2] ?? '')

/** The keys of a lane; lanes begin at different places. @returns {Generator<string, void>} */
function* keysOf(/** @type {string[]} */ keys, /** @type {number} */ lane) {
  if (task.turns === 'once') return yield* keys
  const start = Math.floor((keys.length * lane) / task.lanes)
  for (let turn = 0; ; turn++) {
    const names = task.turns === 'renamed' ? keys.map((key) => `${key}-${turn}`) : keys
    for (let n = turn ? 0 : start; n < names.length; n++) yield/** @type {string} */ (names[n])
  }
}

/** The CPU that the main thread has used so far. */
const mainCpuUs = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1000

let running = false

/** Makes call after call until the time is over. */
async function drive(
  /** @type {Calls} */ { call, judge },
  /** @type {Iterator<string, void>} */ keys,
  /** @type {number[] | undefined} */ took,
) {
  let [made, admitted] = [0, 0]
  while (running) {
    const { value: key, done } = keys.next()
    if (done) break
    const before = took ? performance.now() : 0
    const answer = await call(key)
    took?.push(performance.now() - before)
    made++
    if (judge(answer)) admitted++
    // Who answers without a call to the server must leave the loop a turn now and then.
    if (!(made % 64)) await new Promise(setImmediate)
  }
  return { made, admitted }
}

async function round(
  /** @type {Calls} */ calls,
  /** @type {Iterator<string, void>[]} */ lines,
  /** @type {number} */ seconds,
) {
  /** @type {number[]} */
  const took = []
  running = true
  setTimeout(() => {
    running = false
  }, seconds * 1000)
  const [begun, cpu, main] = [performance.now(), process.cpuUsage(), mainCpuUs()]
  const step = Math.max(1, Math.floor(task.lanes / WATCHED))
  const lanes = await Promise.all(lines.map((keys, lane) => drive(calls, keys, lane % step ? undefined : took)))
  const [ended, { user, system }, mainEnd] = [performance.now(), process.cpuUsage(cpu), mainCpuUs()]
  took.sort((a, b) => a - b)
  const slowest = (/** @type {number} */ share) => (took[Math.floor(took.length * share)] ?? 0) * 1000
  return {
    calls: lanes.reduce((sum, { made }) => sum + made, 0),
    admitted: lanes.reduce((sum, { admitted }) => sum + admitted, 0),
    seconds: (ended - begun) / 1000,
    cpu_us: user + system,
    main_us: mainEnd - main,
    p50_us: slowest(0.5),
    p99_us: slowest(0.99),
    p999_us: slowest(0.999),
  }
}

/** A lock acquired and released, as one call. */
const pair = (/** @type {import('./node_peers.mjs').Lock} */ { acquire, release }) => ({
  call: async (/** @type {string} */ key) => {
    const held = await acquire(key)
    if (held) await release(held)
    return held
  },
  judge: Boolean,
})

const [make, ...packages] = (task.kind === 'lock' ? locks : limiters)[task.client] ?? []
if (!make) throw new Error(`no adapter is called ${task.client}`)
const made = /** @type {any} */ (await make(task))
console.log(JSON.stringify({ versions: versions(packages) }))
if (task.check && task.kind === 'lock') {
  const held = await made.acquire(CHECKED)
  const answers = [Boolean(held), Boolean(await made.acquire(CHECKED))]
  await made.release(held)
  console.log(JSON.stringify({ answers: [...answers, Boolean(await made.acquire(CHECKED))] }))
} else if (task.check) {
  const answers = []
  for (let n = 0; n < task.check; n++) answers.push(made.judge(await made.call(CHECKED)))
  console.log(JSON.stringify({ answers }))
} else {
  const keys = readFileSync(task.keys, 'utf8').split('\n').filter(Boolean)
  const lines = Array.from({ length: task.lanes }, (_, lane) => keysOf(keys, lane))
  const calls = task.kind === 'lock' ? pair(made) : made
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await round(calls, lines, Number(line))))
  }
}
process.exit()
