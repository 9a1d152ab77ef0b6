// The Node service of act 4: `buyers.mjs REDIS_URL STOCK`. Speaks the protocol described in buyers.py.
import { createInterface } from 'node:readline/promises'
import { setTimeout } from 'node:timers/promises'
import { Client, TimeoutError, UnavailableError } from 'quotalock'

const [url, name] = process.argv.slice(2)
const stock = new Client(url).stock(name ?? '')
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
/** @type {{ asks: [number, string, number, boolean][], hold: number }} */
const { asks, hold } = JSON.parse((await input.next()).value)

console.log('ready')
const began = Number((await input.next()).value)
const passed = () => Number(process.hrtime.bigint()) / 1e9 - began

/**
 * Redis may be away for a moment: whoever hears of it asks again.
 * @template T
 * @param {() => Promise<T>} call
 * @returns {Promise<T>}
 */
async function answered(call) {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof UnavailableError || error instanceof TimeoutError)) throw error
      await setTimeout(50)
    }
  }
}

await Promise.all(
  asks.map(async ([at, buyer, thinks]) => {
    await setTimeout(Math.max(0, (at - passed()) * 1000))
    // The request id has a call that is repeated take it once.
    const taken = await answered(() => stock.take(buyer, { holdMs: Math.round(hold * 1000), requestId: 'node' }))
    const id = taken.reservation?.id
    process.stdout.write(`${taken.outcome} ${buyer}${id ? ` ${id}` : ''}\n`)
    if (!id) return
    await setTimeout(thinks * 1000)
    process.stdout.write(`${(await answered(() => stock.confirm(id))) ? 'paid' : 'late'} ${buyer} ${id}\n`)
  }),
)
process.stdin.destroy()
