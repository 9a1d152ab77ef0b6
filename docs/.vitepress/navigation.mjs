// What is where on the site. Each page of docs is in it; the build fails and names one that is not.

import { titleOf } from './pages.mjs'

/** The pages of each section: a place without its ending, with the name in the navigation where the heading is longer. */
const SECTIONS = [
  [
    'Get started',
    ['quick-start', 'versions', 'concepts', 'guide/choose-an-algorithm', 'guide/algorithms'],
  ],
  ['Recipes', ['recipes/']],
  ['Frameworks', ['frameworks/index', 'frameworks/', 'answering-429', 'migrating-locks']],
  [
    'Guides',
    ['guide/limiters', 'guide/changing-policies', 'guide/denials', 'guide/locks', 'guide/locks-', 'guide/stock', 'guide/stock-', 'guide/cache', 'guide/once', 'guide/hooks', 'testing', 'examples'],
  ],
  [
    'Operate',
    ['deployment', 'servers', 'configuration', 'guide/cluster', 'when-redis-is-away', 'scaling', 'guide/metrics', 'guide/alerts', 'deploy', 'guide/serve', 'guide/cli', 'guide/doctor', 'guide/simulate', 'troubleshooting'],
  ],
  [
    'Reference',
    ['reference', 'reference/', 'reference/types', 'policies', 'settings', 'errors', 'http-headers', 'commands'],
  ],
  ['About', ['promises', 'survive', 'speed', 'benchmarks', 'security', 'changelog']],
]
/** Shorter names, where a heading is too long for the navigation. */
const NAMES = {
  'frameworks/index': 'All frameworks',
  'recipes/index': 'All recipes',
  reference: 'All verbs',
  'reference/types': 'Types',
}
/** Sections of the navigation whose lists are long. */
const CLOSED = new Set(['reference/'])

/**
 * The side bar, and the pages that are in none of its sections.
 * @param {Map<string, { text: string }>} pages
 */
export function navigation(pages) {
  const rest = new Set([...pages.keys()].map((place) => place.replace(/\.md$/, '')))
  const item = (place) => {
    rest.delete(place)
    return { text: NAMES[place] ?? titleOf(pages.get(`${place}.md`).text), link: `/${place.replace(/\bindex$/, '')}` }
  }
  const named = new Set(SECTIONS.flatMap(([, places]) => places))
  const below = (prefix) =>
    [...rest].filter((place) => place.startsWith(prefix) && !named.has(place)).sort((a, b) => a.localeCompare(b))
  const sidebar = SECTIONS.map(([text, places]) => ({
    text,
    collapsed: false,
    items: places.flatMap((place) => {
      if (rest.has(place)) return [item(place)]
      // The index of a folder comes first.
      const found = below(place).sort((a, b) => Number(b.endsWith('/index')) - Number(a.endsWith('/index')))
      if (!CLOSED.has(place)) return found.map(item)
      return [{ text: 'Verbs', collapsed: true, items: found.map(item) }]
    }),
  })).filter(({ items }) => items.length > 0)
  const outside = [...rest].filter((place) => place !== 'index' && !/^(adr|files|internals|packages|readme)\b/.test(place))
  return { sidebar, outside }
}
