import assert from 'node:assert/strict'
import test from 'node:test'
import { answerWith, element } from './document.js'

const api = await import('../src/server/api.js')
const { createWorkshop } = await import('../src/engine/workshop.js')
const { createCard, failure, facts, note, problem } = await import('../src/panels/card.js')

function card() {
  const root = element('section')
  return createCard(root, { onClose: () => {}, announce: () => {} })
}

const absent = /\b(false|true|undefined|null|NaN|\[object)\b/

test('a card without chips and subtitle prints neither', () => {
  const shown = card()
  shown.show({ kicker: 'Places', title: 'nonsense' }, note('Nothing.'), false, undefined, null, '')
  assert.doesNotMatch(shown.root.textContent, absent)
  assert.equal(shown.root.textContent, 'PlacesnonsenseNothing.')
  shown.show({ kicker: 'Places', title: 'nonsense', subtitle: undefined, chips: [] }, problem('No.', undefined), facts([['a', undefined]]))
  assert.doesNotMatch(shown.root.textContent, absent)
})

// What a server, or a proxy before it, may answer, and what the page says about it to a person.
const problemOf = (type, title, more = {}) => JSON.stringify({ type, title, detail: 'Set <b>lat</b> to {"a":1}.', ...more })
const answers = {
  'no connection': [new TypeError('Failed to fetch'), /cannot be reached\. Check the connection/],
  'broken off': [{ body: '{', broken: new TypeError('network error') }, /broke off\. Try again/],
  400: [{ status: 400, body: problemOf('bad-parameter', 'A parameter is not valid') }, /does not understand/],
  401: [{ status: 401, body: problemOf('key-missing', 'A key is needed') }, /--anonymous/],
  403: [{ status: 403, body: '' }, /does not allow/],
  404: [{ status: 404, body: '<html><title>404 Not Found</title>' }, /Reload the page/],
  410: [{ status: 410, body: problemOf('generation-gone', 'The generation has been removed') }, /Reload the page/],
  414: [{ status: 414, body: 'URI Too Long' }, /too long/],
  418: [{ status: 418, body: '' }, /refused.*418/],
  422: [{ status: 422, body: problemOf('search-too-wide', 'The search is too wide') }, /too much/],
  429: [{ status: 429, body: problemOf('rate-limited', 'The limit of requests is used up') }, /Ask again in a moment/],
  '429 with seconds': [{ status: 429, headers: { 'retry-after': '42' } }, /Ask again in 42 seconds/],
  '429 with minutes': [{ status: 429, headers: { 'retry-after': '1800' } }, /Ask again in 30 minutes/],
  '429 with nonsense': [{ status: 429, headers: { 'retry-after': 'soon' } }, /Ask again in a moment/],
  500: [{ status: 500, body: problemOf('internal', 'The server failed', { request_id: 'abc' }) }, /Try again.*operator/],
  '502 of a proxy': [{ status: 502, body: '<html><h1>Bad Gateway</h1>' }, /does not answer its proxy.*Try again/],
  503: [{ status: 503, body: problemOf('too-busy', 'The server is at its limit'), headers: { 'retry-after': '1' } }, /busy.*Try again in 1 second\./],
  '503 of data': [{ status: 503, body: problemOf('dataset-unavailable', 'The data set cannot be read right now') }, /cannot read these data.*Try again/],
  504: [{ status: 504, body: '' }, /Try again/],
  'malformed JSON': [{ body: '{"lat":' }, /cannot read\. Reload/],
  'HTML of a proxy': [{ body: '<!doctype html><title>Sign in</title>' }, /cannot read\. Reload/],
  'an empty answer': [{ body: '' }, /cannot read\. Reload/],
  null: [{ body: 'null' }, /cannot read\. Reload/],
  'a list': [{ body: '[]' }, /cannot read\. Reload/],
  'another object': [{ body: '{"places":5,"regions":"x"}' }, /cannot read\. Reload/],
}
// As the workshop reads a tile of places.
const { places } = createWorkshop({ newCanvas: () => ({ getContext() {} }) })
const readPlaces = async bytes => places({ key: 'x', bytes })

const questions = {
  point: () => api.point(1, 2), place: () => api.place('5'), airport: () => api.airport('ZRH'), address: () => api.address('192.0.2.1'),
  search: () => api.search('x', null), region: () => api.region('country', 'fr'), placesNearby: () => api.placesNearby({ lat: 1, lon: 2, limit: 5, featureClass: '', cursor: '' }),
  tileJSON: () => api.tileJSON(), status: () => api.status(), placeTile: () => api.placeTile({ z: 0, x: 0, y: 0 }, readPlaces),
}

for (const [name, ask] of Object.entries(questions)) {
  test(`whatever comes in the place of an answer is a sentence: ${name}`, async () => {
    for (const [what, [answer, want]] of Object.entries(answers)) {
      if (name === 'placeTile' && (what === 'an empty answer' || what.startsWith('503'))) continue // nothing there; asks again by itself
      answerWith(answer)
      const error = await ask().then(value => assert.fail(`${what}: ${JSON.stringify(value)}`), reason => reason)
      const shown = card()
      shown.show({ kicker: 'k', title: 't' }, failure(error, () => {}, 'Places'))
      const text = shown.root.textContent
      assert.match(text, want, `${name}, ${what}: ${text}`)
      assert.doesNotMatch(text, absent, what)
      assert.doesNotMatch(text, /[<>{}]|parameter|A key is needed|used up|has been removed|too wide|is at its limit|The server failed|Failed to|network error|Unexpected|JSON/, what)
      assert.match(text, /[.]( ?Try again)?$/, what)
    }
  })
}

test('what is not published is told calmly', async () => {
  answerWith({ status: 404, body: problemOf('dataset-missing', 'The data set is not published on this server') })
  const error = await api.address('192.0.2.1').catch(reason => reason)
  const shown = failure(error, () => {}, 'IP addresses')
  assert.equal(shown.className, 'note')
  assert.match(shown.textContent, /^IP addresses are not published on this server\.Its operator can add them/)
})

test('a mistake of the page itself is a sentence too', () => {
  const text = failure(new TypeError('Cannot read properties of null'), () => {}).textContent
  assert.match(text, /Reload the page/)
  assert.doesNotMatch(text, /properties/)
})

test('a question that was given up is no failure', async () => {
  answerWith({ body: '{}' })
  const given = new AbortController()
  given.abort()
  const error = await api.point(1, 2, { signal: given.signal }).catch(reason => reason)
  assert.equal(error.name, 'AbortError')
})
