// Locks that somebody holds: who, for how long, and who waits.

import { byId, find, make, mark, say, sayName } from './dom.js'
import { who } from './findings.js'
import { age, count, some, span } from './format.js'
import { List } from './list.js'

const KINDS = { lock: '', semaphore: 'semaphore', rw: 'read-write' }

export class Locks {
  /** @param {import('./actions.js').Actions} actions */
  constructor(actions) {
    const root = byId('locks')
    this.actions = actions
    this.note = find(root, '.note')
    /** @type {List<LockRow>} */
    this.list = new List(find(root, '.list'), {
      label: 'Locks that are held',
      list: 'locks',
      id: (row) => row.id,
      text: (row) => [row.name, ...row.holders.map((holder) => `${holder.label} ${holder.host ?? ''}`)].join(' '),
      level: (row) => (row.has_ttl ? '' : 'bad'),
      columns: [
        { title: 'Lock and holder', className: 'name', cell: holder },
        {
          title: 'Held for',
          className: 'number held',
          cell: (cell) => (row) => say(cell, age(Math.max(0, ...row.holders.map((one) => one.age_ms)))),
        },
        { title: 'Lease', className: 'number lease', cell: lease },
        { title: 'Waiting', className: 'number waiting', cell: waiting },
        { title: 'Action', className: 'action', unseen: true, cell: (cell) => this.#release(cell) },
      ],
    })
  }

  /** @param {State} state @param {Moment} moment */
  show(state, moment) {
    const total = state.locks_total
    this.list.show(state.locks, total, moment)
    this.list.table.classList.toggle('writes', moment.writes)
    const known = total === 0 ? 'Nobody holds a lock.' : `${some(total, 'lock')} held, those with most waiters first`
    say(this.note, moment.unknown || known)
  }

  /** @param {HTMLElement} cell */
  #release(cell) {
    const button = make('button', 'act')
    button.type = 'button'
    say(button, 'Release')
    /** @type {LockRow | null} */
    let current = null
    button.addEventListener('click', () => current && this.actions.release(current, who(current.holders[0])))
    return (/** @type {LockRow} */ row, /** @type {Moment} */ moment) => {
      current = row
      if (moment.writes && !button.isConnected) cell.append(button)
      if (!moment.writes && button.isConnected) button.remove()
      mark(button, 'aria-label', `Force release lock ${row.name}`)
    }
  }
}

/** @param {HTMLElement} cell */
function holder(cell) {
  const name = make('span', 'mono', cell)
  const line = make('span', 'sub', cell)
  return (/** @type {LockRow} */ row) => {
    sayName(name, row.name)
    const others = row.holders.length - 1
    const parts = [who(row.holders[0]) + (others > 0 ? ` and ${some(others, 'other')}` : '')]
    if (KINDS[row.kind]) parts.push(KINDS[row.kind])
    if (!row.has_ttl) parts.unshift('no TTL')
    sayName(line, parts.join(' · '))
    mark(line, 'title', row.holders.map((one) => `${who(one)}, token ${one.token}`).join('\n'))
  }
}

/** @param {HTMLElement} cell */
const lease = (cell) => (/** @type {LockRow} */ row) =>
  say(cell, span(Math.max(0, ...row.holders.map((one) => one.remaining_ms))))

/** @param {HTMLElement} cell */
function waiting(cell) {
  const value = make('span', '', cell)
  const since = make('span', 'sub', cell)
  return (/** @type {LockRow} */ row) => {
    say(value, count(row.waiters))
    say(since, row.waiters > 0 && row.waited_ms !== null ? `for ${age(row.waited_ms)}` : '')
    cell.classList.toggle('some', row.waiters > 0)
  }
}
