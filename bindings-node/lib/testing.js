'use strict'

// For tests of Quotalock and of what uses it.

const native = require('./native.js')
const { bytesOf, number, text } = require('./argument.js')
const { submitNow } = require('./channel.js')
const { nativeOf } = require('./client.js')
const { construct } = require('./errors.js')

/** @type {typeof import('../index.js').testing} */
const testing = {
  setTime(client, micros) {
    const time = micros === null ? null : number('micros', micros)
    construct(testing.setTime, () => native.setTime(nativeOf(client), time))
  },

  async put(client, redisKey, kind, value) {
    const [own, key, word] = [nativeOf(client), bytesOf('redisKey', redisKey), text('kind', kind)]
    const bytes = bytesOf('value', value)
    await submitNow(testing.put, (channel, id) => channel.put(id, own, key, word, bytes))
  },

  async get(client, redisKey) {
    const [own, key] = [nativeOf(client), bytesOf('redisKey', redisKey)]
    const found = await submitNow(testing.get, (channel, id) => channel.get(id, own, key))
    return found && { ...found }
  },
}

module.exports = { testing }
