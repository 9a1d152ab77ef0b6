'use strict'

// What the packages for web frameworks have in common: which limits a request is asked for, and whom it counts for.

const { clientAddress } = require('./address.js')
const { flag, options, refusal, text } = require('./argument.js')
const { Client, nativeOf } = require('./client.js')
const { PROBLEM, fieldsAsked, linesOf } = require('./decision.js')
const { failure } = require('./errors.js')
const { withStatus } = require('./http.js')
const { handleOf } = require('./limiter.js')
const { generated, ownName, registerName, warn } = require('./names.js')

const LIMITER_OPTIONS = ['scope', 'enforce', 'prefetch']
const LIMIT_OPTIONS = ['key', 'cost', ...LIMITER_OPTIONS]
const ADDRESS_OPTIONS = ['trusted', 'header', 'ipv6Prefix']
/** Which header fields pages of other origins may read. */
const EXPOSE = 'Access-Control-Expose-Headers'
const REQUEST_OPTIONS = ['client', 'skip', 'onDenied', 'syntax', 'legacy', 'exposeHeaders', ...ADDRESS_OPTIONS]
/**
 * @typedef {import('./http.js').Caller} Caller
 * @typedef {{ fields: string[], status: number, body: string }} Told
 * @typedef {import('../index.js').Decision | import('../index.js').CombinedDecision} Decided
 */

/** The answer to a request that does not say whom it counts for. */
const UNFIT = {
  fields: [],
  status: 400,
  body: JSON.stringify({
    type: 'about:blank',
    title: 'Bad Request',
    status: 400,
    detail: 'What requests of this kind are counted by is missing in this one, or invalid.',
  }),
}

/**
 * What each request was charged for: middleware that is mounted twice charges once. A request is an object, and a charge a text.
 * @type {WeakMap<object, string | Set<string>>}
 */
const charged = new WeakMap()

/**
 * Whether a request is charged for the first time.
 * @param {object} request
 * @param {string} charge
 */
function isFirst(request, charge) {
  const before = charged.get(request)
  if (before === undefined) {
    charged.set(request, charge)
    return true
  }
  if (typeof before === 'string') {
    if (before === charge) return false
    charged.set(request, new Set([before, charge]))
    return true
  }
  if (before.has(charge)) return false
  before.add(charge)
  return true
}

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
  #exposed
  #hasWarned = false

  /**
   * @param {string} place what messages call it
   * @param {unknown} named the name of the limit, or several limits
   * @param {any} policy
   * @param {unknown} given the options
   * @param {Naming} [naming] if limits need no name
   */
  constructor(place, named, policy, given, naming) {
    const several = Array.isArray(named)
    const known = several ? REQUEST_OPTIONS : [...LIMIT_OPTIONS, ...REQUEST_OPTIONS]
    const how = at(place, () => options(several ? policy : given, known))
    this.place = place
    this.onDenied = at(place, () => callable('onDenied', how.onDenied))
    this.#client = at(place, () => clientOf(how.client))
    this.#address = at(place, () => new Addresses(how))
    this.#skip = at(place, () => callable('skip', how.skip))
    this.#how = at(place, () => fieldsAsked(Limits, how))
    this.#exposed = at(place, () => exposed(how))
    const all = several ? named : [{ ...pick(how, LIMIT_OPTIONS), name: named, policy }]
    if (all.length === 0) {
      at(place, () => {
        throw refusal('limits', all, 'one limit at least')
      })
    }
    this.#limits = all.map((one, position) => {
      const given = at(place, () => options(one, ['name', 'policy', ...LIMIT_OPTIONS]))
      const { name, policy: rules, key, cost = 1, ...more } = given
      const where = name === undefined ? place : `${place}, limit ${JSON.stringify(name)}`
      const whom = at(where, () => callable('key', key))
      const kind = whom === undefined ? 'address' : whom.name || 'key'
      const naked = (/** @type {string} */ called) => this.#client.limiter(called, rules, pick(more, LIMITER_OPTIONS))
      const limiter = at(where, () => {
        if (name !== undefined) return naked(ownName('name', name))
        if (naming === undefined)
          throw refusal('name', name, 'the limit a name: middleware does not know where it is mounted')
        return naked(generated({ ...naming, key: kind, more: [naked('policy').policy, position, ...naming.more] }))
      })
      if (name !== undefined && naming !== TRIAL) {
        const counted = whom === undefined ? 'the address' : 'a key function'
        if (registerName(this.#client, name, limiter.policy, counted, place)) handleOf(limiter).native.nameIsKnown()
      }
      return {
        where,
        limiter,
        id: idOf(this.#client, limiter),
        key: whom,
        cost: at(where, () => costOf(cost)),
        given: cost === 1 ? undefined : { cost },
      }
    })
    const [first] = this.#limits
    const isPlain = this.#limits.length === 1 && this.#skip === undefined && typeof first?.cost === 'number'
    this.#only = isPlain ? first : undefined
  }

  /**
   * Decides about a request; null if it is not limited, or was charged for all of these limits already.
   * @param {(source: any) => Caller} callerOf what tells of the request, if somebody asks
   * @param {any} source of what it tells
   * @param {object} one what stands for the request, however often it is decided about
   * @param {any[]} request what the functions of the user are given
   * @returns {Promise<Decided | null> | null}
   */
  decide(callerOf, source, one, ...request) {
    const only = this.#only
    if (only === undefined) return this.#decideOfAll(callerOf, source, one, request)
    // Most requests: nothing to wait for but the decision.
    const { where, limiter, id, key, cost, given } = only
    const consume = (/** @type {import('../index.js').Key} */ whom) =>
      isFirst(one, charge(id, whom, cost)) ? limiter.consume(whom, given) : null
    if (key === undefined) return consume(this.#address.of(callerOf(source)))
    const whom = keyFrom(where, key, request)
    return typeof whom === 'object' && 'then' in whom ? whom.then(consume) : consume(whom)
  }

  /**
   * @param {(source: any) => Caller} callerOf
   * @param {any} source
   * @param {object} one
   * @param {any[]} request
   */
  async #decideOfAll(callerOf, source, one, request) {
    if (await this.#skip?.(...request)) return null
    /** @type {[import('../index.js').Limiter, any, number][]} */
    const charges = []
    for (const { where, limiter, id, key, cost } of this.#limits) {
      const whom = key === undefined ? this.#address.of(callerOf(source)) : await keyFrom(where, key, request)
      const units = typeof cost === 'function' ? await cost(...request) : cost
      if (isFirst(one, charge(id, whom, units))) charges.push([limiter, whom, units])
    }
    const [first] = charges
    if (first === undefined) return null
    return charges.length === 1 ? first[0].consume(first[1], { cost: first[2] }) : this.#client.consumeAll(charges)
  }

  /**
   * What a decision has answered: header fields, names and values by turns, and of a denied request the status and the body.
   * @param {Decided} decision
   * @returns {Told}
   */
  told(decision) {
    const isDenied = !decision.allowed
    const fields = linesOf(/** @type {any} */ (decision), Limits, isDenied ? this.#how + PROBLEM : this.#how)
    const [body, status] = isDenied ? [`${fields.pop()}`, Number(fields.pop())] : ['', 0]
    if (this.#exposed !== undefined) fields.push(EXPOSE, this.#exposed)
    return { fields, status, body }
  }

  /**
   * The answer to a request whose key is missing or invalid, which a client can bring about; undefined for any other error.
   * The first one is warned of: it may be the fault of the key function.
   * @param {any} error what `decide` was rejected with
   * @returns {Told | undefined}
   */
  unfit(error) {
    if (error?.code !== 'invalid_argument') return undefined
    if (!this.#hasWarned) {
      this.#hasWarned = true
      const message = error.message.startsWith(this.place) ? error.message : `${this.place}: ${error.message}`
      warn('QUOTALOCK_KEY', `${message}. Such requests are answered 400, and this is the first one`)
    }
    return UNFIT
  }
}

/**
 * What tells the charges of a limit from those of others, of the same request.
 * @param {import('../index.js').Client} client
 * @param {import('../index.js').Limiter} limiter
 */
function idOf({ server, prefix }, { name, policy, scope, enforce }) {
  return JSON.stringify([server, prefix, name, policy, scope === null ? null : `${scope}`, enforce])
}

/**
 * Where limits without a name hold; see `generated`.
 * @typedef {Omit<import('./names.js').Parts, 'key'>} Naming
 */

/** Names nothing that is ever asked. @type {Naming} */
const TRIAL = { place: 'trial', more: [] }

/**
 * Looks at options that several limits will have in common, when the application starts.
 * @param {string} place
 * @param {Record<string, any>} given
 */
function checkOptions(place, given) {
  new Limits(place, 'route', '1/second', given, TRIAL)
}

/**
 * A charge as a text: whose, of which limit.
 * @param {string} id
 * @param {import('../index.js').Key} key
 * @param {unknown} cost
 */
function charge(id, key, cost) {
  return `${cost} ${id} ${typeof key === 'string' ? key : Buffer.from(key).toString('hex')}`
}

/**
 * The header fields that a browser shows to a page of another origin, if that is wanted.
 * @param {Record<string, any>} given
 */
function exposed({ exposeHeaders = false, syntax, legacy }) {
  if (!flag('exposeHeaders', exposeHeaders)) return undefined
  const names = [...(syntax === 'none' ? [] : ['RateLimit-Policy', 'RateLimit']), 'Retry-After']
  return [...names, ...(legacy ? ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] : [])].join(', ')
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
    // Invalid options are refused when the application starts.
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
 * Whom a request counts for, by a function of the user's. Some errors of its are the request's fault: `request.body.user` where
 * there is no body.
 * @param {string} where
 * @param {(...request: any[]) => any} key
 * @param {any[]} request
 * @returns {import('../index.js').Key | Promise<import('../index.js').Key>}
 */
function keyFrom(where, key, request) {
  let whom
  try {
    whom = key(...request)
  } catch (error) {
    throw spoiled(where, error)
  }
  if (typeof whom?.then !== 'function') return keyOf(where, whom)
  return whom.then(
    (/** @type {unknown} */ told) => keyOf(where, told),
    (/** @type {unknown} */ error) => {
      throw spoiled(where, error)
    },
  )
}

/** What reading a request throws that is not as it should be: of a body that is missing, is no JSON, or a path that is no text. */
const SPOILED = [TypeError, SyntaxError, URIError]

/**
 * @param {string} where
 * @param {unknown} error
 */
function spoiled(where, error) {
  if (!SPOILED.some((kind) => error instanceof kind)) return error
  return Object.assign(failure('invalid_argument', `${where}: the key function threw ${error}`), { cause: error })
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
  // Stores throw it into the framework: a client can bring it about.
  throw withStatus(refusal(`${where}: the key`, key, 'a text, bytes or a whole number that is not empty'), 400)
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

/** @typedef {InstanceType<typeof Limits>} LimitsLike */

module.exports = { Limits, TRIAL, at, checkOptions, clientOf, keyOf }
