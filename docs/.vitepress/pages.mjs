// Which files are pages, where each is on the site, and what links between them become.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Pages outside of docs, by their file. Any other file that a page links to becomes a page below `files`.
 * @type {Record<string, string>}
 */
const ELSEWHERE = {
  'ARCHITECTURE.md': 'internals/architecture.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'internals/contributing.md',
  'README.md': 'readme.md',
  'SECURITY.md': 'security.md',
  'bindings-node/README.md': 'packages/node.md',
  'bindings-php/README.md': 'packages/php.md',
  'bindings-python/README.md': 'packages/python.md',
  'deploy/README.md': 'deploy.md',
  'examples/README.md': 'examples.md',
}
/**
 * What a block of code is called, where it is not the ending of its file.
 * @type {Record<string, string>}
 */
const LANGUAGES = { mjs: 'js', py: 'python', pyi: 'python', yml: 'yaml' }
const FENCE = /^( *)(`{3,})[^`]*\n[\s\S]*?^\1\2 *$/gm
const LINK = /(!?\[(?:[^[\]]|\[[^[\]]*\])*\])\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)/g

/** A page's place on the site, without its ending. @param {string} file of the repository */
function placeOf(file) {
  if (ELSEWHERE[file]) return ELSEWHERE[file]
  if (file.startsWith('docs/')) return file.slice('docs/'.length).replace(/README\.md$/, 'index.md')
  return `files/${file.replace(/\.md$/, '')}.md`
}

/** A heading's anchor, as GitHub makes it. @param {string} heading */
export const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')

/** Applies a function to the text between blocks of code. @param {string} text @param {(prose: string) => string} change */
function outsideOfCode(text, change) {
  let changed = ''
  let end = 0
  for (const block of text.matchAll(FENCE)) {
    changed += change(text.slice(end, block.index)) + block[0]
    end = block.index + block[0].length
  }
  return changed + change(text.slice(end))
}

/** @param {string} prose */
const withoutComments = (prose) => prose.replace(/<!--[\s\S]*?-->\n*/g, '')

/** The anchors of a page. @param {string} text */
function anchorsOf(text) {
  const seen = new Map()
  const anchors = new Set()
  for (const [, heading = ''] of text.replace(FENCE, '').matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = slugify(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1'))
    const times = seen.get(slug) ?? 0
    seen.set(slug, times + 1)
    anchors.add(times ? `#${slug}-${times}` : `#${slug}`)
  }
  return anchors
}

/** A page that shows a file. @param {string} file */
function shown(file) {
  const text = readFileSync(path.join(ROOT, file), 'utf8')
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)))
  const ending = path.extname(file).slice(1)
  // The colours of a long file would take seconds.
  const language = text.length > 30_000 ? 'text' : (LANGUAGES[ending] ?? ending)
  return `# ${path.basename(file)}\n\n\`${file}\`\n\n${fence}${language}\n${text.trimEnd()}\n${fence}\n`
}

/** A page that lists a folder's pages, by their headings. @param {string} folder */
function listed(folder) {
  const title = folder === 'docs/adr' ? 'Decisions' : folder
  const rows = readdirSync(path.join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `* [${titleOf(readFileSync(path.join(ROOT, folder, name), 'utf8'))}](${name})`)
  return `# ${title}\n\n${rows.join('\n')}\n`
}

/** The first heading of a page. @param {string} text */
export const titleOf = (text) => /^# (.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? ''

/** The sections of the README that a page asks for by a comment, with links as from the page. @param {string} text */
function withSections(text) {
  return text.replace(/<!-- README: (.+) -->/, (_, /** @type {string} */ names) => {
    const sections = readFileSync(path.join(ROOT, 'README.md'), 'utf8').split(/^(?=## )/m)
    const found = names.split(', ').map((name) => {
      const section = sections.find((one) => one.startsWith(`## ${name}\n`))
      if (!section) throw new Error(`the README has no section "${name}", which docs/index.md shows`)
      return section
    })
    return found.join('').replace(LINK, (_, label, link, anchor = '') => `${label}(../${link}${anchor})`)
  })
}

/**
 * The pages by their place: their file and their text, in which every link leads to another page.
 * @param {Record<string, string>} more texts of files that are pages too
 * @returns {{ pages: Map<string, { file: string, text: string }>, dead: string[] }}
 */
export function collect(more = {}) {
  const tracked = execFileSync(
    'git',
    ['ls-files', '-co', '--exclude-standard', 'docs/*.md', ...Object.keys(ELSEWHERE)],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  )
  /** @type {Map<string, { file: string, text: string }>} */
  const pages = new Map()
  /** @type {Map<string, string>} */
  const places = new Map()
  const queue = [...tracked.trim().split('\n'), ...Object.keys(more)]
  /** @type {(file: string) => string | undefined} */
  const add = (file) => {
    const full = path.join(ROOT, file)
    if (!existsSync(full) && !(file in more)) return undefined
    if (!(file in more) && statSync(full).isDirectory()) {
      if (existsSync(path.join(full, 'README.md'))) return add(path.join(file, 'README.md'))
      const place = placeOf(`${file}/README.md`)
      pages.set(place, { file: `${file}/README.md`, text: listed(file) })
      places.set(file, place)
      return place
    }
    if (!places.has(file)) {
      const place = placeOf(file)
      places.set(file, place)
      const text = more[file] ?? (file.endsWith('.md') ? readFileSync(full, 'utf8') : shown(file))
      pages.set(place, { file, text: outsideOfCode(withSections(text), withoutComments) })
      queue.push(file)
    }
    return places.get(file)
  }
  for (const file of queue) add(file)

  /** @type {string[]} */
  const dead = []
  /** @type {{ from: string, to: string, anchor: string }[]} */
  const links = []
  // Pages that a page links to are added while this runs.
  for (const [place, page] of pages) {
    page.text = outsideOfCode(page.text, (prose) =>
      prose.replace(LINK, (whole, label, link, anchor = '') => {
        const target = link ? path.normalize(path.join(path.dirname(page.file), decodeURI(link))) : page.file
        const file = target.replace(/\/$/, '')
        if (/\.(svg|png)$/.test(file)) {
          if (!existsSync(path.join(ROOT, file))) dead.push(`${page.file}: ${link}`)
          return `${label}(${path.posix.relative(path.dirname(place), file.replace(/^docs\//, '')) || file})`
        }
        const to = link ? (places.get(file) ?? add(file)) : place
        if (!to) {
          dead.push(`${page.file}: ${link}`)
          return whole
        }
        if (anchor) links.push({ from: page.file, to, anchor })
        if (!link) return `${label}(${anchor})`
        const relative = path.posix.relative(path.dirname(place), to)
        return `${label}(${relative.startsWith('.') ? relative : `./${relative}`}${anchor})`
      }),
    )
  }
  const anchors = new Map([...pages].map(([place, { text }]) => [place, anchorsOf(text)]))
  for (const { from, to, anchor } of links)
    if (!anchors.get(to)?.has(anchor)) dead.push(`${from}: ${to}${anchor}, a heading that is missing`)
  return { pages, dead }
}
