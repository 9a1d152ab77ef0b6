'use strict'

// A lock, a sale, a cache and another process, by whichever way the package was loaded.

const assert = require('node:assert/strict')
const { spawnSync } = require('node:child_process')

/**
 * @param {typeof import('quotalock')} quotalock
 * @param {string} url
 */
async function checks({ Client }, url) {
  const prefix = `smoke${process.pid}`
  const client = new Client(url, { prefix, timeoutMs: 10_000 })

  const lock = await client.lock('report', { ttlMs: 5000 })
  assert.ok(lock.token)
  await assert.rejects(client.lock('report'), 'two holders of one lock')
  await lock.release()

  const sale = client.stock('seats')
  await sale.open(1)
  const { reservation } = await sale.take('ada')
  assert.ok(reservation && (await sale.confirm(reservation.id)))
  assert.equal((await sale.take('bob')).outcome, 'sold_out')

  const pages = client.cache('pages', { freshMs: 60_000 })
  let loads = 0
  for (const _ of [1, 2]) {
    const page = await pages.get('home', async () => {
      loads++
      return 'Home'
    })
    assert.equal(String(page), 'Home')
  }
  assert.equal(loads, 1)

  const limiter = client.limiter('logins', '3/minute')
  assert.ok((await limiter.consume('ada')).allowed)
  // Node has no fork. An emulated one cannot start itself again.
  if (!process.env.QUOTALOCK_EMULATED) {
    const other = `const { Client } = require('quotalock');
      new Client(${JSON.stringify(url)}, { prefix: '${prefix}', timeoutMs: 10000 }).limiter('logins', '3/minute').consume('ada').then(() => process.exit(0))`
    assert.equal(spawnSync(process.execPath, ['-e', other], { stdio: 'inherit' }).status, 0)
    assert.equal((await limiter.peek('ada')).remaining, url.startsWith('memory') ? 2 : 1)
  }
  await client.close()
  console.log(`smoke passed on ${url.split(':')[0]}`)
}

module.exports = { checks }
