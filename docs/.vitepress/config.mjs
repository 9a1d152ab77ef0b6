import { readFileSync } from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'vitepress'
import { tabsMarkdownPlugin } from 'vitepress-plugin-tabs'
import { ROOT, slugify } from './pages.mjs'
import { languageTabs } from './tabs.mjs'

const SITE = path.join(ROOT, 'target/site')
const first = (sidebar, name) => sidebar.find(({ text }) => text === name)?.items[0].link
// build.mjs writes it before it builds.
const sidebar = JSON.parse(readFileSync(path.join(SITE, 'navigation.json'), 'utf8'))

export default defineConfig({
  title: 'Quotalock',
  description: 'Rate limiter and distributed locks for PHP, Python and Node on Redis or Valkey',
  lang: 'en',
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
    search: { provider: 'local', options: { detailedView: true } },
    outline: { level: [2, 3] },
    nav: ['Get started', 'Frameworks', 'Recipes', 'Guides', 'Operate', 'Reference', 'About']
      .map((text) => ({ text, link: first(sidebar, text) }))
      .filter(({ link }) => link),
    sidebar,
  },
})
