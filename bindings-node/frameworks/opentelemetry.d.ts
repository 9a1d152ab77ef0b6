import type { MeterProvider } from '@opentelemetry/api'

/**
 * Has a meter provider (the application's, if none is given) observe what Quotalock counts in this process, and in those that count
 * with it: the numbers of `metrics()`. A second time it does nothing.
 *
 * The names are Prometheus' with dots: `quotalock.decisions`, with the attributes `limiter`, `result` and `source`. Of a histogram
 * there are `.count` and `.sum`: OpenTelemetry has no instrument for one that was counted elsewhere.
 *
 * ```js
 * instrument()
 * ```
 */
export function instrument(meterProvider?: MeterProvider): void
