// The requests of the description of the interface, and the same as programs.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import test from 'node:test'
import { promisify } from 'node:util'
import './document.js'

const { ask } = await import('../src/docs/answer.js')
const { addressOf, operationsOf, valuesOf } = await import('../src/docs/openapi.js')
const { languages } = await import('../src/docs/snippets.js')

const description = {
  paths: {
    '/tiles/{z}.png': { get: { parameters: [
      { name: 'z', in: 'path', required: true, schema: { type: 'integer' }, example: 3 },
      { $ref: '#/components/parameters/theme' }, { name: 'X-Other', in: 'header' }, { $ref: '#/components/parameters/none' },
      { name: 'kinds', in: 'query', schema: { type: 'array', items: { enum: ['a', 'b'] } }, example: ['a', 'b'] },
    ] }, head: {} },
    '/at': { post: { requestBody: { content: { 'application/x-ndjson': {} } } } },
  },
  components: { parameters: { theme: { name: 'theme', in: 'query', description: 'The `theme`.', schema: { enum: ['light', 'dark'], default: 'light' } } } },
}

test('fields of an OpenAPI document', () => {
  const operations = operationsOf(description)
  assert.deepEqual([...operations.keys()], ['GET /tiles/{z}.png', 'POST /at'])
  const { parameters } = operations.get('GET /tiles/{z}.png')
  assert.deepEqual(parameters.map(({ name, required, choices, many, example }) => [name, required, choices, many, example]), [
    ['z', true, [], false, '3'], ['theme', false, ['light', 'dark'], false, 'light'], ['kinds', false, ['a', 'b'], true, 'a,b'],
  ])
  assert.equal(operations.get('POST /at').bodyType, 'application/x-ndjson')
  assert.equal(operationsOf(null).size, 0)
})

test('values of a request and the request of values', () => {
  const path = '/tiles/{layers}/{z}@2x.png'
  const values = valuesOf('/tiles/country,points%3Ashops/3@2x.png?theme=dark', path)
  assert.deepEqual(Object.fromEntries(values), { layers: 'country,points:shops', z: '3', theme: 'dark' })
  const parameters = [{ name: 'layers', in: 'path' }, { name: 'z', in: 'path' }, { name: 'theme', in: 'query' }, { name: 'q', in: 'query' }]
  assert.equal(addressOf(path, parameters, values), 'tiles/country,points:shops/3@2x.png?theme=dark')
  assert.equal(addressOf('/a/{x}', [{ name: 'x', in: 'path' }, { name: 'q', in: 'query' }], new Map([['x', '../b?c#d'], ['q', 'a&b=c d']])), 'a/..%2Fb%3Fc%23d?q=a%26b%3Dc%20d')
  assert.equal(valuesOf('/other', path).size, 0)
})

test('parameters of any name are written as a query', () => {
  const { parameters } = operationsOf({ paths: { '/points': { get: { parameters: [
    { name: 'lat', in: 'query', schema: { type: 'number' } },
    { name: 'filters', in: 'query', schema: { type: 'object' }, example: { category: 'cafe' } },
  ] } } } }).get('GET /points')
  assert.deepEqual(parameters.map(({ free, example }) => [free, example]), [[false, ''], [true, 'category=cafe']])
  const values = valuesOf('/points?lat=1&category=cafe,bar&-closed=a%26b', '/points', parameters)
  assert.equal(values.get('filters'), 'category=cafe,bar&-closed=a%26b')
  assert.equal(addressOf('/points', parameters, values), 'points?lat=1&category=cafe,bar&-closed=a%26b')
})

// Each program is run as it is pasted, against a server that tells what reached it.
test('programs send what the form says', async t => {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => { body += chunk })
    request.on('end', () => response.end(JSON.stringify([request.method, request.url, body, request.headers['x-api-key'] ?? '', body && request.headers['content-type']])))
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const at = `http://127.0.0.1:${server.address().port}`
  const body = `@{"name":"it's \\"Zürich\\" $HOME \`x\` \\\\ \u2028"}\n{"lat":1}\n`
  const requests = [
    { method: 'GET', url: `${at}/at?lat=1&q=a%27b%20$HOME`, body: '', type: '', key: '' },
    { method: 'POST', url: `${at}/at`, body, type: 'application/x-ndjson', key: "k'ey" },
    { method: 'DELETE', url: `${at}/points/x`, body: '', type: '', key: 'k' },
    { method: 'PUT', url: `${at}/points/x`, body, type: 'application/json', key: '' },
  ]
  const run = promisify(execFile)
  const programs = new Map([
    ['curl', text => run('bash', ['-c', text.replace(/^curl/, 'curl -s')])],
    ['JavaScript', text => run(process.execPath, ['--input-type=module', '-e', text])],
    ['Python', text => run('python3', ['-c', text])],
  ])
  for (const [language, start] of programs) {
    await t.test(language, async t => {
      for (const request of requests) {
        let out
        try {
          out = await start(languages.get(language)(request))
        } catch (error) {
          if (error.code === 'ENOENT' || error.code === 127) return t.skip(`${language} is not installed`)
          throw error
        }
        const sent = [request.method, request.url.slice(at.length), request.body, request.key, request.body && request.type]
        assert.deepEqual(JSON.parse(out.stdout), sent, `${language} ${request.method}`)
      }
    })
  }
})

test('an answer says how it went, and is bounded', async () => {
  const answer = (body, type, status = 200) => { globalThis.fetch = async () => new Response(body, { status, headers: { 'content-type': type } }) }
  answer('{"a":[1]}', 'application/problem+json', 404)
  const problem = await ask({ method: 'GET', url: 'http://x/' })
  assert.equal(problem.status, 404)
  assert.equal(problem.text, '{\n  "a": [\n    1\n  ]\n}')
  assert.deepEqual(problem.figures.slice(1), ['9 B', 'application/problem+json'])
  answer('{"a":1}\n{"b":2}', 'application/x-ndjson')
  assert.equal((await ask({ method: 'GET', url: 'http://x/' })).text, '{"a":1}\n{"b":2}')
  answer(new Uint8Array(1200), 'application/vnd.mapbox-vector-tile')
  assert.equal((await ask({ method: 'GET', url: 'http://x/' })).text, '1.2 kB of application/vnd.mapbox-vector-tile')
  answer('x'.repeat(3e6), 'text/plain')
  const long = await ask({ method: 'GET', url: 'http://x/' })
  assert.match(long.text, /… .* more$/)
  assert.ok(long.text.length < 41_000)
  answer('', 'text/plain')
  assert.equal((await ask({ method: 'GET', url: 'http://x/' })).text, '(empty)')
  answer(new Uint8Array(10), 'image/png')
  assert.equal((await ask({ method: 'GET', url: 'http://x/' })).image.size, 10)
  globalThis.fetch = async () => { throw new TypeError('no network') }
  assert.match((await ask({ method: 'GET', url: 'http://x/' })).text, /cannot be reached: no network/)
})
