// Caches: what was served fresh, stale, or had to be loaded.

import { byId, find, make, say, sayName } from './dom.js'
import { count, percent, rate, some } from './format.js'
import { List } from './list.js'

export class Caches {
  constructor() {
    const root = byId('caches')
    this.note = find(root, '.note')
    const number =
      (/** @type {'hits_per_s' | 'stale_per_s' | 'loads_per_s'} */ of) =>
      (/** @type {HTMLElement} */ cell) =>
      (/** @type {CacheRow} */ row) =>
        say(cell, rate(row[of]))
    /** @type {List<CacheRow>} */
    this.list = new List(find(root, '.list'), {
      label: 'Caches: gets per second',
      id: (row) => row.name,
      text: (row) => row.name,
      columns: [
        { title: 'Cache', className: 'name', cell: name },
        { title: 'Hit', className: 'number hit', cell: (cell) => (row) => say(cell, share(row)) },
        { title: 'Fresh/s', className: 'number fresh', cell: number('hits_per_s') },
        { title: 'Stale/s', className: 'number stale', cell: number('stale_per_s') },
        { title: 'Loads/s', className: 'number loads', cell: number('loads_per_s') },
      ],
    })
  }

  /** @param {State} state @param {Moment} moment */
  show(state, moment) {
    const { length } = state.caches
    this.list.show(state.caches, length, moment)
    say(this.note, moment.unknown || (length === 0 ? 'There is no cache.' : some(length, 'cache')))
  }
}

/** How many gets were served without waiting for a load. @param {CacheRow} row */
function share({ hits_per_s, stale_per_s, loads_per_s }) {
  const served = (hits_per_s ?? 0) + (stale_per_s ?? 0)
  return percent(served, served + (loads_per_s ?? 0))
}

/** @param {HTMLElement} cell */
function name(cell) {
  const text = make('span', 'mono', cell)
  const line = make('span', 'sub', cell)
  return (/** @type {CacheRow} */ row) => {
    sayName(text, row.name)
    const parts = [some(row.entries, 'entry', 'entries')]
    for (const state of /** @type {const} */ (['fresh', 'stale', 'loading']))
      if (row[state] > 0) parts.push(`${count(row[state])} ${state}`)
    if (row.failed > 0) parts.push(`${count(row.failed)} failed to load`)
    say(line, parts.join(' · '))
    line.classList.toggle('bad', row.failed > 0)
  }
}
