'use strict'

// Whose request it is.

const native = require('./native.js')
const { number, options, refusal, text } = require('./argument.js')
const { construct } = require('./errors.js')

const ADDRESS_OPTIONS = ['ipv6Prefix']

/** @type {typeof import('../index.js').clientAddress} */
function clientAddress(peer, forwarded, trusted, given) {
  const { ipv6Prefix = 64 } = options(given, ADDRESS_OPTIONS)
  const socket = peer === null || peer === undefined ? '' : text('peer', peer)
  const header = forwarded ?? []
  const lines = texts('forwarded', typeof header === 'string' ? [header] : header)
  const [proxies, prefix] = [texts('trusted', trusted), number('ipv6Prefix', ipv6Prefix)]
  return construct(clientAddress, () => native.clientAddress(socket, lines, proxies, prefix))
}

/**
 * Texts in an array.
 * @param {string} what
 * @param {unknown} given
 */
function texts(what, given) {
  if (!Array.isArray(given)) throw refusal(what, given, 'an array of strings')
  return given.map((each) => text(what, each))
}

module.exports = { clientAddress }
