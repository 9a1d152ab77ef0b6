// Decisions a second: one large plot of all limiters, or of the one that is chosen, and a line for each limiter.

import { byId, find, make, mark, say, sayName } from './dom.js'
import { percent, rate, some } from './format.js'
import { Histories } from './histories.js'
import { List } from './list.js'
import { Plot, Spark } from './plot.js'

/** What decided, in words. */
const SOURCES = /** @type {Record<string, string>} */ ({
  redis: 'by Redis',
  memory: 'in memory',
  'deny-cache': 'by remembered denials',
  lease: 'by prefetched permits',
  local: 'in the process, as Redis is down',
  open: 'allowed, as Redis is down',
  closed: 'denied, as Redis is down',
})

/** @param {Record<string, number>} bySource */
function sources(bySource) {
  const all = Object.values(bySource).reduce((sum, value) => sum + value, 0)
  const parts = Object.entries(bySource).sort(([, a], [, b]) => b - a)
  return parts.map(([name, value]) => `${percent(value, all)} ${SOURCES[name] ?? name}`).join(', ')
}

/** How much was denied in the last five minutes. @param {Point[]} points */
const denied = (points) => points.reduce((all, point) => all + point[2], 0)

export class Decisions {
  histories = new Histories()
  /** The limiter whose plot is large; nothing for all of them. */
  #chosen = ''
  /** @type {State | null} */
  #state = null

  constructor() {
    const root = byId('limiters')
    this.note = find(root, '.note')
    this.plot = new Plot(find(root, '.plot'))
    this.sources = make('p', 'note', find(root, '.plot'))
    this.all = make('button', 'quiet', find(root, '.plot'))
    this.all.type = 'button'
    say(this.all, 'Show all limiters in the plot')
    this.all.addEventListener('click', () => this.#choose(''))
    /** @type {List<LimiterRow>} */
    this.list = new List(find(root, '.list'), {
      label: 'Limiters: decisions per second',
      id: (row) => row.name,
      text: (row) => row.name,
      columns: [
        { title: 'Limiter', className: 'name', cell: (cell) => this.#name(cell) },
        { title: 'Last 5 minutes', className: 'spark', cell: (cell) => this.#spark(cell) },
        { title: 'Admitted/s', className: 'number', cell: (cell) => (row) => say(cell, rate(row.allowed_per_s)) },
        { title: 'Denied/s', className: 'number denied', cell: denials },
      ],
    })
  }

  /** @param {State} state @param {Moment} moment */
  show(state, moment) {
    this.#state = state
    const { histories } = this
    if (!state.limiters.some((row) => row.name === this.#chosen)) this.#chosen = ''
    // Who denies most comes first. Five minutes change slowly, so lines seldom change places.
    const weight = new Map(state.limiters.map((row) => [row, denied(histories.of(row.name))]))
    const rows = [...state.limiters].sort(
      (a, b) => (weight.get(b) ?? 0) - (weight.get(a) ?? 0) || a.name.localeCompare(b.name),
    )
    this.list.show(rows, rows.length, moment)
    this.#large(state)
    const { length } = rows
    say(
      this.note,
      length === 0
        ? 'No limiter has a key here.'
        : state.is_reported
          ? some(length, 'limiter')
          : 'No process reports its decisions: make clients with report on to see rates.',
    )
  }

  /** @param {State} state */
  #large(state) {
    const chosen = state.limiters.find((row) => row.name === this.#chosen)
    find(byId('limiters'), '.plot').hidden = !state.is_reported
    this.plot.show(
      chosen ? chosen.name : 'All limiters',
      chosen ? this.histories.of(chosen.name) : this.histories.sum(),
      state.now_ms,
    )
    /** @type {Record<string, number>} */
    const all = {}
    for (const row of chosen ? [chosen] : state.limiters) {
      for (const [name, value] of Object.entries(row.by_source)) all[name] = (all[name] ?? 0) + value
    }
    const said = sources(all)
    say(this.sources, said ? `Decided ${said}` : '')
    this.all.hidden = !chosen
  }

  /** @param {string} name */
  #choose(name) {
    if (name === '' && this.#chosen !== '') byId('limiters-title').focus()
    this.#chosen = name === this.#chosen ? '' : name
    if (this.#state) this.#large(this.#state)
    for (const button of this.list.body.querySelectorAll('button'))
      mark(button, 'aria-pressed', String(button.value === this.#chosen))
  }

  /** @param {HTMLElement} cell */
  #name(cell) {
    const button = make('button', 'plain', cell)
    button.type = 'button'
    const line = make('span', 'sub', cell)
    button.addEventListener('click', () => this.#choose(button.value))
    return (/** @type {LimiterRow} */ row) => {
      sayName(button, row.name)
      button.value = row.name
      mark(button, 'aria-pressed', String(row.name === this.#chosen))
      const parts = row.error_per_s ? [`${rate(row.error_per_s)} a second fail`] : []
      if (row.would_deny_per_s) parts.push(`only watches: would deny ${rate(row.would_deny_per_s)} a second`)
      if (row.keys !== null) parts.push(some(row.keys, 'key'))
      say(line, parts.join(' · '))
      line.classList.toggle('bad', Boolean(row.error_per_s))
    }
  }

  /** @param {HTMLElement} cell */
  #spark(cell) {
    const spark = new Spark(cell)
    return (/** @type {LimiterRow} */ row, /** @type {Moment} */ moment) =>
      spark.show(this.histories.of(row.name), moment.now)
  }
}

/** @param {HTMLElement} cell */
function denials(cell) {
  const value = make('span', '', cell)
  const share = make('span', 'sub', cell)
  return (/** @type {LimiterRow} */ row) => {
    say(value, rate(row.denied_per_s))
    const [allowed, refused] = [row.allowed_per_s ?? 0, row.denied_per_s ?? 0]
    say(share, refused > 0 ? percent(refused, allowed + refused) : '')
    cell.classList.toggle('some', refused > 0)
  }
}
