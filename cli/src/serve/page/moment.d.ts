// What parts of the page pass to each other. For the editor and the type checker; no browser loads this.

/** When, how many were admitted a second, how many denied. */
type Point = LimiterRow['history'][number]

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
