// The words of the page in its languages: every sentence that the sources have, and no other.
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import test from 'node:test'
import { SPOKEN, spoken, t, translate } from '../src/words/words.js'

const src = new URL('../src/', import.meta.url)
const said = new Set()
for (const name of (await readdir(src, { recursive: true })).filter(name => /\.(js|html)$/.test(name))) {
  const text = await readFile(new URL(name, src), 'utf8')
  if (name.endsWith('.js')) {
    for (const [, words] of text.matchAll(/\bt\('((?:[^'\\]|\\.)+)'/g)) said.add(words)
    continue
  }
  for (const [tag, names] of text.matchAll(/<[a-z]\w*[^>]*data-words="([^"]+)"[^>]*>/g)) {
    for (const attribute of names.split(' ').filter(one => one !== 'text')) {
      said.add(tag.match(new RegExp(`\\s${attribute}="([^"]+)"`))[1].replace(/\s+/g, ' '))
    }
    if (names.includes('text')) said.add(text.slice(text.indexOf(tag) + tag.length).split('<')[0].trim())
  }
}

const slots = text => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort().join()

test('the page says something', () => assert.ok(said.size > 150, `${said.size} sentences`))

for (const code of Object.keys(SPOKEN).filter(code => code !== 'en')) {
  test(`the words in ${code}`, async () => {
    const words = JSON.parse(await readFile(new URL(`words/${code}.json`, src), 'utf8'))
    assert.deepEqual([...said].filter(english => !Object.hasOwn(words, english)), [], 'not translated')
    assert.deepEqual(Object.keys(words).filter(english => !said.has(english)), [], 'said nowhere')
    const categories = new Intl.PluralRules(code).resolvedOptions().pluralCategories
    for (const [english, word] of Object.entries(words)) {
      const forms = typeof word === 'string' ? { other: word } : word
      assert.ok(forms.other, `${english} has the form "other"`)
      for (const [category, text] of Object.entries(forms)) {
        assert.ok(typeof text === 'string' && text.trim() !== '', english)
        assert.ok(categories.includes(category), `${english}: ${code} has no plural "${category}"`)
        if (category === 'other') assert.equal(slots(text), slots(english), english)
      }
    }
  })
}

test('the language is the one chosen, else the first that the page speaks', () => {
  for (const [preferred, chosen, want] of [
    [['de-CH', 'fr'], '', 'de'], [['sv', 'pt-BR'], '', 'pt'], [['sv'], '', 'en'], [['zh-Hant-TW'], '', 'zh'], [['de'], 'ja', 'ja'],
    [['de'], 'tlh', 'de'], [[], '', 'en'], [['constructor'], '', 'en'],
  ]) assert.equal(spoken(preferred, chosen), want)
})

test('values stand in their places, whatever they contain', () => {
  assert.equal(t('{count} points', { count: 1 }), '1 point')
  assert.equal(t('{count} points', { count: 12345 }), '12,345 points')
  assert.equal(t('{use}: nowhere', { use: '{use} $& <b>' }), '{use} $& <b>: nowhere')
  assert.equal(t('{use}: nowhere'), '{use}: nowhere')
  assert.equal(t('constructor'), 'constructor')
})

test('markup is put in the language of the page', () => {
  const node = { dataset: { words: 'text aria-label' }, textContent: '  Layers\n ', attributes: { 'aria-label': 'Search' },
    getAttribute(name) { return this.attributes[name] }, setAttribute(name, value) { this.attributes[name] = value } }
  const root = { querySelectorAll: () => [node] }
  translate(root)
  assert.deepEqual([root.lang, root.dir, node.textContent, node.attributes['aria-label']], ['en', 'ltr', 'Layers', 'Search'])
})
