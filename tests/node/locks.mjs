// What the tests of locks share.

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Lock } from 'quotalock'

/** As long as it takes: tests share the machine. */
export const LONG = 60_000

/** A handle that holds nothing. */
export const handle = (
  /** @type {import('quotalock').Client} */ own,
  /** @type {import('quotalock').LockOptions} */ options,
) => own.lock('sku:42', { ...options, acquire: false })

/**
 * Waits until nobody holds a lock and nobody waits for it: what is taken back in the background is soon gone.
 * @param {Lock} lock
 * @param {string} place
 */
export async function empty(lock, place) {
  let left = await lock.inspect()
  for (const end = performance.now() + 10_000; left.holders.length + left.waiters > 0; left = await lock.inspect()) {
    assert.ok(performance.now() < end, `${place}: ${JSON.stringify(left)} stays`)
    await sleep(10)
  }
}
