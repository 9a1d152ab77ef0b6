'use strict'

// What a bundler takes for this package where there is no Node.

throw new Error(
  "quotalock has a native part, so it runs in Node alone, not in an Edge runtime or a Worker; in Next write `export const runtime = 'nodejs'`",
)
