// The folders of the page's sources, from what knows nothing to what knows the others. Each imports only those before it.
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'

const src = fileURLToPath(new URL('../src', import.meta.url))
const folders = ['words', 'server', 'engine', 'map', 'panels', 'docs']
// Of the files beside the folders these are for all of them; the others wire a page.
const forAll = ['dom.js', 'hash.js', 'kept.js', 'theme.js', 'tokens.js']

test('a folder imports only those before it', async () => {
  for (const name of (await readdir(src, { recursive: true })).filter(name => name.endsWith('.js'))) {
    const folder = path.dirname(name)
    if (folder === '.' && !forAll.includes(name)) continue
    for (const [, target] of (await readFile(path.join(src, name), 'utf8')).matchAll(/\bfrom '(\.[^']+)'/g)) {
      const found = path.relative(src, path.resolve(src, folder, target))
      const before = folder === '.' ? ['words'] : folders.slice(0, folders.indexOf(folder) + 1)
      assert.ok(forAll.includes(found) || ['tokens.json', 'names.json'].includes(found) || before.includes(path.dirname(found)), `${name} imports ${found}`)
    }
  }
})
