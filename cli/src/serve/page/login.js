// The door: a token against a session.

const form = /** @type {HTMLFormElement} */ (document.getElementById('login'))
const token = /** @type {HTMLInputElement} */ (document.getElementById('token'))
const error = /** @type {HTMLElement} */ (document.getElementById('login-error'))
const button = /** @type {HTMLButtonElement} */ (form.querySelector('button'))

/** What is wrong, for a person; nothing if they are in. */
async function enter() {
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch('/login', { method: 'POST', headers, body: JSON.stringify({ token: token.value.trim() }) })
  if (answer.ok) return null
  const problem = await answer.json().catch(() => null)
  return typeof problem?.message === 'string' ? problem.message : `The server answered ${answer.status}.`
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  button.disabled = true
  const wrong = await enter().catch(() => 'quotalock serve does not answer. Is it still running?')
  button.disabled = false
  if (wrong === null) return location.replace('/')
  error.textContent = wrong
  token.setAttribute('aria-invalid', 'true')
  token.select()
})
