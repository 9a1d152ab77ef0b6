import DefaultTheme from 'vitepress/theme'
import { enhanceAppWithTabs } from 'vitepress-plugin-tabs/client'
import { h } from 'vue'
import CopyMarkdown from './CopyMarkdown.vue'
import LanguageSwitch from './LanguageSwitch.vue'
import './style.css'

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'doc-before': () => h(CopyMarkdown),
      'nav-bar-content-after': () => h(LanguageSwitch),
      'nav-screen-content-after': () => h(LanguageSwitch),
    }),
  enhanceApp({ app }) {
    enhanceAppWithTabs(app)
  },
}
