'use strict'

// What the stores of other limiters have in common: they want to be told how many hits a key had within a window, those that
// they refuse included. It is a limiter whose limit nobody reaches.

const { failure } = require('./errors.js')
const { withStatus } = require('./http.js')
const { registerGenerated, registerName } = require('./names.js')
const { clientOf } = require('./web.js')

/** The largest limit there is. */
const MOST = 2 ** 52
/** More windows than an application has; one that computes them from what users send does not fill the memory. */
const KEPT = 256

/**
 * How often a key hit, when its window ends, and whether it is blocked.
 * @typedef {{ hits: number, resetMs: number, blocked: boolean }} Count
 */

/** @typedef {InstanceType<typeof Counter>} CounterLike */

class Counter {
  /** @type {import('../index.js').Client} */
  #client
  #name
  /** @type {Map<number, import('../index.js').Limiter>} */
  #limiters = new Map()

  /**
   * @param {unknown} client
   * @param {string} name
   */
  constructor(client, name) {
    this.#client = clientOf(client)
    this.#name = name
    // What cannot be is told of when the application starts.
    this.#of(60_000)
  }

  /**
   * @param {number} windowMs
   * @returns {import('../index.js').Limiter}
   */
  #of(windowMs) {
    let limiter = this.#limiters.get(windowMs)
    if (limiter === undefined) {
      limiter = this.#client.limiter(this.#name, { limit: MOST, periodMs: windowMs })
      if (this.#limiters.size === KEPT) this.#limiters.clear()
      this.#limiters.set(windowMs, limiter)
    }
    return limiter
  }

  /**
   * Looks whether a window can be, when the application starts.
   * @param {number} windowMs
   */
  check(windowMs) {
    this.#of(windowMs)
  }

  /**
   * Has the developer warned if its name is that of another limit too.
   * @param {string} policy how many hits in how long, as far as it is known
   * @param {string} place
   */
  register(policy, place) {
    registerName(this.#client, this.#name, policy, 'a key of its store', place)
  }

  /**
   * Has the developer warned if its name, which was generated, is that of another limiter too.
   * @param {string} place
   * @param {string} option by which a developer gives a name
   */
  registerGenerated(place, option) {
    registerGenerated(this.#client, this.#name, place, option)
  }

  /**
   * Counts hits. A blocked key counts none.
   * @param {string} key
   * @param {number} windowMs
   * @param {number} [amount]
   */
  async hit(key, windowMs, amount = 1) {
    return counted(await fit(this.#of(windowMs).consume(key, { cost: amount })), amount, windowMs)
  }

  /**
   * Looks, and counts nothing.
   * @param {string} key
   * @param {number} windowMs
   */
  async look(key, windowMs) {
    // A blocked key has nothing left, and would have if it were not blocked.
    return counted(await fit(this.#of(windowMs).peek(key, { cost: 1 })), 0, windowMs)
  }

  /**
   * Takes hits back.
   * @param {string} key
   * @param {number} windowMs
   * @param {number} amount
   */
  async back(key, windowMs, amount) {
    return counted(await fit(this.#of(windowMs).refund(key, amount)), 0, windowMs)
  }

  /**
   * Blocks a key, which then begins anew.
   * @param {string} key
   * @param {number} windowMs
   * @param {number} durationMs
   */
  async block(key, windowMs, durationMs) {
    await fit(this.#of(windowMs).block(key, durationMs))
    // After the block, so that nobody is let in between.
    await fit(this.#of(windowMs).refund(key, MOST))
  }

  /**
   * Forgets a key.
   * @param {string} key
   * @param {number} windowMs
   */
  async reset(key, windowMs) {
    await fit(this.#of(windowMs).reset(key))
  }
}

/**
 * What Redis answers. An invalid key is the client's fault, which frameworks answer with 400.
 * @template T
 * @param {Promise<T>} answered
 * @returns {Promise<T>}
 */
async function fit(answered) {
  try {
    return await answered
  } catch (error) {
    throw /** @type {any} */ (error)?.code === 'invalid_argument' ? withStatus(error, 400) : error
  }
}

/**
 * The hits that a decision tells of.
 * @param {import('../index.js').Decision} decision
 * @param {number} asked
 * @param {number} windowMs
 * @returns {Count}
 */
function counted(decision, asked, windowMs) {
  const { allowed, source, remaining, resetAfterMs, retryAfterMs } = decision
  // Nobody counted: it is the first hit for all that is known.
  if (source === 'open') return { hits: asked, resetMs: windowMs, blocked: false }
  if (source === 'closed') throw unavailable()
  const resetMs = Math.ceil(resetAfterMs)
  if (!allowed) return { hits: asked, resetMs: Math.ceil(retryAfterMs ?? resetAfterMs), blocked: true }
  return { hits: MOST - remaining, resetMs, blocked: false }
}

/** What a store that cannot count says, since it is asked for a number and not for a decision. */
function unavailable() {
  const error = failure('unavailable', 'Redis cannot be asked, and on_error is closed: the request is refused')
  // What Express and Fastify answer with.
  return Object.assign(error, { status: 503, statusCode: 503, expose: false })
}

module.exports = { Counter }
