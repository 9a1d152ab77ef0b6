'use strict'

// What caches and `once` answer.

const { Answered } = require('./answered.js')

class Claimed extends Answered {}
class Seen extends Answered {}

module.exports = { Claimed, Seen }
