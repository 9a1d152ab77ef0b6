'use strict'

// The client: one server or memory, and how to talk to it.

const { inspect } = require('node:util')
const native = require('./native.js')
const { takenAll } = require('./answers.js')
const {
  address,
  bytesIfGiven,
  bytesOf,
  flag,
  kept,
  number,
  numberIfGiven,
  options,
  policyOf,
  refusal,
  signalOf,
  text,
} = require('./argument.js')
const { Cache } = require('./cache.js')
const { keep, submitDescribed } = require('./channel.js')
const { packed } = require('./charges.js')
const { construct } = require('./errors.js')
const { hookOf, tellDecisions } = require('./hooks.js')
const { Limiter, TellingLimiter } = require('./limiter.js')
const { adopt, open } = require('./lock.js')
const { callerOf } = require('./names.js')
const { Once } = require('./once.js')
const { questionsFor } = require('./password.js')
const { Stock, reservationsOf, takeAllOptions, takesOf } = require('./stock.js')

const CLIENT_OPTIONS = [
  'prefix',
  'timeoutMs',
  'onError',
  'requestMemoryMs',
  'password',
  'denyCacheMaxMs',
  'onDecision',
  'onLost',
  'report',
]
const LIMITER_OPTIONS = ['scope', 'enforce', 'prefetch']
const CONSUME_ALL_OPTIONS = ['requestId', 'signal']
const ADOPT_OPTIONS = ['renew', 'name']
const STOCK_OPTIONS = ['scope', 'ledgerCap', 'retentionMs']
const ONCE_OPTIONS = ['ttlMs', 'leaseMs', 'errorTtlMs']
const CACHE_OPTIONS = ['freshMs', 'staleMs', 'leaseMs', 'negativeMs', 'errorTtlMs', 'beta', 'whenAway']

/** @typedef {import('../index.js').Client} Surface */

/**
 * The native half of a client, for those of this package.
 * @type {(client: unknown) => import('./native.js').Client}
 */
let nativeOf

/**
 * What is told of the locks of a client that are lost, for those of this package.
 * @type {(client: unknown) => import('./hooks.js').OnLost | undefined}
 */
let onLostOf

let sharesMemory = false

/** Makes the memory for denials and that for counters, and warns of files that they cannot be in. */
const shareMemory = () => {
  if (sharesMemory) return
  sharesMemory = true
  for (const problem of native.shareMemory()) process.emitWarning(problem)
}

let reportsAtExit = false

/** Has what is not reported yet sent when the process ends by itself. */
const reportAtExit = () => {
  if (reportsAtExit) return
  reportsAtExit = true
  process.once('exit', () => native.reportNow())
}

class Client {
  #native
  /** @type {import('./hooks.js').OnDecision | undefined} */
  #onDecision
  /** What makes locks of this client. */
  #locks

  static {
    onLostOf = (client) => /** @type {Client} */ (client).#locks.onLost
    nativeOf = (client) => {
      if (typeof client === 'object' && client !== null && #native in client) return client.#native
      throw refusal('client', client, 'a Client')
    }
  }

  /**
   * @param {string | URL} [url]
   * @param {import('../index.js').ClientOptions} [given]
   */
  constructor(url, given) {
    const settings = options(given, CLIENT_OPTIONS)
    const { prefix, timeoutMs, onError, requestMemoryMs, password, denyCacheMaxMs, report = false } = settings
    const where = url === undefined ? urlOfBun() : address(url)
    const how = {
      prefix: prefix === undefined ? undefined : text('prefix', prefix),
      timeoutMs: timeoutMs === undefined ? undefined : number('timeoutMs', timeoutMs),
      onError: onError === undefined ? undefined : text('onError', onError),
      requestMemoryMs: requestMemoryMs === undefined ? undefined : number('requestMemoryMs', requestMemoryMs),
      denyCacheMaxMs: denyCacheMaxMs === undefined ? undefined : number('denyCacheMaxMs', denyCacheMaxMs),
      report: flag('report', report),
    }
    const questions = questionsFor(password)
    this.#onDecision = hookOf('onDecision', settings.onDecision)
    const onLost = hookOf('onLost', settings.onLost)
    shareMemory()
    if (report) reportAtExit()
    this.#native = construct(Client, () => new native.Client(where, how, questions))
    keep(this.#native)
    this.#locks = { clients: [this.#native], onLost }
  }

  get server() {
    return this.#native.server
  }

  get prefix() {
    return this.#native.prefix
  }

  /** @type {Surface['limiter']} */
  limiter(name, policy, given) {
    const [named, rules] = [text('name', name), policyOf(policy)]
    const { scope, enforce = true, prefetch } = options(given, LIMITER_OPTIONS)
    const most = numberIfGiven('prefetch', prefetch)
    const how = /** @type {const} */ ([bytesIfGiven('scope', scope), flag('enforce', enforce), most, callerOf])
    const made = construct(this.limiter, () =>
      typeof rules === 'string'
        ? this.#native.limiterByText(named, rules, ...how)
        : this.#native.limiterByRules(named, rules, ...how),
    )
    const shown = {
      name: named,
      scope: scope === undefined ? null : kept('scope', scope),
      enforce: how[1],
      prefetch: most ?? null,
    }
    const told = this.#onDecision
    return /** @type {any} */ (told === undefined ? new Limiter(made, shown) : new TellingLimiter(made, shown, told))
  }

  /** @type {Surface['consumeAll']} */
  consumeAll(charges, given) {
    try {
      const { requestId, signal } = options(given, CONSUME_ALL_OPTIONS)
      const { numbers, keys, names } = packed(charges)
      const id = bytesIfGiven('requestId', requestId)
      const describe = (/** @type {any} */ channel) => channel.consumeAll(this.#native, numbers, keys, id)
      const decided = submitDescribed(this.consumeAll, signalOf(signal), describe, names)
      const onDecision = this.#onDecision
      if (onDecision === undefined) return decided
      const whom = charges.map(([, key]) => key)
      return decided.then((combined) => {
        tellDecisions(onDecision, combined, whom)
        return combined
      })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['lock']} */
  lock(name, given) {
    return open(this.#locks, this.lock, 'lock', [name], given)
  }

  /** @type {Surface['lockAll']} */
  lockAll(names, given) {
    return open(this.#locks, this.lockAll, 'lock', names, given)
  }

  /** @type {Surface['semaphore']} */
  semaphore(name, permits, given) {
    return open(this.#locks, this.semaphore, 'semaphore', [name], given, permits ?? null)
  }

  /** @type {Surface['readLock']} */
  readLock(name, given) {
    return open(this.#locks, this.readLock, 'read', [name], given)
  }

  /** @type {Surface['writeLock']} */
  writeLock(name, given) {
    return open(this.#locks, this.writeLock, 'write', [name], given)
  }

  /** @type {Surface['adopt']} */
  async adopt(written, given) {
    const { renew = true, name } = options(given, ADOPT_OPTIONS)
    const whose = bytesIfGiven('name', name)
    return await adopt(this.#locks, this.adopt, text('text', written), flag('renew', renew), whose)
  }

  /** @type {Surface['stock']} */
  stock(name, given) {
    const { scope, ledgerCap, retentionMs } = options(given, STOCK_OPTIONS)
    const [bytes, common] = [bytesOf('name', name), bytesIfGiven('scope', scope)]
    const [cap, retention] = [numberIfGiven('ledgerCap', ledgerCap), numberIfGiven('retentionMs', retentionMs)]
    const made = construct(this.stock, () => this.#native.stock(bytes, common, cap, retention))
    return /** @type {any} */ (new Stock(made, kept('name', name), scope === undefined ? null : kept('scope', scope)))
  }

  /** @type {Surface['takeAll']} */
  async takeAll(takes, buyer, given) {
    const { stocks, seconds } = takesOf(takes)
    const [who, { hold, id }] = [bytesOf('buyer', buyer), takeAllOptions(given)]
    const fields = await submitDescribed(this.takeAll, undefined, (channel) =>
      channel.takeAll(this.#native, stocks, seconds, who, hold, id),
    )
    return takenAll(fields)
  }

  /** @type {Surface['confirmAll']} */
  async confirmAll(reservations) {
    const { stocks, seconds } = reservationsOf(reservations)
    return await submitDescribed(this.confirmAll, undefined, (channel) =>
      channel.confirmAll(this.#native, stocks, seconds),
    )
  }

  /** @type {Surface['cancelAll']} */
  async cancelAll(reservations) {
    const { stocks, seconds } = reservationsOf(reservations)
    return await submitDescribed(this.cancelAll, undefined, (channel) =>
      channel.cancelAll(this.#native, stocks, seconds),
    )
  }

  /** @type {Surface['extendAll']} */
  async extendAll(reservations, holdMs) {
    const { stocks, seconds } = reservationsOf(reservations)
    const hold = numberIfGiven('holdMs', holdMs)
    return await submitDescribed(this.extendAll, undefined, (channel) =>
      channel.extendAll(this.#native, stocks, seconds, hold),
    )
  }

  /** @type {Surface['once']} */
  once(name, given) {
    const named = text('name', name)
    const how = numbers(options(given, ONCE_OPTIONS))
    return /** @type {any} */ (
      new Once(
        construct(this.once, () => this.#native.once(named, how)),
        named,
      )
    )
  }

  /** @type {Surface['cache']} */
  cache(name, given) {
    const named = text('name', name)
    const { whenAway, ...others } = options(given, CACHE_OPTIONS)
    const how = { ...numbers(others), whenAway: whenAway === undefined ? undefined : text('whenAway', whenAway) }
    return /** @type {any} */ (
      new Cache(
        construct(this.cache, () => this.#native.cache(named, how)),
        named,
      )
    )
  }

  /** @type {Surface['close']} */
  async close() {
    if (!this.#native.close()) return
    await submitDescribed(this.close, undefined, (channel) => channel.giveBack(this.#native))
  }

  [Symbol.dispose]() {
    void this.close()
  }

  async [Symbol.asyncDispose]() {
    await this.close()
  }

  [inspect.custom]() {
    return `Client { server: ${inspect(this.server)}, prefix: ${inspect(this.prefix)} }`
  }
}

/**
 * The address in Bun's variables, if a client was given none: files such as `.env` and changes of `process.env` do not reach the
 * environment of the process there, which the native half reads.
 */
function urlOfBun() {
  return ('bun' in process.versions && process.env.QUOTALOCK_URL) || undefined
}

/**
 * Options that are numbers.
 * @param {Record<string, any>} given
 */
function numbers(given) {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, numberIfGiven(name, value)]))
}

module.exports = { Client, nativeOf, onLostOf }
