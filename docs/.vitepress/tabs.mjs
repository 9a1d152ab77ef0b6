// Adjacent blocks of code in several languages become tabs, which all switch at once.

/** In which order tabs are, whatever the order of their blocks. The first is open until a reader chooses. */
export const ORDER = ['Python', 'PHP', 'Node']
const NAMES = { js: 'Node', php: 'PHP', python: 'Python', ts: 'Node' }
// A paragraph that introduces a block: "PHP:", or "Python, as WSGI:".
const LABEL = /^(Node|PHP|Python)(?=[:;,]| \()(?:(?!\. )[\s\S])*:$/
const HIGHLIGHTED = { Node: 'ts', PHP: 'php', Python: 'python' }

/** The fence that begins here, its language, and the paragraph before it that names the language. */
function unitAt(tokens, start) {
  const label = tokens[start]?.type === 'paragraph_open' ? LABEL.exec(tokens[start + 1].content)?.[1] : undefined
  const at = label ? start + 3 : start
  const fence = tokens[at]
  const name = label ?? NAMES[fence?.info?.trim()]
  if (fence?.type !== 'fence' || !name || fence.level > 0) return undefined
  if (label && fence.info.trim() === 'text') fence.info = HIGHLIGHTED[label]
  // A paragraph that only names the language says what the tab says.
  const isBare = label && /^\w+:$/.test(tokens[start + 1].content)
  return { name, tokens: tokens.slice(isBare ? at : start, at + 1), length: at + 1 - start }
}

/** @param {import('markdown-it').default} md */
export function languageTabs(md) {
  md.core.ruler.push('language-tabs', (state) => {
    const html = (content) => Object.assign(new state.Token('html_block', '', 0), { block: true, content })
    for (let start = 0; start < state.tokens.length; start++) {
      const units = []
      let end = start
      for (let unit = unitAt(state.tokens, end); unit; unit = unitAt(state.tokens, end)) {
        if (units.some(({ name }) => name === unit.name)) break
        units.push(unit)
        end += unit.length
      }
      if (units.length < 2) continue
      units.sort((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name))
      const tabs = units.flatMap(({ name, tokens }) => [
        html(`<PluginTabsTab label="${name}">\n`),
        ...tokens,
        html('</PluginTabsTab>\n'),
      ])
      const group = [html('<PluginTabs sharedStateKey="language">\n'), ...tabs, html('</PluginTabs>\n')]
      state.tokens.splice(start, end - start, ...group)
      start += group.length - 1
    }
  })
}
