// The line that says what could not be shown.
import './document.js'
import assert from 'node:assert/strict'
import test from 'node:test'
import { element } from './document.js'

const { createNotice } = await import('../src/map/notice.js')

test('the latest message shows, and the others wait beneath it', () => {
  const root = element('div')
  const notice = createNotice(root)
  const tried = []
  const show = (subject, message) => notice.show(subject, message, () => tried.push(subject))
  show('regions', 'No land.')
  show('places', 'No names.')
  show('regions', 'No land at all.')
  assert.match(root.textContent, /^No land at all\./)
  notice.settle('regions')
  assert.match(root.textContent, /^No names\./)
  notice.settle('regions')
  assert.equal(root.hidden, false)
  show('connection', 'Offline.')
  root.all.find(one => one.tagName === 'button').listeners.click()
  assert.deepEqual(tried, ['places', 'connection'])
  assert.equal(root.hidden, true)
  assert.equal(root.textContent, '')
})
