'use strict'

// Takes the place of ioredis: a client of Quotalock's with a prefix of its own, so that there is nothing to flush.

const { Client } = require('quotalock')

let made = 0

module.exports = class Redis {
  constructor() {
    this.client = new Client(process.env.QUOTALOCK_URL, {
      prefix: `upstream-${process.pid}-${made++}`,
      timeoutMs: 10_000,
    })
  }

  async flushall() {}

  async quit() {
    await this.client.close()
  }
}
