// Written by `make commands` from cli/src/serve/api.rs. For the editor and the type checker; no browser loads this.

/** A cache, by its name. */
type CacheRow = {
  /** Its name. */
  name: string,
  /** Gets a second that found a fresh value; this and the next two are known of processes with a `--metrics-file`. */
  hits_per_s: number | null,
  /** That were served a stale value. */
  stale_per_s: number | null,
  /** That loaded. */
  loads_per_s: number | null,
  /** Entries on the servers, as the last whole scan counted them. */
  entries: number,
  /** Of these: fresh ones. */
  fresh: number,
  /** Stale ones. */
  stale: number,
  /** Those that somebody loads. */
  loading: number,
  /** Those whose load failed. */
  failed: number,
};

/** Whether a key is refused. */
type DenialState = "blocked" | "denied" | "near";

/** A key that is refused, or near it. */
type DeniedRow = {
  /** What `/api/unblock` is told. */
  id: string,
  /** The name of the limiter. */
  limiter: string,
  /** The scope that the limiter was made with. */
  scope: string | null,
  /** Who or what is limited. */
  key: string,
  /** How near it is. */
  state: DenialState,
  /** The rule that is used up most: `10/minute: 0 of 10 left`. */
  why: string,
  /** How much of that rule is used, 0 to 100. */
  used_percent: number,
  /** Until when it is refused; `null` if it is not refused, or for ever. */
  until_ms: number | null,
  /** How often it was denied a second, if its processes report. */
  per_s: number | null,
};

/** What they answer. */
type Done = {
  /** Whether anything was changed: it may have been over already. */
  changed: boolean,
  /** What was done, in words. */
  said: string,
};

/** How sure it is that a key is stuck. */
type FindingState = "stuck" | "looks" | "may";

/** Who holds a lock. */
type HolderRow = {
  /** Its machine; `null` if it does not say. */
  host: string | null,
  /** Its process; `null` if it does not say. */
  process: number | null,
  /** What it calls itself. */
  label: string,
  /** How long it has held the lock. */
  age_ms: number,
  /** How long its lease lasts, unless it is renewed. */
  remaining_ms: number,
  /** Its fencing token, as text: it may be larger than a number of JavaScript. */
  token: string,
};

/** A limiter, by its name. */
type LimiterRow = {
  /** Its name. */
  name: string,
  /** Decisions a second in the last seconds: admitted. */
  allowed_per_s: number | null,
  /** Denied. */
  denied_per_s: number | null,
  /** Admitted, and would have been denied if the limiter did more than watch. */
  would_deny_per_s: number | null,
  /** Neither: the call failed. */
  error_per_s: number | null,
  /** Decisions a second by what decided them: `redis`, `memory`, `deny-cache`, `lease`, ...; sources without any are left out. */
  by_source: { [key in string]: number },
  /** Decisions of each second: when, how many were admitted, how many denied. The oldest first. */
  history: Array<[number, number, number]>,
  /** How many keys it has on the servers, as the last whole scan counted them. */
  keys: number | null,
};

/** A kind of lock. */
type LockKind = "lock" | "semaphore" | "rw";

/** A lock that somebody holds. */
type LockRow = {
  /** What `/api/release` is told. */
  id: string,
  /** Its name. */
  name: string,
  /** What kind it is. */
  kind: LockKind,
  /** Who holds it. */
  holders: Array<HolderRow>,
  /** How many wait; each process that waits counts once. */
  waiters: number,
  /** How long the first of them has waited. */
  waited_ms: number | null,
  /** How many permits are held. */
  permits: number,
  /** Whether the key has a TTL, as each should. */
  has_ttl: boolean,
};

/** What a server is for. */
type NodeRole = "primary" | "replica";

/** A server. */
type NodeRow = {
  /** Its host and port. */
  address: string,
  /** Whether it takes writes. */
  role: NodeRole,
  /** Whether it answers. */
  answers: boolean,
  /** Whether it answers, and all is well as far as it says. */
  ok: boolean,
  /** What is not well, a sentence each. */
  why: Array<string>,
  /** Its product and version. */
  version: string | null,
  /** Bytes that it uses. */
  memory_used: number | null,
  /** Bytes that it may use; 0 is as many as there are. */
  memory_max: number | null,
  /** Connections to it. */
  clients: number | null,
  /** Commands a second. */
  ops_per_s: number | null,
  /** How far a replica is behind. */
  lag_ms: number | null,
  /** How far its clock is ahead of this machine's. */
  clock_skew_ms: number | null,
  /** How many keys it has. */
  keys: number | null,
};

/** What `GET /api/keys` answers. */
type Page<Row> = {
  /** The rows, as in the state. */
  rows: Array<Row>,
  /** How many rows come before. */
  from: number,
  /** How many there are, also those that are not kept. */
  total: number,
  /** Whether there is another page. */
  more: boolean,
};

/** What every answer says that is an error: its status is 4xx or 5xx. */
type Problem = {
  /** A word that stays the same: `not_logged_in`, `wrong_token`, `too_many_attempts`, `wrong_host`, `wrong_origin`, `read_only`,
   * `invalid_argument`, `too_many_browsers`, `not_found`, or a code of Quotalock's. */
  code: string,
  /** What happened, and what to do. */
  message: string,
};

/** The look at all keys. */
type Scan = {
  /** Whether one goes on; else the next begins soon. */
  running: boolean,
  /** How far it is, 0 to 100. */
  done_percent: number,
  /** How many keys the last whole one saw. */
  keys_seen: number | null,
  /** How long that took. */
  took_ms: number | null,
  /** When it ended. */
  at_ms: number | null,
  /** Since when it is unknown what stands at the keys of some server, or of all: when the last whole one began. None as long as all
   * servers answer. */
  unknown_since_ms: number | null,
};

/** What `POST /login` and `GET /api/session` answer. */
type Session = {
  /** What each POST has to have in its header `X-Quotalock`, `/logout` included. */
  csrf: string,
  /** Whether there is anything to post but `/logout`. */
  writes: boolean,
};

/** All that the page shows: `GET /api/state`, and each second an event `state` of `GET /api/events`. */
type State = {
  /** When this was put together. */
  now_ms: number,
  /** The URL of the servers, without passwords. */
  server: string,
  /** What the names of keys begin with. */
  prefix: string,
  /** Of the program. */
  version: string,
  /** Whether `/api/unblock` and `/api/release` do anything. */
  writes: boolean,
  /** What is missing in this state, and why: a sentence each. */
  problems: Array<string>,
  /** Whether any process reports its decisions; if not, rates are `null` and the limiters are those that have keys. */
  is_reported: boolean,
  /** By name. */
  limiters: Array<LimiterRow>,
  /** Who is refused now, or near it: blocked ones first, then denied ones by how long yet, then the nearest. */
  denied: Array<DeniedRow>,
  /** How many keys there are of these, also those that the list has no room for. */
  denied_total: number,
  /** Locks that somebody holds, those with the most waiters first. */
  locks: Array<LockRow>,
  /** How many locks somebody holds. */
  locks_total: number,
  /** Sales, by name. */
  stocks: Array<StockRow>,
  /** How many sales there are. */
  stocks_total: number,
  /** By name. */
  caches: Array<CacheRow>,
  /** Keys that may be stuck: without a TTL, and of a family that is known. */
  without_ttl: Array<WithoutTtlRow>,
  /** How many keys there are of these. */
  without_ttl_total: number,
  /** How many of them are proven to be stuck. */
  stuck_total: number,
  /** How many of the others look stuck. */
  looks_stuck_total: number,
  /** Each server that should be there. */
  nodes: Array<NodeRow>,
  /** The look at all keys that goes on. */
  scan: Scan,
};

/** Whether a sale goes on. */
type StockPhase = "open" | "ended";

/** A sale. */
type StockRow = {
  /** Its name. */
  name: string,
  /** Its scope. */
  scope: string | null,
  /** Pieces that can be taken. */
  available: number | null,
  /** Pieces that are reserved. */
  held: number | null,
  /** Pieces that are sold. */
  sold: number | null,
  /** All units. */
  total: number | null,
  /** Whether it goes on. */
  phase: StockPhase,
};

/** A key that may be stuck. */
type WithoutTtlRow = {
  /** Its name on the server. */
  key: string,
  /** Whose it is: `Laravel's RateLimiter`. */
  family: string,
  /** `no_ttl`, `negative_counter`, `maybe_stuck`, `damaged` or `wrong_type`. */
  kind: string,
  /** What it means. */
  means: string,
  /** Whether it is stuck, or only looks so. */
  state: FindingState,
  /** What proves that, or why it is not proven. */
  why: string,
};
