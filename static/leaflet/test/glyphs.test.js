import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import test from 'node:test'

const src = new URL('../src/', import.meta.url)

// Arrows, enclosed letters, symbols, dingbats and emoji are boxes where no font has them: they are drawn as SVG. The minus sign is in every font.
test('no sign of the page needs a font of signs', async () => {
  for (const name of (await readdir(src, { recursive: true })).filter(name => /\.(js|css|html|svg)$/.test(name))) {
    const text = (await readFile(new URL(name, src), 'utf8')).replace(/^\s*(\/\/|\*|\/\*).*$/gm, '').replace(/\/\/ .*$/gm, '')
    assert.deepEqual(text.match(/[\u2100-\u2211\u2213-\u2BFF\u3000-\u303F\uE000-\uF8FF\uFE0F\u{1F000}-\u{1FFFF}]/gu), null, name)
  }
})

// An element takes what el() and fill() let through; anything else prints "false" where there is nothing.
test('elements are filled in one place', async () => {
  for (const name of await readdir(src, { recursive: true })) {
    if (!name.endsWith('.js') || name === 'dom.js') continue
    const text = await readFile(new URL(name, src), 'utf8')
    assert.deepEqual(text.match(/.*replaceChildren\([^)].*/g), null, name)
  }
})
