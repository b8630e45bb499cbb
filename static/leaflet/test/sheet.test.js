// Where a sheet goes that a finger lets go of.
import assert from 'node:assert/strict'
import test from 'node:test'
import { stopAfter } from '../src/panels/sheet.js'

test('a sheet goes to the nearest stop, and by a flick to the next one', () => {
  const heights = [100, 400, 750]
  for (const [height, speed, want] of [
    [120, 0, 0], [260, 0, 1], [560, 0, 1], [600, 0.1, 2], // let go at rest
    [110, 1, 1], [390, 1, 1], [410, 1, 2], [740, -1, 1], [390, -1, 0], // flicked
    [750, 1, 2], [100, -1, 0], // beyond the last
  ]) assert.equal(stopAfter(height, speed, heights), want, `${height} at ${speed}`)
})

test('of stops that are as high as each other, for a short answer, the lower one counts', () => {
  assert.equal(stopAfter(210, 0, [100, 210, 210]), 1)
  assert.equal(stopAfter(110, 2, [100, 210, 210]), 1)
})
