// The page: a state comes, each part shows its share of it. Nothing else changes what is shown.

import { Actions } from './actions.js'
import { Caches } from './caches.js'
import { Decisions } from './decisions.js'
import { byId, mark, say } from './dom.js'
import { clock, count, took } from './format.js'
import { Locks } from './locks.js'
import { Refused } from './refused.js'
import { Servers } from './servers.js'
import { Stocks } from './stocks.js'
import { Stream } from './stream.js'
import { Figures, Verdict } from './verdict.js'
import { WithoutTtl } from './without-ttl.js'

const filter = /** @type {HTMLInputElement} */ (byId('filter'))

const actions = new Actions(() => stream.csrf)
const verdict = new Verdict()
const figures = new Figures()
const decisions = new Decisions()
const parts = [
  decisions,
  new Refused(actions),
  new WithoutTtl(),
  new Locks(actions),
  new Stocks(),
  new Caches(),
  new Servers(),
]

/** @type {State | null} */
let state = null
let isLost = false
/** When the last state came, by the clock of this machine; before the first, when the page began. */
let heardAt = Date.now()
let isWaiting = false

/** A page in a tab that nobody sees draws nothing; it goes on hearing, and its title tells what is wrong. */
function drawSoon() {
  if (isWaiting) return
  isWaiting = true
  requestAnimationFrame(() => {
    isWaiting = false
    draw()
  })
}

function draw() {
  if (!state) return
  const moment = {
    now: state.now_ms,
    query: filter.value.trim().toLowerCase(),
    writes: state.writes,
    unknown: unknown(state.scan),
  }
  figures.show(state)
  for (const part of parts) part.show(state, moment)
  say(byId('server'), state.prefix === 'ql' ? state.server : `${state.server}, prefix ${state.prefix}`)
  say(byId('scan'), scanned(state.scan))
  say(byId('version'), `Quotalock ${state.version}, ${state.writes ? 'may change things' : 'read-only'}`)
}

/** Zeros of keys that nobody could look at are no zeros. @param {Scan} scan */
function unknown({ unknown_since_ms: since }) {
  return since === null ? '' : `Unknown since ${clock(since)}: not all servers answer.`
}

/** @param {Scan} scan */
function scanned(scan) {
  const last =
    scan.at_ms === null
      ? ''
      : `All ${count(scan.keys_seen)} keys were looked at by ${clock(scan.at_ms)}, in ${took(scan.took_ms)}.`
  return scan.running && scan.at_ms === null ? `Looking at all keys: ${scan.done_percent} %` : last
}

/** @param {State} next */
function hear(next) {
  state = next
  heardAt = Date.now()
  decisions.histories.take(next.limiters, next.now_ms)
  verdict.show(next, decisions.histories)
  say(byId('live'), 'Live')
  drawSoon()
}

/** @param {boolean} lost */
function change(lost) {
  isLost = lost
  actions.isLost = lost
  mark(byId('live'), 'data-state', lost ? 'lost' : 'live')
  document.body.classList.toggle('lost', lost && state !== null)
  if (lost) tellLoss()
}

function tellLoss() {
  if (!isLost) return
  say(byId('live'), 'No connection')
  verdict.lose(heardAt, Date.now(), state !== null)
}

/** `/` goes to the filter, Escape takes it away. @param {KeyboardEvent} event */
function onKey(event) {
  const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select')
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault()
    filter.focus()
    filter.select()
  }
  if (event.key === 'Escape' && event.target === filter) {
    filter.value = ''
    filter.blur()
    draw()
  }
}

filter.addEventListener('input', drawSoon)
byId('search').addEventListener('submit', (event) => event.preventDefault())
byId('leave').addEventListener('click', () => actions.leave())
document.addEventListener('keydown', onKey)
setInterval(tellLoss, 1_000)
const stream = new Stream(hear, change)
