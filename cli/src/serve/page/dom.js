// Elements. Text goes in as text, never as markup, and only where it changed: a selection and the focus survive.

/** The element of an id, which index.html has. @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

/** The first element that a selector finds in another. @param {ParentNode} root @param {string} selector */
export const find = (root, selector) => /** @type {HTMLElement} */ (root.querySelector(selector))

/**
 * An element, in another if one is given.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} [className]
 * @param {Element | null} [parent]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, className = '', parent = null) {
  const element = document.createElement(tag)
  if (className) element.className = className
  parent?.append(element)
  return element
}

/** An element of a drawing. @param {string} tag @param {Record<string, string | number>} attributes @param {Element} [parent] */
export function draw(tag, attributes, parent) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value))
  parent?.append(element)
  return element
}

/** Sets a text. @param {Element} element @param {string} text */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text
}

/** Sets an attribute, or removes it. @param {Element} element @param {string} name @param {string | null} value */
export function mark(element, name, value) {
  if (value === null) element.removeAttribute(name)
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value)
}

/** A name or key of whoever made it: in the direction it was written, cut where there is no room, whole when pointed at. @param {HTMLElement} element @param {string} text */
export function sayName(element, text) {
  say(element, text)
  mark(element, 'dir', 'auto')
  mark(element, 'title', text)
}

/**
 * Brings children into an order. The one with the focus is not moved, since that would take the focus away: the others move around it.
 * @param {Element} parent
 * @param {Element[]} children
 */
export function arrange(parent, children) {
  for (const child of [...parent.children]) if (!children.includes(child)) child.remove()
  const pivot = children.findIndex((child) => child.contains(document.activeElement) && child.parentElement === parent)
  for (let at = pivot - 1; at >= 0; at--) {
    const [child, next] = [children[at], children[at + 1]]
    if (child && next && child.nextElementSibling !== next) next.before(child)
  }
  for (let at = pivot + 1; at < children.length; at++) {
    const [child, before] = [children[at], children[at - 1]]
    if (!child) continue
    if (!before) {
      if (parent.firstElementChild !== child) parent.prepend(child)
    } else if (before.nextElementSibling !== child) before.after(child)
  }
}
