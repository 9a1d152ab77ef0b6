// Keys that are stuck or look so, and the command that gives a TTL to those that are proven to be.

import { byId, find, make, mark, say, sayName } from './dom.js'
import { some } from './format.js'
import { List } from './list.js'

const STATES = { stuck: 'Is stuck', looks: 'Looks stuck', may: 'May be stuck' }

export class WithoutTtl {
  constructor() {
    const root = byId('without-ttl')
    this.note = find(root, '.note')
    this.cure = find(root, '.cure')
    this.cure.hidden = true
    say(make('p', '', this.cure), 'To see what would be done, and to change what is proven after you say yes:')
    const line = make('p', 'command', this.cure)
    this.command = make('code', '', line)
    const copy = make('button', 'quiet', line)
    copy.type = 'button'
    say(copy, 'Copy')
    copy.addEventListener('click', () => this.#copy())
    /** @type {List<WithoutTtlRow>} */
    this.list = new List(find(root, '.list'), {
      label: 'Keys without TTL',
      list: 'without_ttl',
      id: (row) => row.key,
      text: (row) => `${row.key} ${row.family}`,
      level,
      columns: [
        { title: 'Key', className: 'name', cell: key },
        { title: 'What it means', className: 'why', cell: kind },
      ],
    })
  }

  /** @param {State} state @param {Moment} moment */
  show(state, moment) {
    const total = state.without_ttl_total
    this.list.show(state.without_ttl, total, moment)
    this.cure.hidden = total === 0
    // The URL without its password: the shell has that in QUOTALOCK_URL.
    say(this.command, 'quotalock doctor --fix')
    say(
      this.note,
      moment.unknown ||
        (total === 0
          ? 'No key without a TTL looks stuck.'
          : `${some(total, 'key')} without a TTL, ${state.stuck_total} of them proven to be stuck`),
    )
  }

  /** Copies the command; where a browser does not let us, it is selected. */
  async #copy() {
    try {
      await navigator.clipboard.writeText(this.command.textContent ?? '')
    } catch {
      getSelection()?.selectAllChildren(this.command)
    }
  }
}

/** @param {HTMLElement} cell */
function key(cell) {
  const name = make('span', 'mono', cell)
  const family = make('span', 'sub', cell)
  return (/** @type {WithoutTtlRow} */ row) => {
    sayName(name, row.key)
    say(family, row.family)
  }
}

/** @param {WithoutTtlRow} row */
function level(row) {
  return row.state === 'stuck' ? 'bad' : row.state === 'looks' ? 'near' : ''
}

/** @param {HTMLElement} cell */
function kind(cell) {
  const badge = make('span', 'badge', cell)
  const means = make('span', 'sub', cell)
  return (/** @type {WithoutTtlRow} */ row) => {
    mark(badge, 'data-level', level(row))
    say(badge, row.kind === 'damaged' ? 'Damaged' : (STATES[row.state] ?? row.state))
    sayName(means, row.kind === 'damaged' ? row.means : `${row.means} (${row.why})`)
  }
}
