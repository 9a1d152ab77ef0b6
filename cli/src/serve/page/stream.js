// What connects the page to `quotalock serve`: the session, the whole state once, then an event a second. It notices silence,
// comes back by itself, and leads to the door when the session has ended.

import { read, readAnswer } from './read.js'

/** How long no news is still good news. */
const SILENCE_MS = 5_000
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [500, 5_000]

export class Stream {
  /** @type {EventSource | null} */
  #events = null
  #heard = performance.now()
  #wait = FIRST_WAIT_MS
  #connecting = false
  /** What each POST has to have. */
  csrf = ''

  /**
   * @param {(state: State) => void} onState
   * @param {(lost: boolean) => void} onChange told when the connection is lost, and when it is back
   */
  constructor(onState, onChange) {
    this.onState = onState
    this.onChange = onChange
    // A server that hangs closes nothing.
    setInterval(() => performance.now() - this.#heard > SILENCE_MS && !this.#connecting && this.#lost(), 1_000)
    void this.#connect()
  }

  async #connect() {
    this.#connecting = true
    try {
      const within = { signal: AbortSignal.timeout(SILENCE_MS) }
      const [session, state] = await Promise.all([fetch('/api/session', within), fetch('/api/state', within)])
      if (session.status === 401 || state.status === 401) return location.replace('/login')
      if (!session.ok || !state.ok) throw new Error('the server refuses')
      this.csrf = /** @type {Session} */ (await readAnswer(session)).csrf
      this.#hear(await readAnswer(state))
      this.#follow()
      this.#connecting = false
    } catch {
      this.onChange(true)
      setTimeout(() => this.#connect(), this.#wait)
      this.#wait = Math.min(2 * this.#wait, LONGEST_WAIT_MS)
    }
  }

  #follow() {
    const events = new EventSource('/api/events')
    events.addEventListener('state', (event) => this.#hear(read(event.data)))
    events.addEventListener('error', () => this.#events === events && this.#lost())
    this.#events = events
  }

  /** @param {State} state */
  #hear(state) {
    this.#heard = performance.now()
    this.#wait = FIRST_WAIT_MS
    this.onChange(false)
    this.onState(state)
  }

  #lost() {
    this.#events?.close()
    this.#events = null
    if (this.#connecting) return
    this.onChange(true)
    void this.#connect()
  }
}
