// Which colours: those of the system, or those chosen here. It runs before the page is drawn, so that nothing flashes.

{
  const kept = () => {
    try {
      return localStorage.getItem('quotalock-theme') ?? 'auto'
    } catch {
      return 'auto' // A browser that keeps nothing for this page.
    }
  }
  const show = (/** @type {string} */ theme) => {
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
    else delete document.documentElement.dataset.theme
  }
  show(kept())
  document.addEventListener('DOMContentLoaded', () => {
    const choice = /** @type {HTMLSelectElement | null} */ (document.getElementById('theme'))
    if (!choice) return
    choice.value = document.documentElement.dataset.theme ?? 'auto'
    choice.addEventListener('change', () => {
      show(choice.value)
      try {
        localStorage.setItem('quotalock-theme', choice.value)
      } catch {
        // It lasts as long as the page.
      }
    })
  })
}
