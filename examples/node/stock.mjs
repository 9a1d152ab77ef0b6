// Stocks: units of a sale that are held while the buyer pays, and never sold twice. Redis: QUOTALOCK_URL.
import { Client } from 'quotalock'

const client = new Client()
const sale = client.stock('sale:42')

// Once, by whoever comes first. Opened again with the same numbers, nothing changes.
await sale.open(3, { perBuyer: 2 })

// Held for ten minutes. With the id of the request, one that is sent twice takes once.
const taken = await sale.take('user:1', { quantity: 2, requestId: 'order 1001' })
console.log(`${taken.outcome}, ${taken.available} left`)

// The buyer pays, in this process or in another: all that is needed is the id.
const sold = taken.reservation && (await sale.confirm(taken.reservation.id))
console.log(sold ? 'sold' : 'too late: it went back to stock')

// Who wants too many is told why not. What nobody confirms in time goes back by itself.
console.log((await sale.take('user:1')).outcome)
const second = await sale.take('user:2', { holdMs: 60_000 })
console.log((await sale.take('user:3')).outcome)
if (second.reservation) await sale.cancel(second.reservation.id)

const status = await sale.status()
console.log(`${status.available} available, ${status.held} held, ${status.sold} sold`)
for (const { number, kind, quantity, available } of await sale.ledger()) {
  console.log(`${number}. ${kind} ${quantity}: ${available} available`)
}

// A basket, whole or not at all; each unit of the seats has its own name. In a cluster they need a common scope.
const seats = client.stock('seats', { scope: 'concert' })
const drinks = client.stock('drinks', { scope: 'concert' })
await Promise.all([seats.open(2, { prizes: ['A1', 'A2'] }), drinks.open(1)])
/** @type {import('quotalock').Take[]} */
const wanted = [
  [seats, 1],
  [drinks, 1],
]
const { reservations } = await client.takeAll(wanted, 'user:1')
const [seat, drink] = reservations
if (seat && drink) {
  const paid = await client.confirmAll([
    [seats, seat.id],
    [drinks, drink.id],
  ])
  if (paid) console.log(`seat ${seat.prizes} and a drink`)
}
const { outcome, refused } = await client.takeAll(wanted, 'user:2')
console.log(outcome, 'at the', ['seats', 'drinks'][refused ?? -1])
