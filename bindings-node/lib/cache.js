'use strict'

// A cache: of all its readers, in whatever process, one loads what is missing.

const { inspect } = require('node:util')
const native = require('./native.js')
const { Seen, answered } = require('./answers.js')
const { bytesOf, options, refusal, signalOf } = require('./argument.js')
const { submitDescribed } = require('./channel.js')
const { construct, failure } = require('./errors.js')
const { fly, storable, waitOf } = require('./flight.js')

/** @typedef {import('../index.js').Cache} Surface */
/** @typedef {import('../index.js').Key} Key */

const GET_OPTIONS = ['waitMs', 'signal']

class Cache {
  #native
  #name

  /**
   * @param {import('./native.js').Cache} cache
   * @param {string} name
   */
  constructor(cache, name) {
    if (!(cache instanceof native.Cache)) {
      throw failure('invalid_argument', 'a cache is made by client.cache(name), not by new')
    }
    this.#native = cache
    this.#name = name
  }

  get name() {
    return this.#name
  }

  /** @type {Surface['get']} */
  async get(key, load, given) {
    return await this.#get(this.get, key, load, given, (value) => value)
  }

  /** @type {Surface['getJson']} */
  async getJson(key, load, given) {
    const bytes = await this.#get(this.getJson, key, load, given, (value) => {
      const text = value === null ? null : JSON.stringify(value, finite)
      if (text === undefined)
        throw refusal('what was loaded', value, 'something that JSON has, or null if there is none')
      if (text !== null) construct(this.getJson, () => native.checkJson(text))
      return text
    })
    return JSON.parse(bytes === null ? 'null' : bytes.toString())
  }

  /** @type {Surface['getMany']} */
  async getMany(keys, load, given) {
    if (!Array.isArray(keys)) throw refusal('keys', keys, 'an array of keys')
    const all = keys.map((key) => bytesOf('key', key))
    const { wait, signal } = how(load, given)
    const lengths = all.map((key) => key.length)
    const describe = () => this.#native.getSeveral(lengths, Buffer.concat(all), wait)
    const values = await fly(this.getMany, signal, describe, async (missing) => {
      const wanted = missing.map((at) => /** @type {Key} */ (keys[at]))
      const found = mapping(await /** @type {(keys: any) => any} */ (load)(wanted))
      return wanted.map((key) => found(key) ?? null)
    })
    return new Map(keys.map((key, i) => [key, values[i] ?? null]))
  }

  /** @type {Surface['peek']} */
  async peek(key) {
    const bytes = bytesOf('key', key)
    const fields = await submitDescribed(this.peek, undefined, (channel) => channel.peekCached(this.#native, bytes))
    return fields && answered(Seen, fields)
  }

  /** @type {Surface['put']} */
  async put(key, value) {
    const [bytes, given] = [bytesOf('key', key), storable('value', value)]
    await submitDescribed(this.put, undefined, (channel) => channel.putCached(this.#native, bytes, given))
  }

  /** @type {Surface['invalidate']} */
  async invalidate(key) {
    const bytes = bytesOf('key', key)
    return await submitDescribed(this.invalidate, undefined, (channel) => channel.invalidate(this.#native, bytes))
  }

  /** @type {Surface['redisKey']} */
  redisKey(key) {
    const bytes = bytesOf('key', key)
    return construct(this.redisKey, () => this.#native.redisKey(bytes))
  }

  /**
   * @param {Function} caller
   * @param {Key} key
   * @param {() => any} load
   * @param {unknown} given
   * @param {(value: any) => any} encode
   */
  async #get(caller, key, load, given, encode) {
    const bytes = bytesOf('key', key)
    const { wait, signal } = how(load, given)
    const describe = () => this.#native.get(bytes, wait)
    const [value] = await fly(caller, signal, describe, async () => [encode(await load())])
    return value ?? null
  }

  [inspect.custom]() {
    return `Cache { name: ${inspect(this.#name)} }`
  }
}

/**
 * A value within one that is to be JSON: no NaN, of which JSON.stringify would make null.
 * @param {string} key
 * @param {unknown} value
 */
function finite(key, value) {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw refusal(key === '' ? 'what was loaded' : `what was loaded, at ${inspect(key)},`, value, 'a finite number')
  }
  return value
}

/**
 * How a `get` is made.
 * @param {unknown} load
 * @param {unknown} given
 */
function how(load, given) {
  if (typeof load !== 'function') throw refusal('load', load, 'a function')
  const { waitMs, signal } = options(given, GET_OPTIONS)
  return { wait: waitOf(waitMs), signal: signalOf(signal) }
}

/**
 * What finds a key's value in what a loader of several keys returned.
 * @param {any} loaded
 * @returns {(key: Key) => unknown}
 */
function mapping(loaded) {
  if (loaded instanceof Map) return (key) => loaded.get(key)
  if (typeof loaded !== 'object' || loaded === null || Array.isArray(loaded)) {
    throw refusal('what was loaded', loaded, 'a Map, or an object, with a value for each key')
  }
  return (key) => (typeof key === 'string' && Object.hasOwn(loaded, key) ? loaded[key] : undefined)
}

module.exports = { Cache }
