'use strict'

// What the packages for web frameworks have in common: which limits a request is asked for, and whom it counts for.

const { clientAddress } = require('./address.js')
const { options, refusal, text } = require('./argument.js')
const { Client, nativeOf } = require('./client.js')
const { PROBLEM, fieldsAsked, linesOf } = require('./decision.js')

const LIMITER_OPTIONS = ['scope', 'enforce', 'lease']
const LIMIT_OPTIONS = ['key', 'cost', ...LIMITER_OPTIONS]
const ADDRESS_OPTIONS = ['trusted', 'header', 'ipv6Prefix']
const REQUEST_OPTIONS = ['client', 'skip', 'onDenied', 'syntax', 'legacy', ...ADDRESS_OPTIONS]
/**
 * @typedef {import('./http.js').Caller} Caller
 * @typedef {{ fields: string[], status: number, body: string }} Told
 * @typedef {import('../index.js').Decision | import('../index.js').CombinedDecision} Decided
 */

/** @type {import('../index.js').Client | undefined} */
let shared

/**
 * The client given, or one for `QUOTALOCK_URL` that all share.
 * @param {unknown} given
 * @returns {import('../index.js').Client}
 */
function clientOf(given) {
  if (given === undefined) {
    shared ??= /** @type {any} */ (new Client())
    return /** @type {any} */ (shared)
  }
  nativeOf(given)
  return /** @type {any} */ (given)
}

/**
 * Calls; what it throws is told with the place where it stands.
 * @template T
 * @param {string} place
 * @param {() => T} call
 */
function at(place, call) {
  try {
    return call()
  } catch (error) {
    if (error instanceof Error) error.message = `${place}: ${error.message}`
    throw error
  }
}

/** The limits of a middleware, of which one atomic call decides. */
class Limits {
  #client
  #limits
  #only
  #address
  #skip
  #how

  /**
   * @param {string} place what messages call it
   * @param {unknown} named the name of the limit, or several limits
   * @param {any} policy
   * @param {unknown} given the options
   */
  constructor(place, named, policy, given) {
    const several = Array.isArray(named)
    const known = several ? REQUEST_OPTIONS : [...LIMIT_OPTIONS, ...REQUEST_OPTIONS]
    const how = at(place, () => options(several ? policy : given, known))
    this.place = place
    this.onDenied = at(place, () => callable('onDenied', how.onDenied))
    this.#client = at(place, () => clientOf(how.client))
    this.#address = at(place, () => new Addresses(how))
    this.#skip = at(place, () => callable('skip', how.skip))
    this.#how = at(place, () => fieldsAsked(Limits, how))
    const all = several ? named : [{ ...pick(how, LIMIT_OPTIONS), name: named, policy }]
    if (all.length === 0) {
      at(place, () => {
        throw refusal('limits', all, 'one limit at least')
      })
    }
    this.#limits = all.map((one) => {
      const {
        name,
        policy: rules,
        key,
        cost = 1,
        ...more
      } = at(place, () => options(one, ['name', 'policy', ...LIMIT_OPTIONS]))
      const where = `${place}, limit ${JSON.stringify(name)}`
      return {
        where,
        limiter: at(where, () => this.#client.limiter(text('name', name), rules, pick(more, LIMITER_OPTIONS))),
        key: at(where, () => callable('key', key)),
        cost: at(where, () => costOf(cost)),
        given: cost === 1 ? undefined : { cost },
      }
    })
    const [first] = this.#limits
    const isPlain = this.#limits.length === 1 && this.#skip === undefined && typeof first?.cost === 'number'
    this.#only = isPlain ? first : undefined
  }

  /**
   * Decides about a request; null if it is not asked for.
   * @param {(source: any) => Caller} callerOf what tells of the request, if somebody asks
   * @param {any} source of what it tells
   * @param {any[]} request what the functions of the user are given
   * @returns {Promise<Decided | null>}
   */
  decide(callerOf, source, ...request) {
    const only = this.#only
    if (only === undefined) return this.#decideOfAll(callerOf, source, request)
    // Most requests: nothing to wait for but the decision.
    const { where, limiter, key, given } = only
    if (key === undefined) return limiter.consume(this.#address.of(callerOf(source)), given)
    const whom = key(...request)
    if (typeof whom?.then === 'function') {
      return whom.then((/** @type {any} */ told) => limiter.consume(keyOf(where, told), given))
    }
    return limiter.consume(keyOf(where, whom), given)
  }

  /**
   * @param {(source: any) => Caller} callerOf
   * @param {any} source
   * @param {any[]} request
   */
  async #decideOfAll(callerOf, source, request) {
    if (await this.#skip?.(...request)) return null
    /** @type {[import('../index.js').Limiter, any, number][]} */
    const charges = []
    for (const { where, limiter, key, cost } of this.#limits) {
      const whom = key === undefined ? this.#address.of(callerOf(source)) : keyOf(where, await key(...request))
      charges.push([limiter, whom, typeof cost === 'function' ? await cost(...request) : cost])
    }
    const [first] = charges
    if (charges.length === 1 && first !== undefined) return first[0].consume(first[1], { cost: first[2] })
    return this.#client.consumeAll(charges)
  }

  /**
   * What a decision has answered: header fields, names and values by turns, and if nothing else answers a denied request, its
   * status and body.
   * @param {Decided} decision
   * @returns {Told}
   */
  told(decision) {
    const isRefused = !decision.allowed && this.onDenied === undefined
    const fields = linesOf(/** @type {any} */ (decision), Limits, isRefused ? this.#how + PROBLEM : this.#how)
    if (!isRefused) return { fields, status: 0, body: '' }
    const body = `${fields.pop()}`
    return { fields, status: Number(fields.pop()), body }
  }
}

/** So many sockets' addresses are kept as keys. */
const MOST_KNOWN = 1000

/** Whose word about a client's address counts: see `clientAddress`. */
class Addresses {
  #trusted
  #header
  #how
  /** @type {Map<unknown, string>} */
  #known = new Map()

  /** @param {Record<string, any>} given */
  constructor({ trusted = [], header = 'X-Forwarded-For', ipv6Prefix = 64 }) {
    this.#trusted = trusted
    this.#header = text('header', header).toLowerCase()
    this.#how = { ipv6Prefix }
    // What cannot be is told of when the application starts.
    clientAddress('192.0.2.1', [], trusted, this.#how)
  }

  /** @param {Caller} caller */
  of({ peer, header }) {
    if (this.#trusted.length > 0) return clientAddress(peer, header(this.#header), this.#trusted, this.#how)
    // Without proxies the socket alone tells, and most clients come again.
    const known = this.#known.get(peer)
    if (known !== undefined) return known
    const address = clientAddress(peer, [], [], this.#how)
    if (this.#known.size === MOST_KNOWN) this.#known.clear()
    this.#known.set(peer, address)
    return address
  }
}

/**
 * Whom a key function named; nobody must be neither unlimited nor one key for all.
 * @param {string} where
 * @param {unknown} key
 * @returns {import('../index.js').Key}
 */
function keyOf(where, key) {
  if (Number.isSafeInteger(key) || typeof key === 'bigint') return String(key)
  if ((typeof key === 'string' || key instanceof Uint8Array) && key.length > 0) return key
  throw refusal(`${where}: the key`, key, 'a text, bytes or a whole number that is not empty')
}

/**
 * A function, or nothing.
 * @param {string} what
 * @param {unknown} given
 * @returns {((...given: any[]) => any) | undefined}
 */
function callable(what, given) {
  if (given !== undefined && typeof given !== 'function') throw refusal(what, given, 'a function')
  return /** @type {any} */ (given)
}

/**
 * What a request costs, or a function that tells it. By a cost of nothing nobody would be refused.
 * @param {any} cost
 */
function costOf(cost) {
  if (typeof cost !== 'function' && !(Number.isSafeInteger(cost) && cost > 0)) {
    throw refusal('cost', cost, 'a whole number, 1 or more, or a function')
  }
  return cost
}

/**
 * Those options that are given.
 * @param {Record<string, any>} given
 * @param {readonly string[]} names
 */
function pick(given, names) {
  return Object.fromEntries(names.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]))
}

module.exports = { Limits, at, clientOf, keyOf }
