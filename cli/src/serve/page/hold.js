// Keeps the order of a list while somebody works in it: a button must not move away under the pointer.

/** How long an order is kept after the last move of the pointer or key: a mouse left lying there must not hide what is new. */
const KEPT_MS = 8_000

export class Hold {
  #until = 0

  /** @param {HTMLElement} element the list */
  constructor(element) {
    const begin = () => {
      this.#until = performance.now() + KEPT_MS
    }
    const end = () => {
      if (!element.matches(':hover') && !element.contains(document.activeElement)) this.#until = 0
    }
    for (const event of ['pointermove', 'pointerdown', 'keydown', 'focusin']) element.addEventListener(event, begin)
    element.addEventListener('pointerleave', end)
    element.addEventListener('focusout', () => queueMicrotask(end))
  }

  get isOn() {
    return performance.now() < this.#until
  }
}

/**
 * New rows in the order in which they were shown: those that are gone stay in their place, those that are new come last.
 * @template {object} Row
 * @param {Row[]} shown
 * @param {Row[]} rows
 * @param {(row: Row) => string} id
 * @returns {{ rows: Row[], gone: Set<string> }}
 */
export function inOrderOf(shown, rows, id) {
  const fresh = new Map(rows.map((row) => [id(row), row]))
  const gone = new Set(shown.map(id).filter((name) => !fresh.has(name)))
  const known = shown.map((row) => fresh.get(id(row)) ?? row)
  const seen = new Set(shown.map(id))
  return { rows: [...known, ...rows.filter((row) => !seen.has(id(row)))], gone }
}
