'use strict'

// Quotalock's counters through OpenTelemetry's metrics, for applications that have it.

const { version } = require('../package.json')
const { failure } = require('../lib/errors.js')
const { metrics } = require('../lib/metrics.js')

/** @typedef {import('@opentelemetry/api').Observable} Observable */
/** @typedef {ReturnType<typeof metrics>[number]} Metric */
/** What is observed of each sample of a metric. @typedef {[Observable, (sample: any) => number]} Part */

/** @type {WeakSet<object>} */
const instrumented = new WeakSet()

/** @type {typeof import('./opentelemetry.js').instrument} */
function instrument(meterProvider = ofApplication()) {
  if (instrumented.has(meterProvider)) return
  instrumented.add(meterProvider)
  const meter = meterProvider.getMeter('quotalock', version)
  /** @type {Map<string, Part[]>} */
  const observed = new Map(metrics().map((metric) => [metric.name, partsOf(meter, metric)]))
  meter.addBatchObservableCallback(
    (result) => {
      for (const { name, samples } of metrics()) {
        for (const [observable, part] of observed.get(name) ?? []) {
          for (const sample of samples) result.observe(observable, part(sample), { ...sample.labels })
        }
      }
    },
    [...observed.values()].flatMap((parts) => parts.map(([observable]) => observable)),
  )
}

/**
 * The instruments of a metric. Of a histogram that was counted elsewhere OpenTelemetry has none.
 * @param {import('@opentelemetry/api').Meter} meter
 * @param {Metric} metric
 * @returns {Part[]}
 */
function partsOf(meter, { name, kind, help }) {
  const ours = name.replace(/(_total|_seconds)$/, '').replaceAll('_', '.')
  const word = ours.slice(ours.lastIndexOf('.') + 1)
  const unit = `{${word.endsWith('s') ? word.slice(0, -1) : 'event'}}`
  if (kind === 'histogram') {
    return [
      [meter.createObservableCounter(`${ours}.count`, { unit: '{event}', description: help }), ({ count }) => count],
      [meter.createObservableCounter(`${ours}.sum`, { unit: 's', description: help }), ({ sum }) => sum],
    ]
  }
  if (kind === 'gauge') {
    return [[meter.createObservableGauge(ours, { unit: '1', description: help }), ({ value }) => value]]
  }
  return [[meter.createObservableCounter(ours, { unit, description: help }), ({ value }) => value]]
}

/** The application's own meter provider. */
function ofApplication() {
  try {
    return require('@opentelemetry/api').metrics.getMeterProvider()
  } catch (error) {
    throw Object.assign(failure('invalid_argument', 'quotalock/opentelemetry needs @opentelemetry/api: install it'), {
      cause: error,
    })
  }
}

module.exports = { instrument }
