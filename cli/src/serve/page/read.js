// What comes from the server, made fit to be seen: names belong to whoever made them, and may move, hide or turn around what
// stands beside them.

/** Control characters, marks of direction, and those without a width. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** A text in which each character is seen, as the program prints it: `\u{1b}`. @param {string} text */
const visible = (text) => text.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

/** Reads JSON. @param {string} json @returns {any} */
export const read = (json) => JSON.parse(json, (_, value) => (typeof value === 'string' ? visible(value) : value))

/** Reads an answer. @param {Response} answer */
export const readAnswer = async (answer) => read(await answer.text())

/** Letters that are written from right to left. */
const FROM_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]|\ud802|\ud803|\ud83a|\ud83b/

/** A name in a sentence: one that is written from right to left keeps to itself. @param {string} name */
export const quoted = (name) => (FROM_RIGHT.test(name) ? `\u2068${name}\u2069` : name)
