// Who is refused now, or near it: the key, why, and until when.

import { byId, find, make, mark, say, sayName } from './dom.js'
import { count, rate, span } from './format.js'
import { List } from './list.js'

const WORDS = { blocked: 'Blocked', denied: 'Denied', near: 'Near' }
const LEVELS = { blocked: 'bad', denied: 'bad', near: 'near' }

export class Refused {
  /** @param {import('./actions.js').Actions} actions */
  constructor(actions) {
    const root = byId('refused')
    this.actions = actions
    this.note = find(root, '.note')
    /** @type {List<DeniedRow>} */
    this.list = new List(find(root, '.list'), {
      label: 'Keys that are refused or near their limit',
      list: 'denied',
      id: (row) => row.id,
      text: (row) => `${row.key} ${row.limiter}`,
      level: (row) => LEVELS[row.state],
      state: (row) => row.state,
      columns: [
        { title: 'Key', className: 'name', cell: key },
        { title: 'Why', className: 'why', cell: why },
        { title: 'Free in', className: 'number until', cell: until },
        { title: 'Denied/s', className: 'number per', cell: (cell) => (row) => say(cell, rate(row.per_s)) },
        { title: 'Action', className: 'action', unseen: true, cell: (cell) => this.#unblock(cell) },
      ],
    })
  }

  /** @param {State} state @param {Moment} moment */
  show(state, moment) {
    const total = state.denied_total
    this.list.show(state.denied, total, moment)
    this.list.table.classList.toggle('writes', moment.writes)
    say(
      this.note,
      moment.unknown ||
        (total === 0
          ? 'No key is denied, and none is near its limit.'
          : `${count(total)} ${total === 1 ? 'key' : 'keys'}, the worst first`),
    )
  }

  /** @param {HTMLElement} cell */
  #unblock(cell) {
    const button = make('button', 'act')
    button.type = 'button'
    say(button, 'Unblock')
    /** @type {DeniedRow | null} */
    let current = null
    button.addEventListener('click', () => current && this.actions.unblock(current))
    return (/** @type {DeniedRow} */ row, /** @type {Moment} */ moment) => {
      current = row
      // What is merely used up comes back by itself; there is no block to take away.
      const can = moment.writes && row.state === 'blocked'
      if (can && !button.isConnected) cell.append(button)
      if (!can && button.isConnected) button.remove()
      mark(button, 'aria-label', `Unblock ${row.key} of limiter ${row.limiter}`)
    }
  }
}

/** @param {HTMLElement} cell */
function key(cell) {
  const name = make('span', 'mono', cell)
  const limiter = make('span', 'sub', cell)
  return (/** @type {DeniedRow} */ row) => {
    sayName(name, row.key)
    sayName(limiter, row.scope ? `${row.limiter}, ${row.scope}` : row.limiter)
  }
}

/** @param {HTMLElement} cell */
function why(cell) {
  const badge = make('span', 'badge', cell)
  const text = make('span', 'sub', cell)
  return (/** @type {DeniedRow} */ row) => {
    say(badge, row.state === 'near' ? `${WORDS.near}: ${row.used_percent} % used` : WORDS[row.state])
    mark(badge, 'data-level', LEVELS[row.state])
    sayName(text, row.why)
  }
}

/** @param {HTMLElement} cell */
function until(cell) {
  return (/** @type {DeniedRow} */ row, /** @type {Moment} */ moment) => {
    if (row.state === 'near') return say(cell, '')
    say(cell, row.until_ms === null ? 'forever' : span(row.until_ms - moment.now))
  }
}
