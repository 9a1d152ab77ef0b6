// Locks, that end by themselves: of one, of several, of a number of places. Redis: QUOTALOCK_URL.
import { Client, NotAcquiredError } from 'quotalock'

const client = new Client()

// Waits for up to 5 seconds, is renewed while it is held, and released when the function ends, however it does.
const lock = await client.lock('sku:42', { waitMs: 5000, label: 'checkout' })
await lock.run(async ({ token, signal }) => {
  // What the lock protects refuses a token that is smaller than one it has seen. The signal fires when the lock is lost: hand
  // it to whatever takes long.
  console.log('alone, with a token:', token !== null, 'lost:', signal.aborted)
  lock.assertHeld()

  // Another one is not let in, and is told why.
  const other = await client.lock('sku:42', { acquire: false })
  console.log('another:', await other.acquire(), (await other.inspect()).holders[0]?.label)
  await client.lock('sku:42').catch((error) => console.log(error instanceof NotAcquiredError, error.code))
})

// A wait that is given up leaves nothing behind.
const busy = await client.lock('report')
const signal = AbortSignal.timeout(50)
await client.lock('report', { waitMs: 60_000, signal }).catch(({ name }) => console.log(name))
await busy.release()

// Several at once, all or none: in whatever order they are named, nobody waits for ever.
await (await client.lockAll(['account:1', 'account:2'], { waitMs: 5000 })).run(() => console.log('both'))

// A number of places, of which a big job takes two.
const places = await Promise.all([1, 2].map((weight) => client.semaphore('exports', 3, { weight })))
const full = await client.semaphore('exports', 3).catch(({ code }) => code)
console.log('places:', await Promise.all(places.map((place) => place.release())), full)

// Many readers, or one writer.
const readers = [await client.readLock('catalogue'), await client.readLock('catalogue')]
const writing = client.writeLock('catalogue', { waitMs: 5000 })
for (const reader of readers) await reader.release()
await (await writing).run(() => console.log('nobody else reads or writes'))
