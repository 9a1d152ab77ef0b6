document.querySelector('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const token = new FormData(event.target).get('token');
  const answer = await fetch('/login', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }) });
  if (answer.ok) location.assign('/');
});
