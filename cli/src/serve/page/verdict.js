// The top of the page: whether anything is wrong, whether what you see is still true, and the numbers that tell most.

import { byId, find, make, mark, say } from './dom.js'
import { denier, findings } from './findings.js'
import { clock, count, rate, span } from './format.js'

/** How many findings are told below the first. */
const MOST = 6

/** Tells it to those who do not see. Numbers change all the time; only other words are news. */
export class Announcer {
  #last = ''

  /** @param {string} text */
  tell(text) {
    const words = text.replace(/\d[\d,.]*\s?(d|h|m|s)?/g, '#')
    if (words === this.#last) return
    this.#last = words
    say(byId('announcer'), text)
  }
}

/** A link to a part of the page. @param {HTMLAnchorElement} link @param {string} section */
function leadTo(link, section) {
  mark(link, 'href', `#${section}-title`)
}

export class Verdict {
  /** @type {HTMLLIElement[]} */
  #lines = []
  #announcer = new Announcer()
  /** @type {import('./findings.js').Finding[]} */
  #found = []

  /** @param {State} state @param {import('./histories.js').Histories} histories */
  show(state, histories) {
    this.#found = findings(state, histories)
    const first = this.#found[0]
    const isNew = state.scan.at_ms === null
    const calm = isNew ? `Looking at all keys for the first time: ${state.scan.done_percent} %` : 'No problems found'
    mark(byId('verdict'), 'data-level', first?.level ?? (isNew ? 'unknown' : 'fine'))
    this.#line(first ? first.text : calm, first ? `${first.section}` : '')
    say(byId('verdict-note'), this.#found.length === 0 ? denier(state) : '')
    this.#others(this.#found.slice(1))
    const more = this.#found.length - 1
    document.title = first ? `(${this.#found.length}) ${first.text} · Quotalock` : 'Quotalock: no problems found'
    this.#announcer.tell(first ? `${first.text}${more > 0 ? `. ${more} more` : ''}` : calm)
  }

  /** Says that what is shown is old. @param {number} since by this machine's clock @param {number} now @param {boolean} everConnected */
  lose(since, now, everConnected) {
    mark(byId('verdict'), 'data-level', 'lost')
    this.#line(`No connection to quotalock serve since ${clock(since)}`, '')
    const what = everConnected ? `What you see below is from then, ${span(now - since)} ago. ` : ''
    say(byId('verdict-note'), `${what}Trying again until it answers.`)
    this.#others(everConnected ? this.#found : [])
    document.title = 'No connection · Quotalock'
    this.#announcer.tell('No connection to quotalock serve. What is shown is old.')
  }

  /** @param {string} text @param {string} section */
  #line(text, section) {
    const line = byId('verdict-line')
    const link = /** @type {HTMLAnchorElement} */ (line.querySelector('a') ?? make('a'))
    if (!section) return say(line, text)
    if (!link.isConnected) line.replaceChildren(link)
    leadTo(link, section)
    say(link, text)
  }

  /** @param {import('./findings.js').Finding[]} found */
  #others(found) {
    const list = byId('verdict-more')
    const shown = found.slice(0, MOST)
    const rest = found.length - shown.length
    while (this.#lines.length < shown.length) {
      const line = make('li')
      make('a', '', line)
      this.#lines.push(line)
    }
    for (const [at, line] of this.#lines.entries()) {
      const one = shown[at]
      if (one && !line.isConnected) list.append(line)
      if (!one) line.remove()
      if (!one) continue
      const link = /** @type {HTMLAnchorElement} */ (find(line, 'a'))
      leadTo(link, one.section)
      mark(line, 'data-level', one.level)
      say(link, at === shown.length - 1 && rest > 0 ? `${one.text}, and ${count(rest)} more` : one.text)
    }
  }
}

/** The sum of what is known; nothing if nothing is. @param {(number | null)[]} values */
function sum(values) {
  const known = values.filter((value) => value !== null)
  return known.length > 0 ? known.reduce((all, value) => all + value, 0) : null
}

/** The numbers that tell most, each a way to its part of the page. */
export class Figures {
  constructor() {
    /** @type {Map<string, { link: HTMLAnchorElement, value: HTMLElement, unit: HTMLElement }>} */
    this.of = new Map()
    const all = /** @type {const} */ ([
      ['admitted', 'Admitted per second', 'limiters'],
      ['denied', 'Denied per second', 'limiters'],
      ['refused', 'Keys denied or near', 'refused'],
      ['locks', 'Locks held', 'locks'],
      ['stuck', 'Keys without TTL', 'without-ttl'],
      ['servers', 'Healthy servers', 'servers'],
    ])
    for (const [name, label, section] of all) {
      const link = make('a', 'figure', byId('figures'))
      leadTo(link, section)
      say(make('span', 'label', link), label)
      const value = make('span', 'value', link)
      const unit = make('span', 'unit', link)
      this.of.set(name, { link, value, unit })
    }
  }

  /** @param {State} state */
  show(state) {
    const well = state.nodes.filter((node) => node.ok).length
    const waiting = state.locks.reduce((all, lock) => all + lock.waiters, 0)
    const near = state.denied.filter((row) => row.state === 'near').length
    const refused = state.denied.length - near
    const all = state.denied.length === state.denied_total
    // A zero of keys that nobody could look at is no zero.
    const counted = (/** @type {number} */ keys) => (state.scan.unknown_since_ms === null ? count(keys) : '?')
    this.#set('admitted', rate(sum(state.limiters.map((row) => row.allowed_per_s))), '', '')
    this.#set('denied', rate(sum(state.limiters.map((row) => row.denied_per_s))), '', '')
    this.#set(
      'refused',
      counted(state.denied_total),
      all && state.denied_total > 0 ? `${count(refused)} denied, ${count(near)} near` : '',
      '',
    )
    this.#set('locks', counted(state.locks_total), waiting > 0 ? `${count(waiting)} waiting` : '', '')
    this.#set(
      'stuck',
      counted(state.without_ttl_total),
      '',
      state.stuck_total > 0 ? 'bad' : state.looks_stuck_total > 0 ? 'near' : '',
    )
    this.#set('servers', `${count(well)} of ${count(state.nodes.length)}`, '', well < state.nodes.length ? 'bad' : '')
  }

  /** @param {string} name @param {string} value @param {string} unit @param {string} level */
  #set(name, value, unit, level) {
    const figure = this.of.get(name)
    if (!figure) return
    say(figure.value, value)
    say(figure.unit, unit)
    mark(figure.link, 'data-level', level || null)
  }
}
