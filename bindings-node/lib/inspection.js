'use strict'

// Who holds a lock.

const { Answered, answered } = require('./answered.js')

class Holder extends Answered {}
class Inspection extends Answered {}

/** @param {any} fields */
function inspection(fields) {
  fields.holders = fields.holders.map((/** @type {any} */ holder) => answered(Holder, holder))
  return answered(Inspection, fields)
}

module.exports = { Holder, Inspection, inspection }
