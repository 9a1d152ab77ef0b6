// How the declarations are used; `tsc --strict` is the test, nothing runs. What must not compile says so.

import * as quotalock from 'quotalock'
import {
  Client,
  type CombinedDecision,
  type Decision,
  limit,
  QuotalockError,
  RateLimitedError,
  type Reservation,
  type Rule,
  testing,
} from 'quotalock'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function same<A, B>(_: Equal<A, B>): void {}

const options: quotalock.ClientOptions = { prefix: 'shop', timeoutMs: 500, onError: 'local', requestMemoryMs: 60_000 }
const told: quotalock.ClientOptions = { password: async () => 'secret' }
new Client('redis://app@h', told)
await using client = new Client('redis://127.0.0.1:6379', options)
using plain = new Client()
new Client(new URL('redis://127.0.0.1:6379'))
const rules: readonly Rule[] = [
  { limit: 5, periodMs: 1000 },
  { limit: 9, periodMs: 60_000, algorithm: 'calendar-window' },
  { limit: 9, periodMs: 60_000, algorithm: 'token-bucket', capacity: 20 },
]
const checkout = client.limiter('checkout', rules)
const trial = plain.limiter('login', rules[0] ?? '5/minute', { scope: new Uint8Array([1]), enforce: false })
same<typeof trial.scope, string | Buffer | null>(true)
same<typeof trial.enforce, boolean>(true)
same<typeof trial.prefetch, number | null>(true)

const { signal } = new AbortController()
const decision = await checkout.consume('user:42', { cost: 2, signal })
same<typeof decision, Decision>(true)
same<typeof decision.retryAfterMs, number | null>(true)
same<typeof decision.wouldDeny, boolean>(true)
same<typeof decision.source, 'redis' | 'memory' | 'lease' | 'local' | 'open' | 'closed' | 'deny-cache'>(true)
same<(typeof decision.rules)[number], quotalock.RuleDecision>(true)
const headers = [decision.headers(), decision.headers({ syntax: 'none', legacy: true })]
same<typeof headers, Record<string, string>[]>(true)
same<ReturnType<typeof decision.problem>, quotalock.Problem>(true)
const results = [
  await checkout.peek(new Uint8Array([1])),
  await checkout.require(Buffer.from('k')),
  await checkout.wait('k', { timeoutMs: 5000 }),
  await checkout.refund('k', 2),
  await checkout.refund('k', 2, { requestId: 'r-1' }),
  await checkout.consume('k', { cost: 2, requestId: new Uint8Array([1]), signal }),
  await checkout.consumeUpTo('k', 10),
  await checkout.block('k', 60_000),
  await limit('checkout', 'user:42', '10/minute', { cost: 2 }),
]
same<typeof results, Decision[]>(true)
same<boolean, Awaited<ReturnType<typeof checkout.reset>>>(true)
same<Buffer, ReturnType<typeof checkout.redisKey>>(true)
same<Promise<void>, ReturnType<typeof client.close>>(true)

const charges: quotalock.Charge[] = [
  [checkout, 'user:42'],
  [checkout, Buffer.from('k'), 2],
]
const combined = await client.consumeAll(charges, { requestId: 'r-1', signal })
same<typeof combined, CombinedDecision>(true)
same<typeof combined.decisions, readonly Decision[]>(true)
same<typeof combined.retryAfterMs, number | null>(true)
await client.consumeAll([
  [checkout, 'user:42'],
  [trial, '10.0.0.1', 2],
])

const reservation = await checkout.reserve('k', 100, { ttlMs: 60_000, unsettled: 'returned' })
same<typeof reservation, Reservation>(true)
same<typeof reservation.decision, Decision | null>(true)
same<typeof reservation.allowed, boolean | null>(true)
same<Reservation, ReturnType<typeof checkout.reservation>>(true)
same<boolean, Awaited<ReturnType<typeof reservation.settle>>>(true)
same<boolean, Awaited<ReturnType<typeof reservation.cancel>>>(true)
same<typeof reservation.key, string | Buffer>(true)

await using lock = await client.lock('sku:42', { ttlMs: 30_000, waitMs: 5000, fair: true, renew: true, signal })
same<typeof lock, quotalock.Lock>(true)
same<typeof lock.token, number | null>(true)
same<typeof lock.state, 'released' | 'held' | 'uncertain' | 'lost'>(true)
same<typeof lock.names, readonly (string | Buffer)[]>(true)
same<typeof lock.redisKeys, Buffer[]>(true)
same<typeof lock.signal, AbortSignal>(true)
const locks = [
  lock,
  await client.lockAll(['a', new Uint8Array([1])], { maxHoldMs: 1, tokenAbove: 1, label: 'me', acquire: false }),
  await client.semaphore('s', 10, { weight: 2, replicasAck: 1, ackTimeoutMs: 100 }),
  await client.readLock('rw'),
  await client.writeLock(Buffer.from('rw')),
  await quotalock.quorumLock([client, plain, new Client()], 'q', { ttlMs: 5, waitMs: 5, renew: false, maxHoldMs: 1 }),
  await quotalock.quorumLock([client], new Uint8Array([1]), { tokenAbove: 1, label: 'me', acquire: false }),
]
same<typeof locks, quotalock.Lock[]>(true)
const flags = [
  await lock.acquire({ waitMs: 5, signal }),
  await lock.release(),
  await lock.extend(),
  await lock.extend(5),
]
same<typeof flags, boolean[]>(true)
same<void, ReturnType<typeof lock.assertHeld>>(true)
same<void, ReturnType<typeof lock.raiseFloor>>(true)
const inspection = await lock.inspect()
same<typeof inspection, quotalock.Inspection>(true)
same<(typeof inspection.holders)[number], quotalock.Holder>(true)
same<number, Awaited<ReturnType<typeof lock.forceRelease>>>(true)
const ran = [await lock.run(async ({ token }) => token), await lock.run(({ token }) => token, { waitMs: 5, signal })]
same<typeof ran, (number | null)[]>(true)

testing.setTime(client, 1_700_000_000_000_000)
testing.setTime(client, null)
const clock = new testing.Clock(client, { atMs: Date.now() })
clock.advance(60_000)
same<typeof clock.nowMs, number>(true)
same<Promise<Decision>, ReturnType<typeof testing.decision>>(true)
await testing.decision({ policy: rules, used: 5, onError: 'closed' })
await testing.put(client, checkout.redisKey('k'), 'string', '-37412')
const stored = await testing.get(client, 'ql:limit:checkout:{k}')
same<typeof stored, { value: Buffer; ttlMs: number | null } | null>(true)

try {
  await checkout.require('k')
} catch (error) {
  if (error instanceof RateLimitedError) same<typeof error.code, 'limited'>(true)
  if (error instanceof RateLimitedError) same<typeof error.decision, Decision>(true)
  if (error instanceof QuotalockError) same<typeof error.code, quotalock.Code>(true)
}

const stock = client.stock(Buffer.from('sale'), { scope: 'shop', ledgerCap: 1000, retentionMs: 60_000 })
same<typeof stock, quotalock.Stock>(true)
same<typeof stock.scope, string | Buffer | null>(true)
const taken = await stock.take('buyer', { quantity: 2, holdMs: 60_000, requestId: new Uint8Array([1]) })
same<typeof taken, quotalock.Taken>(true)
same<typeof taken.outcome, 'held' | 'sold_out' | 'buyer_limit' | 'not_open' | 'ended'>(true)
same<typeof taken.reservation, quotalock.StockReservation | null>(true)
const opened = [
  await stock.open(5, { perBuyer: null, endsMs: Date.now(), prizes: ['a', new Uint8Array([1])] }),
  await stock.close(),
  await stock.confirm('id'),
  await stock.cancel('id'),
  await stock.extend('id'),
  await stock.extend('id', 5),
  await client.confirmAll([[stock, 'id']]),
  await client.cancelAll([[stock, 'id']]),
  await client.extendAll([[stock, 'id']], 5),
]
same<typeof opened, boolean[]>(true)
same<number, Awaited<ReturnType<typeof stock.restock>>>(true)
const basket = await client.takeAll([[stock, 2]], Buffer.from('buyer'), { holdMs: 5, requestId: 'r-1' })
same<typeof basket.refused, number | null>(true)
same<typeof basket.reservations, readonly quotalock.StockReservation[]>(true)
const page = await stock.reservations({ cursor: null, count: 5 })
same<typeof page.next, string | null>(true)
const entries = await stock.ledger({ after: null, count: 5 })
same<typeof entries, readonly quotalock.LedgerEntry[]>(true)
same<quotalock.LedgerEntry['buyer'], Buffer | null>(true)
same<Awaited<ReturnType<typeof stock.status>>['endsMs'], number | null>(true)

const cache = client.cache('home', {
  freshMs: 1,
  staleMs: 1,
  leaseMs: 10,
  negativeMs: 0,
  errorTtlMs: 0,
  beta: 1,
  whenAway: 'load',
})
const values = [
  await cache.get('k', () => 'v'),
  await cache.get('k', async () => null, { waitMs: 5, signal }),
  await cache.get(Buffer.from('k'), async () => new Uint8Array([1])),
  await client.once('o', { ttlMs: 1, leaseMs: 10, errorTtlMs: 0 }).run('id', async () => {}),
  await client.once('o').run('id', () => 'v', { waitMs: 5 }),
]
same<typeof values, (Buffer | null)[]>(true)
const several = await cache.getMany(['a', 'b'] as const, (missing) =>
  Object.fromEntries(missing.map((key) => [key, 'v'])),
)
same<typeof several, Map<'a' | 'b', Buffer | null>>(true)
const json = await cache.getJson('k', async () => ({ name: 'Ada' }))
same<typeof json, { name: string }>(true)
same<Promise<quotalock.Seen | null>, ReturnType<typeof cache.peek>>(true)
same<Promise<void>, ReturnType<typeof cache.put>>(true)
const claimed = await client.once('o').claim('id', 'value')
same<typeof claimed, quotalock.Claimed>(true)
same<typeof claimed.value, Buffer | null>(true)

// @ts-expect-error a value is text or bytes
cache.get('k', () => 5)
// @ts-expect-error there is none, or there is one
cache.put('k', undefined)
// @ts-expect-error how many goes into an object
stock.take('buyer', 2)
// @ts-expect-error reservations are read
taken.reservation = null
// @ts-expect-error a cost goes into an object
checkout.consume('k', 2)
// @ts-expect-error a key is no number
checkout.consume(42)
// @ts-expect-error how long to wait must be said
checkout.wait('k', {})
// @ts-expect-error how long to hold must be said
checkout.reserve('k', 5)
// @ts-expect-error neither of the two
checkout.reserve('k', 5, { ttlMs: 5, unsettled: 'lost' })
// @ts-expect-error reservations are made by limiters
new quotalock.Reservation()
// @ts-expect-error a charge has a key
client.consumeAll([[checkout]])
// @ts-expect-error a peek is not remembered
checkout.peek('k', { requestId: 'r-1' })
// @ts-expect-error a semaphore has permits
client.semaphore('s', { weight: 2 })
// @ts-expect-error a mutex has no weight
client.lock('s', { weight: 2 })
// @ts-expect-error how long to wait goes into an object
lock.acquire(5)
// @ts-expect-error locks are made by clients
new quotalock.Lock()
// @ts-expect-error tokens are read
lock.token = 5
// @ts-expect-error not one of the four
new Client('memory://', { onError: 'sometimes' })
// @ts-expect-error the address is text or a URL
new Client({ host: '127.0.0.1' })
// @ts-expect-error limiters are made by clients
new quotalock.Limiter()
// @ts-expect-error decisions are read
decision.allowed = true
// @ts-expect-error not an algorithm
client.limiter('n', { limit: 1, periodMs: 1, algorithm: 'none' })

// Every export, and no other: the compiler refuses a name too many or too few.
export const names: Record<keyof typeof quotalock, true> = {
  Client: true,
  ClosedError: true,
  CombinedDecision: true,
  CrossSlotError: true,
  Decision: true,
  Holder: true,
  Stock: true,
  Taken: true,
  TakenAll: true,
  StockReservation: true,
  StockPage: true,
  StockStatus: true,
  LedgerEntry: true,
  Once: true,
  Claimed: true,
  Cache: true,
  Seen: true,
  metrics: true,
  prometheus: true,
  Inspection: true,
  InternalError: true,
  InvalidArgumentError: true,
  InvalidPolicyError: true,
  Limiter: true,
  Lock: true,
  LostError: true,
  LoadFailedError: true,
  NotAcquiredError: true,
  NotPermittedError: true,
  QuotalockError: true,
  RateLimitedError: true,
  Reservation: true,
  RuleDecision: true,
  TimeoutError: true,
  UnavailableError: true,
  WrongTypeError: true,
  NewerVersionError: true,
  clientAddress: true,
  limit: true,
  quorumLock: true,
  testing: true,
}
