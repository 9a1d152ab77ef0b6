// The health of each server.

import { byId, find, make, mark, say, sayName } from './dom.js'
import { bytes, count, percent, span } from './format.js'
import { List } from './list.js'

export class Servers {
  constructor() {
    const root = byId('servers')
    this.note = find(root, '.note')
    /** @type {List<NodeRow>} */
    this.list = new List(find(root, '.list'), {
      label: 'Health of each server',
      id: (row) => row.address,
      text: (row) => row.address,
      level: (row) => (row.ok ? '' : 'bad'),
      columns: [
        { title: 'Server', className: 'name', cell: name },
        { title: 'State', className: 'why', cell: health },
        { title: 'Memory', className: 'number memory', cell: memory },
        { title: 'Commands/s', className: 'number', cell: load },
      ],
    })
  }

  /** @param {State} state @param {Moment} moment */
  show(state, moment) {
    this.list.show(state.nodes, state.nodes.length, moment)
    const healthy = state.nodes.filter((node) => node.ok).length
    say(this.note, state.nodes.length === 0 ? '' : `${count(healthy)} of ${count(state.nodes.length)} healthy`)
  }
}

/** @param {HTMLElement} cell */
function name(cell) {
  const text = make('span', 'mono', cell)
  const line = make('span', 'sub', cell)
  return (/** @type {NodeRow} */ row) => {
    sayName(text, row.address)
    say(line, [row.role, row.version].filter(Boolean).join(' · '))
  }
}

/** What is unhealthy; else how far it is behind. @param {NodeRow} row */
function told(row) {
  if (row.why.length > 0) return row.why.join('; ')
  const parts = []
  if (row.lag_ms !== null) parts.push(row.lag_ms < 1000 ? 'not behind' : `${span(row.lag_ms)} behind`)
  const skew = Math.abs(row.clock_skew_ms ?? 0)
  if (skew >= 100)
    parts.push(`clock ${skew < 1000 ? `${skew} ms` : span(skew)} ${(row.clock_skew_ms ?? 0) > 0 ? 'ahead' : 'behind'}`)
  if (row.keys !== null) parts.push(`${count(row.keys)} keys`)
  return parts.join(' · ')
}

/** @param {HTMLElement} cell */
function health(cell) {
  const badge = make('span', 'badge', cell)
  const line = make('span', 'sub', cell)
  return (/** @type {NodeRow} */ row) => {
    say(badge, row.ok ? 'Healthy' : row.answers ? 'Unhealthy' : 'Down')
    mark(badge, 'data-level', row.ok ? 'fine' : 'bad')
    sayName(line, told(row))
  }
}

/** @param {HTMLElement} cell */
function memory(cell) {
  const value = make('span', '', cell)
  const share = make('span', 'sub', cell)
  return (/** @type {NodeRow} */ row) => {
    say(value, bytes(row.memory_used))
    say(
      share,
      row.memory_max
        ? `${percent(row.memory_used ?? 0, row.memory_max)} of ${bytes(row.memory_max)}`
        : row.memory_max === 0
          ? 'no limit'
          : '',
    )
  }
}

/** @param {HTMLElement} cell */
function load(cell) {
  const value = make('span', '', cell)
  const clients = make('span', 'sub', cell)
  return (/** @type {NodeRow} */ row) => {
    say(value, count(row.ops_per_s))
    say(clients, row.clients === null ? '' : `${count(row.clients)} clients`)
  }
}
