// `make docs`: builds the site into target/site/html. A dead link, or a page that no navigation has, fails the build.

import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'vitepress'
import { INTERNALS, navigation, placeOfItem } from './navigation.mjs'
import { collect, ROOT } from './pages.mjs'

const SITE = path.join(ROOT, 'target/site')
const started = Date.now()

/** Parts of the repository that a search need not find next to the guides. */
const INTERNAL = /^(adr|files|internals|packages|readme)\b/

/** The first sentence below a page's heading. @param {string} text */
function firstSentence(text) {
  const paragraphs = text.replace(/^#.*\n+/gm, '').split(/\n{2,}/)
  const paragraph = paragraphs.find((part) => /^[A-Z`[]/.test(part) && !/^(\w+:$|\[All verbs\])/.test(part)) ?? ''
  const plain = paragraph
    .replace(/\s+/g, ' ')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\*\*/g, '')
  // A period within parentheses, and the colon of "(default: ...)", end no sentence.
  return /^(?:\([^)]*\)|[^(])*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, '.') ?? ''
}

/** What models read: the pages by section, and all of them in one file. */
function forModels(pages, all) {
  const sections = all.filter(({ text }) => text !== INTERNALS)
  const items = sections.flatMap(({ groups }) => groups.flatMap((group) => group.items))
  const lines = ['# Quotalock', '', `> ${firstSentence(pages.get('readme.md').text)}`]
  for (const { text, groups } of sections) {
    lines.push('', `## ${text}`, '')
    for (const item of groups.flatMap((group) => group.items)) {
      const place = placeOfItem(item)
      lines.push(`- [${item.text}](/${place}): ${firstSentence(pages.get(place).text)}`)
    }
  }
  writeFileSync(path.join(SITE, 'html/llms.txt'), `${lines.join('\n')}\n`)
  const whole = items.map((item) => `<!-- ${placeOfItem(item)} -->\n\n${pages.get(placeOfItem(item)).text}`)
  writeFileSync(path.join(SITE, 'html/llms-full.txt'), whole.join('\n'))
}

const { pages, dead } = collect()
const { sections, outside } = navigation(pages)
for (const link of dead) console.error(`dead link: ${link}`)
for (const place of outside) console.error(`docs/.vitepress/navigation.mjs does not have the page ${place}`)
if (dead.length + outside.length > 0) process.exit(1)

rmSync(SITE, { recursive: true, force: true })
for (const [place, { text }] of pages) {
  const file = path.join(SITE, 'pages', place)
  mkdirSync(path.dirname(file), { recursive: true })
  const front = text.startsWith('---\n')
    ? ''
    : `---\noutline: [2, 3]\n${INTERNAL.test(place) ? 'search: false\n' : ''}---\n\n`
  writeFileSync(file, front + text)
}
cpSync(path.join(ROOT, 'docs/images'), path.join(SITE, 'pages/images'), { recursive: true })
writeFileSync(path.join(SITE, 'navigation.json'), JSON.stringify(sections))
// Pages are compiled to modules, which import Vue.
symlinkSync(path.join(ROOT, 'docs/node_modules'), path.join(SITE, 'node_modules'))
await build(path.join(ROOT, 'docs'))
for (const [place, { text }] of pages)
  writeFileSync(path.join(SITE, 'html', place), text.replace(/^---\n[\s\S]*?\n---\n+/, ''))
forModels(pages, sections)
const seconds = ((Date.now() - started) / 1000).toFixed(1)
console.log(
  `docs: ${pages.size} pages in target/site/html, no dead link, ${seconds} s; \`npm run preview --prefix docs\` shows them`,
)
