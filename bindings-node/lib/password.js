'use strict'

// A password that a function tells, on this thread: it is asked when a connection logs in, and when the server refuses it.

const native = require('./native.js')
const { isText, kind } = require('./argument.js')
const { failure, keep } = require('./errors.js')

/**
 * What asks the function for a client.
 * @param {unknown} password
 * @returns {import('./native.js').Questions | undefined}
 */
function questionsFor(password) {
  if (password === undefined) return undefined
  if (typeof password !== 'function') {
    // It may be the password: it is not shown.
    throw failure('invalid_argument', `password is ${kind(password)}: give a function that returns it`)
  }
  const questions = new native.Questions(() => {
    const question = questions.take()
    if (question !== null) void answer(question, /** @type {() => unknown} */ (password))
  })
  return questions
}

/**
 * @param {import('./native.js').Question} question
 * @param {() => unknown} password
 */
async function answer(question, password) {
  try {
    const told = await password()
    if (typeof told !== 'string') {
      throw failure('invalid_argument', `what the password function returned is ${kind(told)}: return a string`)
    }
    if (!isText(told)) throw failure('invalid_argument', 'the password has no UTF-8 form: change it')
    question.answer(told)
  } catch (error) {
    question.fail(keep(error))
  }
}

module.exports = { questionsFor }
