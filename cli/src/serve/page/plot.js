// Plots of the last five minutes, drawn by hand: what was admitted, and on top of it what was denied.

import { draw, make, mark, say } from './dom.js'
import { clock, count, rate } from './format.js'

/** How long a plot looks back. */
export const SPAN_MS = 300_000
/** A gap between points that is longer than this is one: nobody told anything. */
const GAP_MS = 5_000
const HEIGHT = 100

/** A round number that is not less: 1, 2 or 5 with zeros. @param {number} most */
function round(most) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, most)))
  return [1, 2, 5, 10].map((n) => n * unit).find((top) => top >= most) ?? 10 * unit
}

/** The points in parts without gaps. @param {Point[]} points @returns {Point[][]} */
function parts(points) {
  /** @type {Point[][]} */
  const found = []
  for (const point of points) {
    const part = found.at(-1)
    const last = part?.at(-1)
    if (part && last && point[0] - last[0] <= GAP_MS) part.push(point)
    else found.push([point])
  }
  return found
}

/** An outline above a lower edge. @param {Point[]} part @param {(point: Point) => string} over @param {(point: Point) => string} under */
const area = (part, over, under) => `M${part.map(over).join('L')}L${[...part].reverse().map(under).join('L')}Z`

/** Three outlines in a drawing that is stretched to its place. */
class Curves {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.svg = draw('svg', { viewBox: `0 0 ${SPAN_MS} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' }, parent)
    this.paths = ['admitted', 'denied', 'edge'].map((name) => draw('path', { class: name }, this.svg))
  }

  /** @param {Point[]} points @param {number} now @param {number} top */
  show(points, now, top) {
    const x = (/** @type {Point} */ [at]) => Math.max(0, SPAN_MS - (now - at))
    const y = (/** @type {number} */ value) => (HEIGHT * (1 - value / top)).toFixed(2)
    const base = (/** @type {Point} */ point) => `${x(point)} ${HEIGHT}`
    const admitted = (/** @type {Point} */ point) => `${x(point)} ${y(point[1])}`
    const all = (/** @type {Point} */ point) => `${x(point)} ${y(point[1] + point[2])}`
    const found = parts(points)
    // Where nothing was denied there is no outline, which would look like a line of it.
    const shapes = [
      found.map((part) => area(part, admitted, base)),
      found.filter((part) => part.some((point) => point[2] > 0)).map((part) => area(part, all, admitted)),
      found.map((part) => `M${part.map(admitted).join('L')}`),
    ]
    for (const [at, path] of this.paths.entries()) mark(path, 'd', shapes[at]?.join('') ?? '')
  }
}

/** The most decisions in a second. @param {Point[]} points */
const most = (points) => points.reduce((top, [, allowed, denied]) => Math.max(top, allowed + denied), 0)

/** A small plot for a line of a table. */
export class Spark {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.curves = new Curves(parent)
  }

  /** @param {Point[]} points @param {number} now */
  show(points, now) {
    this.curves.show(points, now, Math.max(1, most(points)))
    const denied = points.reduce((top, point) => Math.max(top, point[2]), 0)
    const allowed = points.reduce((top, point) => Math.max(top, point[1]), 0)
    const told = `Last five minutes: at most ${rate(allowed)} per second admitted, at most ${rate(denied)} denied`
    mark(this.curves.svg, 'aria-label', points.length > 0 ? told : 'Nothing is known of the last five minutes')
  }
}

/** A large plot with axes, which tells the second that is pointed at. */
export class Plot {
  /** @type {Point[]} */
  #points = []
  #now = 0
  /** @type {number | null} */
  #pointed = null

  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.figure = make('figure', 'large', parent)
    this.legend = make('figcaption', 'legend', this.figure)
    this.title = make('strong', '', this.legend)
    for (const [name, text] of [
      ['admitted', 'admitted'],
      ['denied', 'denied'],
    ]) {
      const item = make('span', 'key', this.legend)
      draw(
        'path',
        { d: 'M0 0H12V12H0Z', class: String(name) },
        draw('svg', { viewBox: '0 0 12 12', 'aria-hidden': 'true' }, item),
      )
      item.append(String(text))
    }
    this.reading = make('span', 'reading', this.legend)
    this.field = make('div', 'field', this.figure)
    this.top = make('span', 'top', this.field)
    this.half = make('span', 'half', this.field)
    this.curves = new Curves(this.field)
    this.cursor = make('span', 'cursor', this.field)
    this.cursor.hidden = true
    const times = make('div', 'times', this.figure)
    mark(times, 'aria-hidden', 'true')
    for (const minutes of [5, 4, 3, 2, 1]) say(make('span', '', times), `${minutes} min ago`)
    say(make('span', '', times), 'now')
    this.field.addEventListener('pointermove', (event) => this.#point(event))
    this.field.addEventListener('pointerleave', () => this.#point(null))
  }

  /** @param {string} name @param {Point[]} points @param {number} now */
  show(name, points, now) {
    this.#points = points
    this.#now = now
    const top = round(most(points))
    say(this.title, name)
    this.title.dir = 'auto'
    say(this.top, count(top))
    say(this.half, Number.isInteger(top / 2) ? count(top / 2) : rate(top / 2))
    this.curves.show(points, now, top)
    this.#read()
    const last = points.at(-1)
    const told = last
      ? `${rate(last[1])} per second admitted and ${rate(last[2])} denied now, at most ${rate(most(points))} in the last five minutes`
      : 'nothing is known'
    mark(this.curves.svg, 'aria-label', `Decisions of ${name}: ${told}`)
  }

  /** @param {PointerEvent | null} event */
  #point(event) {
    const box = this.field.getBoundingClientRect()
    this.#pointed = event ? (event.clientX - box.left) / box.width : null
    this.#read()
  }

  /** Tells the second that is pointed at. */
  #read() {
    const part = this.#pointed
    this.cursor.hidden = part === null
    if (part === null) return say(this.reading, '')
    this.cursor.style.left = `${100 * part}%`
    const at = this.#now - SPAN_MS * (1 - part)
    /** @type {Point | null} */
    let near = null
    for (const point of this.#points) if (!near || Math.abs(point[0] - at) < Math.abs(near[0] - at)) near = point
    const known = near && Math.abs(near[0] - at) <= GAP_MS ? near : null
    say(
      this.reading,
      known
        ? `${clock(known[0])}: ${rate(known[1])} admitted, ${rate(known[2])} denied`
        : `${clock(at)}: nothing known`,
    )
  }
}
