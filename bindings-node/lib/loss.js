'use strict'

// The signal that fires when a lock is lost.

const { unwatch, watch } = require('./channel.js')
const { failure } = require('./errors.js')

class Loss {
  #native
  /**
   * Fires when the present grant, or the next, is lost; none until somebody asks for its signal.
   * @type {AbortController | null}
   */
  #controller = null
  /**
   * The number under which the core tells a loss.
   * @type {number | null}
   */
  #watch = null

  /** @param {import('./native.js').Lock} lock */
  constructor(lock) {
    this.#native = lock
  }

  get signal() {
    const lost = this.#native.state === 'lost'
    if (this.#controller === null || (this.#controller.signal.aborted && !lost)) {
      this.#controller = new AbortController()
      if (lost) this.#abort()
      else this.listen()
    }
    return this.#controller.signal
  }

  /** Has the signal, if anybody asked for it, fire when the present grant is lost. */
  listen() {
    if (this.#controller === null || this.#native.state === 'released') return
    if (this.#controller.signal.aborted) {
      // It was that of a grant before.
      this.#controller = null
    } else if (this.#watch === null) {
      // This keeps the handle: whoever waits for nothing but the signal has nothing else that would.
      const id = watch(this.#native, () => {
        if (this.#watch !== id) return
        this.#watch = null
        this.#abort()
      })
      this.#watch = id
    }
  }

  /** Ends the watch. */
  unlisten() {
    if (this.#watch === null) return
    unwatch(this.#watch)
    this.#watch = null
  }

  /** Fires the signal of a loss that the core has noticed and this thread has not heard of yet. */
  notice() {
    if (this.#watch === null || this.#native.state !== 'lost') return
    this.unlisten()
    this.#abort()
  }

  /** The grant is given back: its signal will never fire. One that nobody had when it began is that of the next. */
  end() {
    this.notice()
    this.unlisten()
    if (this.#controller !== null && this.#native.state !== 'released') this.#controller = null
  }

  #abort() {
    try {
      this.#native.assertHeld()
    } catch (error) {
      this.#controller?.abort(failure('lost', /** @type {Error} */ (error).message))
    }
  }
}

module.exports = { Loss }
