// Numbers, durations and times, as people read them. What is not known is a dash.

export const UNKNOWN = '–'

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const tenths = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
const time = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** A count, in groups of three digits. @param {number | null | undefined} value */
export const count = (value) => (value == null ? UNKNOWN : whole.format(value))

/** So many of something, in words: `1 key`, `3 keys`. @param {number} value @param {string} one @param {string} [many] */
export const some = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`

/** A number a second. One that is small but not none does not read as none. @param {number | null | undefined} value */
export function rate(value) {
  if (value == null) return UNKNOWN
  if (value > 0 && value < 0.1) return '<0.1'
  // A sum of nothing may be the zero with a sign.
  return value <= 0 || value >= 100 ? whole.format(Math.max(0, value)) : tenths.format(value)
}

/** A part of a whole, in percent. @param {number} part @param {number} all */
export function percent(part, all) {
  if (!(all > 0)) return UNKNOWN
  const share = (100 * part) / all
  if (share > 0 && share < 1) return '<1 %'
  // Not quite all of it is not all of it.
  return `${share < 100 ? Math.min(99, Math.round(share)) : 100} %`
}

/** The time of day, here. @param {number} ms */
export const clock = (ms) => time.format(ms)

/** @type {[string, number][]} */
const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
]

/** A duration in its two largest units, as the program writes it: `1h30m`, `28s`. Rounded up. @param {number | null | undefined} ms */
export function span(ms) {
  if (ms == null) return UNKNOWN
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  const at = UNITS.findIndex(([, unit]) => seconds >= unit)
  if (at === -1) return '0s'
  const least = UNITS[at + 1]?.[1] ?? 1
  let rest = Math.ceil(seconds / least) * least
  let said = ''
  for (const [sign, unit] of UNITS) {
    if (rest < unit) continue
    said += `${Math.floor(rest / unit)}${sign}`
    rest %= unit
  }
  return said
}

/** How long something took. @param {number | null | undefined} ms */
export const took = (ms) => (ms != null && ms < 1000 ? `${count(ms)} ms` : span(ms))

/** How long something has lasted: rounded down, so that nothing is older than it is. @param {number | null | undefined} ms */
export function age(ms) {
  if (ms == null) return UNKNOWN
  const seconds = Math.floor(Math.max(0, ms) / 1000)
  const least = seconds >= 86_400 ? 3_600 : seconds >= 3_600 ? 60 : 1
  return span(Math.floor(seconds / least) * least * 1000)
}

/** Bytes. @param {number | null | undefined} value */
export function bytes(value) {
  if (value == null) return UNKNOWN
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let [at, left] = [0, value]
  while (left >= 1024 && at < units.length - 1) [at, left] = [at + 1, left / 1024]
  return `${at > 0 && left < 10 ? tenths.format(left) : whole.format(left)} ${units[at]}`
}
