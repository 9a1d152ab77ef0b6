new EventSource('/api/events').addEventListener('state', (event) => {
  document.getElementById('state').textContent = JSON.stringify(JSON.parse(event.data), null, 2);
});
