// Three lines in Node: at most ten checkouts a minute for each user. Redis: QUOTALOCK_URL.
import { Client, limit } from 'quotalock'

const checkout = new Client().limiter('checkout', '10/minute;100/hour')
const decision = await checkout.consume('user:42')
console.log(decision.allowed ? `go ahead, ${decision.remaining} left` : `retry in ${decision.retryAfterMs} ms`)

// Or in one line, where only the answer matters.
if ((await limit('checkout', 'user:42', '10/minute;100/hour')).allowed) {
  console.log('and again')
}
