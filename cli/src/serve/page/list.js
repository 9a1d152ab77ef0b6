// A table of any length, of which only the rows in view exist. They are changed in place: focus, selection and scroll stay.
// Columns have fixed widths, so no number that changes moves another.

import { arrange, make, mark, say } from './dom.js'
import { count } from './format.js'
import { Hold, inOrderOf } from './hold.js'
import { KEPT, Pages } from './pages.js'

/** How many rows there are above and below those in view. */
const MARGIN = 6
/** How long it waits before it draws what scrolling brings. */
const FRAME = /** @type {(draw: () => void) => void} */ (requestAnimationFrame)

/**
 * @template {object} Row
 * @typedef {{ title: string, className: string, unseen?: boolean, cell: (cell: HTMLElement) => (row: Row, moment: Moment) => void }} Column
 */

/** @template {object} Row */
export class List {
  /** @type {Row[]} */
  #rows = []
  /** @type {Set<string>} */
  #gone = new Set()
  /** @type {Map<string, { element: HTMLElement, fill: (row: Row | undefined, moment: Moment) => void }>} */
  #made = new Map()
  #total = 0
  /** @type {Moment} */
  #moment = { now: 0, query: '', writes: false, unknown: '' }
  #waiting = false

  /**
   * @param {HTMLElement} root
   * @param {{
   *   label: string,
   *   columns: Column<Row>[],
   *   id: (row: Row) => string,
   *   text: (row: Row) => string,
   *   level?: (row: Row) => string,
   *   state?: (row: Row) => string,
   *   list?: string,
   * }} is  `text` is what a filter looks at; `list` the name of its pages in the API
   */
  constructor(root, is) {
    this.is = is
    this.scroller = make('div', 'scroller', root)
    this.table = make('table', '', this.scroller)
    this.note = make('p', 'rest', root)
    say(make('caption', 'unseen', this.table), is.label)
    this.head = make('tr', '', make('thead', '', this.table))
    this.body = make('tbody', '', this.table)
    this.above = make('tr', 'space')
    this.below = make('tr', 'space')
    this.hold = new Hold(this.scroller)
    /** @type {Pages<Row> | null} */
    this.pages = is.list ? new Pages(is.list, () => this.#drawSoon()) : null
    for (const { title, className, unseen } of is.columns) {
      const cell = make('th', className, this.head)
      const text = unseen ? make('span', 'unseen', cell) : cell
      say(text, title)
      mark(cell, 'role', 'columnheader')
    }
    this.#nameRoles()
    mark(this.scroller, 'aria-label', is.label)
    this.scroller.addEventListener('scroll', () => this.#drawSoon(), { passive: true })
    new ResizeObserver(() => this.#drawSoon()).observe(this.scroller)
  }

  /** Shows the first rows of so many. @param {Row[]} rows @param {number} total @param {Moment} moment */
  show(rows, total, moment) {
    const held = this.hold.isOn ? inOrderOf(this.#rows, rows, this.is.id) : { rows, gone: new Set() }
    // Behind the first page come others, so it must not grow.
    this.#rows = total > rows.length ? held.rows.slice(0, rows.length) : held.rows
    this.#gone = held.gone
    this.#total = Math.max(total, this.#rows.length)
    this.#moment = moment
    this.#draw()
  }

  /** Rows that are drawn as grid lose what they are to a screen reader, so it is said. */
  #nameRoles() {
    mark(this.table, 'role', 'table')
    mark(this.head, 'role', 'row')
    for (const group of [this.head.parentElement, this.body]) if (group) mark(group, 'role', 'rowgroup')
    for (const space of [this.above, this.below]) mark(space, 'aria-hidden', 'true')
  }

  #drawSoon() {
    if (this.#waiting) return
    this.#waiting = true
    FRAME(() => {
      this.#waiting = false
      this.#draw()
    })
  }

  /** The rows that a filter leaves, or how many there are and how each is found. */
  #source() {
    const { query } = this.#moment
    const length = Math.min(this.#total, this.pages ? KEPT : this.#rows.length)
    if (!query) {
      const behind = (/** @type {number} */ at) => this.pages?.row(at)
      return { length, at: (/** @type {number} */ at) => (at < this.#rows.length ? this.#rows[at] : behind(at)) }
    }
    const known = [...this.#rows, ...(this.pages && length > this.#rows.length ? this.pages.all(this.#total) : [])]
    // A row that moved from a page to another is in both.
    const found = new Map(
      known.filter((row) => this.is.text(row).toLowerCase().includes(query)).map((row) => [this.is.id(row), row]),
    )
    const rows = [...found.values()]
    return { length: rows.length, at: (/** @type {number} */ at) => rows[at] }
  }

  #draw() {
    const source = this.#source()
    const height = Number.parseFloat(getComputedStyle(this.scroller).getPropertyValue('--row'))
    const first = Math.max(0, Math.min(Math.floor(this.scroller.scrollTop / height), source.length - 1) - MARGIN)
    const end = Math.min(source.length, first + Math.ceil(this.scroller.clientHeight / height) + 2 * MARGIN)
    this.above.style.height = `${first * height}px`
    this.below.style.height = `${Math.max(0, source.length - end) * height}px`
    /** @type {Map<string, { element: HTMLElement, fill: (row: Row | undefined, moment: Moment) => void }>} */
    const shown = new Map()
    for (let at = first; at < end; at++) {
      const row = source.at(at)
      const id = row ? this.is.id(row) : `place ${at}`
      if (shown.has(id)) continue
      const line = this.#made.get(id) ?? this.#make()
      shown.set(id, line)
      line.fill(row, this.#moment)
      mark(line.element, 'aria-rowindex', String(at + 2))
      line.element.classList.toggle('gone', this.#gone.has(id))
    }
    this.#made = shown
    arrange(this.body, [this.above, ...[...shown.values()].map(({ element }) => element), this.below])
    this.#frame(source.length)
  }

  /** What stands around the rows. @param {number} length */
  #frame(length) {
    mark(this.table, 'aria-rowcount', String(length + 1))
    this.scroller.hidden = length === 0
    const overflows = this.scroller.scrollHeight > this.scroller.clientHeight + 1
    mark(this.scroller, 'tabindex', overflows ? '0' : null)
    mark(this.scroller, 'role', overflows ? 'region' : null)
    const { query } = this.#moment
    const among = Math.min(this.#total, this.pages ? KEPT : this.#total)
    let said = ''
    if (query && this.#total > 0)
      said = `${count(length)} of ${among < this.#total ? `the first ${count(among)}` : count(among)} fit the filter`
    else if (length < this.#total) said = `The first ${count(length)} of ${count(this.#total)}`
    say(this.note, said)
  }

  #make() {
    const element = make('tr')
    mark(element, 'role', 'row')
    const fills = this.is.columns.map(({ className, cell }) => {
      const place = make('td', className, element)
      mark(place, 'role', 'cell')
      return cell(place)
    })
    const fill = (/** @type {Row | undefined} */ row, /** @type {Moment} */ moment) => {
      mark(element, 'aria-busy', row ? null : 'true')
      if (!row) return
      if (this.is.level) mark(element, 'data-level', this.is.level(row))
      if (this.is.state) mark(element, 'data-state', this.is.state(row))
      for (const one of fills) one(row, moment)
    }
    return { element, fill }
  }
}
