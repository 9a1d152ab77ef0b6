// What each limiter decided in the last five minutes. A state has all of it, an event the newest seconds.

import { SPAN_MS } from './plot.js'

export class Histories {
  /** @type {Map<string, Point[]>} */
  #of = new Map()

  /** Takes in what a state says; limiters that are gone are forgotten. @param {LimiterRow[]} limiters @param {number} now */
  take(limiters, now) {
    /** @type {Map<string, Point[]>} */
    const next = new Map()
    for (const { name, history } of limiters) {
      const first = history[0]?.[0] ?? Number.POSITIVE_INFINITY
      // The newest second may have been counted in part: what comes later replaces it.
      const known = (this.#of.get(name) ?? []).filter(([at]) => at < first && at > now - SPAN_MS)
      next.set(name, [...known, ...history.filter(([at]) => at > now - SPAN_MS)])
    }
    this.#of = next
  }

  /** @param {string} name @returns {Point[]} */
  of(name) {
    return this.#of.get(name) ?? []
  }

  /** The sum of all limiters, second by second. @returns {Point[]} */
  sum() {
    /** @type {Map<number, Point>} */
    const seconds = new Map()
    for (const points of this.#of.values()) {
      for (const [at, allowed, denied] of points) {
        const second = Math.floor(at / 1000)
        const sum = seconds.get(second)
        if (sum) [sum[1], sum[2]] = [sum[1] + allowed, sum[2] + denied]
        else seconds.set(second, [at, allowed, denied])
      }
    }
    return [...seconds.values()].sort(([a], [b]) => a - b)
  }
}
