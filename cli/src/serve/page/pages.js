// The rows of a list behind those that each state has: they are asked for when somebody scrolls there, or filters.

import { readAnswer } from './read.js'

/** How many rows a page has, and how many rows the server keeps: `ROWS` and `KEPT` in api.rs. */
const ROWS = 100
export const KEPT = 1_000
/** How old a page may be that is in view. */
const FRESH_MS = 3_000

/** @template {object} Row */
export class Pages {
  /** @type {Map<number, { rows: Row[], at: number }>} */
  #pages = new Map()
  #busy = false

  /**
   * @param {string} list its name in the API
   * @param {() => void} changed called when rows have come
   */
  constructor(list, changed) {
    this.list = list
    this.changed = changed
  }

  /** The row of a place, if it is known. Whatever is missing or old is asked for. @param {number} at @returns {Row | undefined} */
  row(at) {
    const from = Math.floor(at / ROWS) * ROWS
    const page = this.#pages.get(from)
    if (!page || performance.now() - page.at > FRESH_MS) void this.#ask(from)
    return page?.rows[at - from]
  }

  /** All rows behind the first page that are known, while the others are asked for. @param {number} total @returns {Row[]} */
  all(total) {
    for (let from = ROWS; from < Math.min(total, KEPT); from += ROWS) this.row(from)
    return [...this.#pages.keys()].sort((a, b) => a - b).flatMap((from) => this.#pages.get(from)?.rows ?? [])
  }

  /** Forgets everything: the list is at its top again. */
  clear() {
    this.#pages.clear()
  }

  /** One page at a time: whoever is waited for is asked for again when that one has come. @param {number} from */
  async #ask(from) {
    if (this.#busy) return
    this.#busy = true
    try {
      const answer = await fetch(`/api/keys?list=${this.list}&from=${from}`)
      // Of what is refused the page shows no more than it has; the stream tells what is wrong.
      const page = answer.ok ? /** @type {Page<Row>} */ (await readAnswer(answer)) : this.#pages.get(from)
      const rows = page?.rows ?? []
      this.#pages.set(from, { rows, at: performance.now() })
    } catch {
      this.#pages.set(from, { rows: this.#pages.get(from)?.rows ?? [], at: performance.now() })
    }
    this.#busy = false
    this.changed()
  }
}
