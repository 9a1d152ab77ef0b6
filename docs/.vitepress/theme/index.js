import { enhanceAppWithTabs } from 'vitepress-plugin-tabs/client'
import DefaultTheme from 'vitepress/theme'
import { h } from 'vue'
import CopyMarkdown from './CopyMarkdown.vue'
import './style.css'

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'doc-before': () => h(CopyMarkdown) }),
  enhanceApp({ app }) {
    enhanceAppWithTabs(app)
  },
}
