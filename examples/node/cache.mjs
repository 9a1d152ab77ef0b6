// A cache that never stampedes, and what is done once. Redis: QUOTALOCK_URL.
import { Client, LoadFailedError } from 'quotalock'

const client = new Client()

// Fresh for a minute; then served for ten more while one process, out of all, loads a new one.
const pages = client.cache('pages', { freshMs: 60_000, staleMs: 600_000 })
const load = async () => {
  console.log('loading')
  return '<h1>Home</h1>'
}
const crowd = await Promise.all(Array.from({ length: 50 }, () => pages.get('home', load)))
console.log(crowd.length, 'times', String(crowd[0]))

// What has changed is forgotten, and not overwritten by who began to load before.
await pages.invalidate('home')
console.log((await pages.peek('home')) === null ? 'forgotten' : 'still there')

// Several at once: one look, and one call for all that is missing. What is left out has no value.
const prices = await client.cache('prices').getMany(['sku:1', 'sku:2', 'sku:3'], (missing) => {
  console.log('asking for', missing.join(', '))
  return { 'sku:1': '9.90', 'sku:3': '4.50' }
})
console.log([...prices].map(([sku, price]) => `${sku} ${price}`).join(', '))

// Whatever JSON can say.
const user = await client.cache('users').getJson('7', async () => ({ name: 'Ada', roles: ['admin'] }))
console.log(user.name)

// What a loader throws gets out; for a second, others are told at once instead of trying too.
const broken = () => Promise.reject(new Error('no database'))
await pages.get('down', broken).catch(({ message }) => console.log(message))
await pages.get('down', load).catch((error) => console.log(error instanceof LoadFailedError, error.code))

// Once: a webhook that comes twice is worked on once, and both get the same answer.
const payments = client.once('payments')
const pay = () => {
  console.log('paying')
  return 'receipt 17'
}
for (const receipt of await Promise.all([payments.run('event 17', pay), payments.run('event 17', pay)])) {
  console.log(String(receipt))
}

// Or as a claim: who is the first?
const coupons = client.once('coupons')
for (const who of ['user:1', 'user:2']) {
  const { first, value } = await coupons.claim('WELCOME', who)
  console.log(first ? `${who} has it` : `${value} was first`)
}
