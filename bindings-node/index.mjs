import quotalock from './index.js'

export const {
  Client,
  Limiter,
  Decision,
  RuleDecision,
  limit,
  testing,
  QuotalockError,
  InvalidArgumentError,
  InvalidPolicyError,
  UnavailableError,
  TimeoutError,
  WrongTypeError,
  CrossSlotError,
  NotPermittedError,
  RateLimitedError,
  NotAcquiredError,
  LostError,
  ClosedError,
  InternalError,
} = quotalock
