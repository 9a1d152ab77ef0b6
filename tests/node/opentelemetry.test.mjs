// Counters as OpenTelemetry's own SDK collects them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { metrics } from 'quotalock'
import { instrument } from 'quotalock/opentelemetry'
import { client, redis } from './support.mjs'

class Reader extends MetricReader {
  async onForceFlush() {}
  async onShutdown() {}
}

/**
 * What is collected: numbers by name, unit and attributes.
 * @param {MetricReader} reader
 */
async function collected(reader) {
  const { resourceMetrics, errors } = await reader.collect()
  assert.deepEqual(errors, [])
  /** @type {Map<string, number>} */
  const found = new Map()
  for (const { scope, metrics } of resourceMetrics.scopeMetrics) {
    assert.equal(scope.name, 'quotalock')
    for (const { descriptor, dataPoints } of metrics) {
      assert.ok(descriptor.description)
      for (const { attributes, value } of dataPoints) {
        const name = JSON.stringify([descriptor.name, descriptor.unit, Object.entries(attributes).sort()])
        assert.ok(!found.has(name), `${name} is there twice`)
        found.set(name, Number(value))
      }
    }
  }
  return found
}

function instrumented() {
  const reader = new Reader()
  const provider = new MeterProvider({ readers: [reader] })
  instrument(provider)
  return { reader, provider }
}

test('decisions are counted by limiter, result and source', async () => {
  const { reader, provider } = instrumented()
  // A second time it does nothing.
  instrument(provider)
  const limiter = client('memory://').limiter('otel-decisions', '2/hour')
  for (let i = 0; i < 3; i++) await limiter.consume('user:42')
  const found = await collected(reader)
  const labels = (/** @type {string} */ result) => [
    ['limiter', 'otel-decisions'],
    ['result', result],
    ['source', 'memory'],
  ]
  assert.equal(found.get(JSON.stringify(['quotalock.decisions', '{decision}', labels('allowed')])), 2)
  assert.equal(found.get(JSON.stringify(['quotalock.decisions', '{decision}', labels('denied')])), 1)
  // Never a key.
  assert.ok(![...found.keys()].some((name) => name.includes('user:42')))
})

test('everything that is counted is collected', async () => {
  const { reader } = instrumented()
  const own = client(redis())
  const lock = await own.lock('sku:42')
  await own.limiter('otel-all', '2/hour').consume('a')
  await lock.release()
  await own.cache('otel-all').get('k', () => 'v')
  const found = await collected(reader)
  /** @type {Map<string, number>} */
  const expected = new Map()
  for (const { name, kind, samples } of metrics()) {
    const ours = name.replace('_total', '').replace('_seconds', '').replaceAll('_', '.')
    for (const { labels, value, count, sum } of samples) {
      const told = Object.entries(labels).sort()
      if (kind === 'histogram') {
        expected.set(JSON.stringify([`${ours}.count`, told]), count ?? NaN)
        expected.set(JSON.stringify([`${ours}.sum`, told]), sum ?? NaN)
      } else expected.set(JSON.stringify([ours, told]), value ?? NaN)
    }
  }
  const named = [...found].map(([name, number]) => {
    const [ours, , labels] = JSON.parse(name)
    return /** @type {const} */ ([JSON.stringify([ours, labels]), number])
  })
  assert.deepEqual(new Map(named.sort()), new Map([...expected].sort()))
  for (const name of ['lock.hold.sum', 'call.duration.count', 'cache.gets']) {
    assert.ok(
      [...expected.keys()].some((key) => key.startsWith(`["quotalock.${name}"`)),
      name,
    )
  }
  await own.close()
})
