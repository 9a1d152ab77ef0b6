'use strict'

// Reads what the native half packed in bytes (src/answers/sale.rs).

const NONE = 2 ** 32 - 1

class Packed {
  #bytes
  #at = 0

  /** @param {Buffer} bytes */
  constructor(bytes) {
    this.#bytes = bytes
  }

  number() {
    this.#at += 8
    return this.#bytes.readDoubleLE(this.#at - 8)
  }

  /** @returns {number | null} */
  maybeNumber() {
    const number = this.number()
    return number < 0 ? null : number
  }

  /** @returns {Buffer | null} */
  maybeBytes() {
    const length = this.#length()
    if (length === NONE) return null
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  bytes() {
    return /** @type {Buffer} */ (this.maybeBytes())
  }

  text() {
    return this.bytes().toString()
  }

  /** @returns {string | null} */
  maybeText() {
    return this.maybeBytes()?.toString() ?? null
  }

  /**
   * @template T
   * @param {(packed: Packed) => T} item
   * @returns {readonly T[]}
   */
  list(item) {
    return Array.from({ length: this.#length() }, () => item(this))
  }

  #length() {
    this.#at += 4
    return this.#bytes.readUInt32LE(this.#at - 4)
  }
}

module.exports = { Packed }
