// What the server says, as cli/src/serve/api.rs defines it. For the editor and the type checker; no browser loads this.

type Known<T> = T | null

interface State {
  now_ms: number
  server: string
  prefix: string
  version: string
  writes: boolean
  problems: string[]
  is_reported: boolean
  limiters: LimiterRow[]
  denied: DeniedRow[]
  denied_total: number
  locks: LockRow[]
  locks_total: number
  stocks: StockRow[]
  stocks_total: number
  caches: CacheRow[]
  without_ttl: WithoutTtlRow[]
  without_ttl_total: number
  stuck_total: number
  looks_stuck_total: number
  nodes: NodeRow[]
  scan: Scan
}

/** When, how many were admitted a second, how many denied. */
type Point = [at: number, allowed: number, denied: number]

interface LimiterRow {
  name: string
  allowed_per_s: Known<number>
  denied_per_s: Known<number>
  would_deny_per_s: Known<number>
  error_per_s: Known<number>
  by_source: Record<string, number>
  history: Point[]
  keys: Known<number>
}

interface DeniedRow {
  id: string
  limiter: string
  scope: Known<string>
  key: string
  state: 'blocked' | 'denied' | 'near'
  why: string
  used_percent: number
  until_ms: Known<number>
  per_s: Known<number>
}

interface LockRow {
  id: string
  name: string
  kind: 'lock' | 'semaphore' | 'rw'
  holders: HolderRow[]
  waiters: number
  waited_ms: Known<number>
  permits: number
  has_ttl: boolean
}

interface HolderRow {
  host: Known<string>
  process: Known<number>
  label: string
  age_ms: number
  remaining_ms: number
  token: string
}

interface StockRow {
  name: string
  scope: Known<string>
  available: Known<number>
  held: Known<number>
  sold: Known<number>
  total: Known<number>
  phase: 'open' | 'ended'
}

interface CacheRow {
  name: string
  hits_per_s: Known<number>
  stale_per_s: Known<number>
  loads_per_s: Known<number>
  entries: number
  fresh: number
  stale: number
  loading: number
  failed: number
}

interface WithoutTtlRow {
  key: string
  family: string
  kind: 'no_ttl' | 'negative_counter' | 'maybe_stuck' | 'damaged' | 'wrong_type'
  means: string
  state: 'stuck' | 'looks' | 'may'
  why: string
}

interface NodeRow {
  address: string
  role: 'primary' | 'replica'
  answers: boolean
  ok: boolean
  why: string[]
  version: Known<string>
  memory_used: Known<number>
  memory_max: Known<number>
  clients: Known<number>
  ops_per_s: Known<number>
  lag_ms: Known<number>
  clock_skew_ms: Known<number>
  keys: Known<number>
}

interface Scan {
  running: boolean
  done_percent: number
  keys_seen: Known<number>
  took_ms: Known<number>
  at_ms: Known<number>
  /** Since when it is unknown what stands at the keys of some server. */
  unknown_since_ms: Known<number>
}

/** What each part of the page needs beside its rows. */
interface Moment {
  /** The time of the state, by the server's clock. */
  now: number
  /** What is filtered by, in small letters; empty if nothing is. */
  query: string
  /** Whether buttons that change something are there. */
  writes: boolean
  /** Why the rows say nothing of all keys; empty if they do. */
  unknown: string
}
