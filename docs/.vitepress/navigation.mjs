// What is where on the site. Each page of docs is in it; the build fails and names one that is not.

import { titleOf } from './pages.mjs'

/** @typedef {{ text: string, link: string }} Item */

/**
 * The pages of each section, by their place without its ending. A place that ends with a slash stands for the other pages of a folder.
 * @type {[string, string[]][]}
 */
const SECTIONS = [
  ['Get started', ['quick-start', 'versions', 'concepts', 'guide/algorithms']],
  ['Recipes', ['recipes/']],
  ['Frameworks', ['frameworks/index', 'frameworks/', 'answering-429', 'migrating-locks']],
  [
    'Guides',
    [
      'guide/limiters',
      'guide/changing-policies',
      'guide/denials',
      'guide/limiter-internals',
      'guide/locks',
      'guide/fencing-tokens',
      'guide/semaphores',
      'guide/lock-failures',
      'guide/lock-costs',
      'guide/stock',
      'guide/stock-',
      'guide/cache',
      'guide/once',
      'guide/hooks',
      'testing',
      'examples',
    ],
  ],
  [
    'Operate',
    [
      'deployment',
      'upgrades',
      'servers',
      'failover',
      'guide/cluster',
      'when-redis-is-away',
      'scaling',
      'guide/metrics',
      'guide/alerts',
      'deploy',
      'guide/serve',
      'guide/cli',
      'guide/doctor',
      'guide/simulate',
      'troubleshooting',
    ],
  ],
  [
    'Reference',
    [
      'reference',
      'reference/',
      'reference/types',
      'policies',
      'configuration',
      'errors',
      'http-headers',
      'formats',
      'commands',
    ],
  ],
  ['About', ['promises', 'survive', 'speed', 'benchmarks', 'security', 'changelog']],
  ['Internals', ['internals/architecture', 'internals/contributing', 'packages/', 'adr/']],
]
/**
 * Shorter names, where a heading is too long for the navigation.
 * @type {Record<string, string>}
 */
const NAMES = {
  'frameworks/index': 'All frameworks',
  'recipes/index': 'All recipes',
  'adr/index': 'All decisions',
  reference: 'All verbs',
  'reference/types': 'Types',
}
/**
 * The heading above the pages of a folder that has many.
 * @type {Record<string, string>}
 */
const GROUPS = { 'adr/': 'Decisions', 'packages/': 'Packages', 'reference/': 'Verbs' }
/** The section for those who change Quotalock: readers find it at the end of the home page. */
export const INTERNALS = 'Internals'

/**
 * The sections with their pages, and the pages that are in none of them.
 * @param {Map<string, { text: string }>} pages
 */
export function navigation(pages) {
  const rest = new Set([...pages.keys()].map((place) => place.replace(/\.md$/, '')))
  /** @param {string} place */
  const item = (place) => {
    rest.delete(place)
    return {
      text: NAMES[place] ?? titleOf(pages.get(`${place}.md`)?.text ?? ''),
      link: `/${place.replace(/\bindex$/, '')}`,
    }
  }
  const named = new Set(SECTIONS.flatMap(([, places]) => places))
  /** @param {string} prefix */
  const below = (prefix) =>
    [...rest]
      .filter((place) => place.startsWith(prefix) && !named.has(place))
      // The index of a folder comes first.
      .sort((a, b) => Number(b.endsWith('/index')) - Number(a.endsWith('/index')) || a.localeCompare(b))
  const sections = SECTIONS.map(([text, places]) => {
    const first = { text, items: /** @type {Item[]} */ ([]) }
    const groups = [first]
    for (const place of places) {
      if (rest.has(place)) first.items.push(item(place))
      else if (GROUPS[place]) groups.push({ text: `${GROUPS[place]}`, items: below(place).map(item) })
      else first.items.push(...below(place).map(item))
    }
    return { text, groups }
  }).filter(({ groups }) => groups.some(({ items }) => items.length > 0))
  const outside = [...rest].filter((place) => place !== 'index' && !/^(files|readme)\b/.test(place))
  return { sections, outside }
}

/** A page's place, of an item. @param {{ link: string }} item */
export const placeOfItem = ({ link }) => `${link.replace(/\/$/, '/index').slice(1)}.md`
