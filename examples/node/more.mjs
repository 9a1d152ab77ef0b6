// What else a limiter can do, here for a service that sells tokens of a language model. Redis: QUOTALOCK_URL.
import { Client } from 'quotalock'

const client = new Client()

// Several keys, charged all or none in one round trip; with an id a request that is sent again is charged once. What is
// charged together has a common scope: in a cluster that puts it into one slot.
const calls = client.limiter('calls', '10/minute', { scope: 'team:blue' })
const team = client.limiter('team', '100/minute', { scope: 'team:blue' })
for (let sent = 0; sent < 2; sent++) {
  const both = await client.consumeAll(
    [
      [calls, 'user:42'],
      [team, 'all', 5],
    ],
    { requestId: 'request-7' },
  )
  const left = both.decisions.map(({ remaining }) => remaining)
  console.log(both.allowed ? 'go ahead,' : `retry in ${both.retryAfterMs} ms,`, left, 'left')
}

// An estimate that is held until the real amount is known, or half a minute has passed.
const tokens = client.limiter('tokens', 'token-bucket 1000/minute')
const reservation = await tokens.reserve('team:blue', 800, { ttlMs: 30_000, unsettled: 'returned' })
if (reservation.allowed) {
  // Any process that knows the key and the id can settle it.
  await tokens.reservation('team:blue', reservation.id).settle(310)
  console.log('310 tokens in place of 800')
}

// As many as there are.
const mails = client.limiter('mails', '100/hour')
console.log('sending', (await mails.consumeUpTo('team:blue', 250)).cost, 'of 250 mails')

// A policy on trial: everything passes, and what it would deny is marked.
const trial = client.limiter('trial', '1/minute', { enforce: false })
const marks = [await trial.consume('user:42'), await trial.consume('user:42')].map(({ wouldDeny }) => wouldDeny)
console.log(marks)
