// What changes something on the servers: taking a block back, taking a lock away. The second asks first.

import { byId, find, make, say } from './dom.js'
import { quoted, readAnswer } from './read.js'

/** @typedef {{ title: string, text: string[], yes: string, no: string }} Question */

/** Asks, and waits for the answer. Escape and the quiet button mean no. @param {Question} question @returns {Promise<boolean>} */
export function ask({ title, text, yes, no }) {
  const dialog = /** @type {HTMLDialogElement} */ (byId('confirm'))
  say(byId('confirm-title'), title)
  byId('confirm-text').replaceChildren()
  for (const part of text) say(make('p', '', byId('confirm-text')), part)
  say(byId('confirm-yes'), yes)
  say(byId('confirm-no'), no)
  dialog.returnValue = 'no'
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true })
  })
}

/** Says what was done, to those who see and those who hear. @param {string} text */
export function tell(text) {
  const place = byId('told')
  say(find(place, 'span'), text)
  place.hidden = text === ''
  say(byId('announcer'), text)
}

export class Actions {
  /** Nothing can be done without a connection. */
  isLost = false

  /** @param {() => string} csrf what each POST has to have */
  constructor(csrf) {
    this.csrf = csrf
    find(byId('told'), 'button').addEventListener('click', () => tell(''))
  }

  /**
   * Does something, and says what came of it.
   * @param {string} path
   * @param {object} body
   */
  async post(path, body) {
    if (this.isLost) return tell('Nothing was done: there is no connection to quotalock serve.')
    try {
      const headers = { 'Content-Type': 'application/json', 'X-Quotalock': this.csrf() }
      const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
      if (answer.status === 401) return location.replace('/login')
      const said = /** @type {Done | Problem} */ (await readAnswer(answer))
      tell('said' in said ? said.said : `Nothing was done: ${said.message}`)
    } catch {
      tell('quotalock serve did not answer, so it is not known whether it was done. Look at the list.')
    }
  }

  /** @param {DeniedRow} row */
  unblock(row) {
    return this.post('/api/unblock', { id: row.id })
  }

  /** @param {LockRow} row @param {string} holder */
  async release(row, holder) {
    const text = [
      `${holder} may still be working under it. It learns of the loss when it next renews, at a third of its lease; until then it works at the same time as the next holder. Only the fencing token protects your data from that.`,
      row.waiters > 0 ? `A waiter gets the lock at once: ${row.waiters} wait.` : 'No process waits for it.',
    ]
    const question = { title: `Force release lock ${quoted(row.name)}?`, text, yes: 'Force release it', no: 'Leave it' }
    if (await ask(question)) await this.post('/api/release', { id: row.id })
  }

  /** Ends the session. The door is shown only when it has ended. */
  async leave() {
    try {
      // The page may not know its session yet, or another tab began a new one.
      const session = await fetch('/api/session')
      const csrf = session.ok ? /** @type {Session} */ (await readAnswer(session)).csrf : ''
      const headers = { 'X-Quotalock': csrf }
      const answer = await fetch('/logout', { method: 'POST', headers })
      if (answer.ok || answer.status === 401) return location.replace('/login')
    } catch {
      // Said below.
    }
    tell('You are still signed in: quotalock serve did not end the session. Try again.')
  }
}
