import { readFileSync } from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'vitepress'
import { tabsMarkdownPlugin } from 'vitepress-plugin-tabs'
import { INTERNALS, placeOfItem } from './navigation.mjs'
import { ROOT, slugify } from './pages.mjs'
import { languageTabs } from './tabs.mjs'

const SITE = path.join(ROOT, 'target/site')
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#3451b2"/><path d="M4 11V8m4 3V5m4 6V9" stroke="#fff" stroke-width="2"/></svg>'
// build.mjs writes it before it builds.
const sections = JSON.parse(readFileSync(path.join(SITE, 'navigation.json'), 'utf8'))

export default defineConfig({
  title: 'Quotalock',
  description: 'Rate limiter and distributed locks for PHP, Python and Node on Redis or Valkey',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  srcDir: path.relative(path.join(ROOT, 'docs'), path.join(SITE, 'pages')),
  outDir: path.join(SITE, 'html'),
  cacheDir: path.join(SITE, 'cache'),
  ignoreDeadLinks: false,
  markdown: {
    // Pages are plain Markdown: what looks like a tag in them is text.
    html: false,
    linkify: false,
    attrs: { disable: true },
    anchor: { slugify },
    toc: { slugify },
    headers: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      md.use(tabsMarkdownPlugin)
      md.use(languageTabs)
      const code = md.renderer.rules.code_inline
      md.renderer.rules.code_inline = (...all) => code(...all).replaceAll('{{', '&#123;&#123;')
    },
  },
  vite: { build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    footer: {
      message:
        '<a href="/internals/architecture.html">Architecture, decisions and contributing</a> · <a href="/llms.txt">llms.txt</a>',
      copyright: 'Apache-2.0',
    },
    search: { provider: 'local', options: { detailedView: true } },
    outline: { level: [2, 3] },
    nav: sections
      .filter(({ text }) => text !== INTERNALS)
      .map(({ text, groups }) => ({
        text,
        link: groups.flatMap(({ items }) => items)[0].link,
        activeMatch: `^/(${groups.flatMap(({ items }) => items.map(({ link }) => link.slice(1))).join('|')})(\\.html)?$`,
      })),
    // Each page shows the pages of its own section.
    sidebar: Object.fromEntries(
      sections.flatMap(({ groups }) =>
        groups.flatMap(({ items }) => items.map((item) => [`/${placeOfItem(item)}`, groups])),
      ),
    ),
  },
})
