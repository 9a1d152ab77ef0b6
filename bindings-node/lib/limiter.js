'use strict'

// A limiter: a named policy, asked about keys.

const { inspect } = require('node:util')
const native = require('./native.js')
const { bytesOf, kept, number, options, refusal, signalOf, text } = require('./argument.js')
const { decide, register, submit, submitDescribed } = require('./channel.js')
const { construct, failure } = require('./errors.js')
const { tellDecision } = require('./hooks.js')
const { Reservation } = require('./reservation.js')

/** @typedef {import('../index.js').Limiter} Surface */

/** @param {string} name */
const verb = (name) => native.verbs().indexOf(name)
const CONSUME = verb('consume')
const PEEK = verb('peek')
const REQUIRE = verb('require')
const WAIT = verb('wait')
const CONSUME_UP_TO = verb('consumeUpTo')
const REFUND = verb('refund')
const BLOCK = verb('block')
const RESET = verb('reset')

const CALL_OPTIONS = ['cost', 'signal']
const CONSUME_OPTIONS = ['cost', 'requestId', 'signal']
const REFUND_OPTIONS = ['requestId']
const RESERVE_OPTIONS = ['ttlMs', 'unsettled']
const WAIT_OPTIONS = ['timeoutMs', 'cost', 'signal']

/**
 * The handle of a limiter, for those of this package.
 * @type {(limiter: unknown) => import('./channel.js').Handle}
 */
let handleOf

class Limiter {
  #handle
  #shown

  static {
    handleOf = (limiter) => {
      if (typeof limiter === 'object' && limiter !== null && #handle in limiter) return limiter.#handle
      throw refusal('limiter', limiter, 'a Limiter')
    }
  }

  /**
   * @param {import('./native.js').Limiter} limiter
   * @param {{ name: string, scope: string | Buffer | null, enforce: boolean, prefetch: number | null }} shown
   */
  constructor(limiter, shown) {
    if (!(limiter instanceof native.Limiter)) {
      throw failure('invalid_argument', 'a limiter is made by client.limiter(name, policy), not by new')
    }
    this.#handle = register(limiter, this, shown.name)
    this.#shown = shown
  }

  get name() {
    return this.#shown.name
  }

  get policy() {
    return this.#handle.native.policy
  }

  get scope() {
    return this.#shown.scope
  }

  get enforce() {
    return this.#shown.enforce
  }

  get prefetch() {
    return this.#shown.prefetch
  }

  /** @type {Surface['consume']} */
  consume(key, given) {
    try {
      if (given === undefined) return decide(CONSUME, this.#handle, key, 1, undefined, false)
      const { cost = 1, requestId, signal } = options(given, CONSUME_OPTIONS)
      const amount = number('cost', cost)
      if (requestId === undefined) return decide(CONSUME, this.#handle, key, amount, signalOf(signal), false)
      const [bytes, id] = [bytesOf('key', key), bytesOf('requestId', requestId)]
      const { number: place, name } = this.#handle
      const describe = (/** @type {any} */ channel) => channel.consumeOnce(place, bytes, amount, id)
      return submitDescribed(this.consume, signalOf(signal), describe, name)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['peek']} */
  peek(key, given) {
    try {
      const { cost = 1, signal } = options(given, CALL_OPTIONS)
      return submit(PEEK, this.#handle, key, number('cost', cost), 0, signalOf(signal))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['require']} */
  require(key, given) {
    try {
      if (given === undefined) return decide(REQUIRE, this.#handle, key, 1, undefined, true)
      const { cost = 1, signal } = options(given, CALL_OPTIONS)
      return decide(REQUIRE, this.#handle, key, number('cost', cost), signalOf(signal), true)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['wait']} */
  wait(key, given) {
    try {
      const { timeoutMs, cost = 1, signal } = options(given, WAIT_OPTIONS)
      const [amount, most] = [number('cost', cost), number('timeoutMs', timeoutMs)]
      return submit(WAIT, this.#handle, key, amount, most, signalOf(signal))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['consumeUpTo']} */
  consumeUpTo(key, most) {
    try {
      return submit(CONSUME_UP_TO, this.#handle, key, number('most', most), 0, undefined)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['reserve']} */
  reserve(key, estimate, given) {
    try {
      const { ttlMs, unsettled = 'spent' } = options(given, RESERVE_OPTIONS)
      const [named, bytes, word] = [kept('key', key), bytesOf('key', key), text('unsettled', unsettled)]
      const [amount, ttl] = [number('estimate', estimate), number('ttlMs', ttlMs)]
      /** @type {any} */
      let made
      const { number: place, name } = this.#handle
      const describe = (/** @type {any} */ channel) => {
        made = channel.reserve(place, bytes, amount, ttl, word)
      }
      return submitDescribed(this.reserve, undefined, describe, name).then(
        (decision) => /** @type {any} */ (new Reservation(made, named, decision)),
      )
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['reservation']} */
  reservation(key, id) {
    const [bytes, hex] = [bytesOf('key', key), text('id', id)]
    const made = construct(this.reservation, () => this.#handle.native.reservation(bytes, hex))
    return /** @type {any} */ (new Reservation(made, kept('key', key), null))
  }

  /** @type {Surface['refund']} */
  refund(key, amount, given) {
    try {
      const { requestId } = options(given, REFUND_OPTIONS)
      const back = number('amount', amount)
      if (requestId === undefined) return submit(REFUND, this.#handle, key, back, 0, undefined)
      const [bytes, id] = [bytesOf('key', key), bytesOf('requestId', requestId)]
      const { number: place, name } = this.#handle
      const describe = (/** @type {any} */ channel) => channel.refundOnce(place, bytes, back, id)
      return submitDescribed(this.refund, undefined, describe, name)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['block']} */
  block(key, durationMs) {
    try {
      return submit(BLOCK, this.#handle, key, number('durationMs', durationMs), 0, undefined)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['reset']} */
  reset(key) {
    try {
      return submit(RESET, this.#handle, key, 0, 0, undefined)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['redisKey']} */
  redisKey(key) {
    const given = bytesOf('key', key)
    return construct(this.redisKey, () => this.#handle.native.redisKey(given))
  }

  [inspect.custom]() {
    const { name, scope, enforce, prefetch } = this.#shown
    const scoped = scope === null ? '' : `, scope: ${inspect(scope)}`
    const more = `${scoped}${enforce ? '' : ', enforce: false'}${prefetch === null ? '' : `, prefetch: ${prefetch}`}`
    return `Limiter { name: ${inspect(name)}, policy: ${inspect(this.policy)}${more} }`
  }
}

/** A limiter that tells its decisions to `onDecision`, right before their callers have them. */
class TellingLimiter extends Limiter {
  #onDecision

  /**
   * @param {import('./native.js').Limiter} limiter
   * @param {ConstructorParameters<typeof Limiter>[1]} shown
   * @param {import('./hooks.js').OnDecision} onDecision
   */
  constructor(limiter, shown, onDecision) {
    super(limiter, shown)
    this.#onDecision = onDecision
  }

  /** @type {Surface['consume']} */
  consume(key, given) {
    return this.#told(key, super.consume(key, given))
  }

  /** @type {Surface['require']} */
  require(key, given) {
    return this.#told(key, super.require(key, given))
  }

  /** @type {Surface['wait']} */
  wait(key, given) {
    return this.#told(key, super.wait(key, given))
  }

  /** @type {Surface['consumeUpTo']} */
  consumeUpTo(key, most) {
    return this.#told(key, super.consumeUpTo(key, most))
  }

  /** @type {Surface['reserve']} */
  reserve(key, estimate, given) {
    return super.reserve(key, estimate, given).then((reservation) => {
      if (reservation.decision !== null) tellDecision(this.#onDecision, reservation.decision, key)
      return reservation
    })
  }

  /**
   * @param {import('../index.js').Key} key
   * @param {Promise<import('../index.js').Decision>} decided
   */
  #told(key, decided) {
    return decided.then(
      (decision) => {
        tellDecision(this.#onDecision, decision, key)
        return decision
      },
      (error) => {
        if (error?.code === 'limited') tellDecision(this.#onDecision, error.decision, key)
        throw error
      },
    )
  }
}

module.exports = { CALL_OPTIONS, handleOf, Limiter, TellingLimiter }
