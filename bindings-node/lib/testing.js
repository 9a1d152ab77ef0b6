'use strict'

// For tests of Quotalock and of what uses it.

const native = require('./native.js')
const { bytesOf, number, text } = require('./argument.js')
const { get, put } = require('./channel.js')
const { nativeOf } = require('./client.js')
const { construct } = require('./errors.js')

/** @type {typeof import('../index.js').testing} */
const testing = {
  setTime(client, micros) {
    const time = micros === null ? null : number('micros', micros)
    construct(testing.setTime, () => native.setTime(nativeOf(client), time))
  },

  async put(client, redisKey, kind, value) {
    await put(nativeOf(client), bytesOf('redisKey', redisKey), text('kind', kind), bytesOf('value', value))
  },

  async get(client, redisKey) {
    const found = await get(nativeOf(client), bytesOf('redisKey', redisKey))
    return found && { ...found }
  },
}

module.exports = { testing }
