import assert from 'node:assert/strict'
import test from 'node:test'
import { project, regionZoomOf, tileZoomOf } from '../src/engine/tilegrid.js'
import { glide, wheelSteps } from '../src/map/zooming.js'

test('a notch of the wheel is half a zoom, whatever it is counted in', () => {
  assert.equal(wheelSteps({ deltaY: -120 }), 0.5)
  assert.equal(wheelSteps({ deltaY: 120 }), -0.5)
  assert.equal(wheelSteps({ deltaY: -3, deltaMode: 1 }), 0.2)
  assert.equal(wheelSteps({ deltaY: 1, deltaMode: 2 }), -1)
  for (const deltaY of [0, NaN, Infinity, undefined]) assert.equal(wheelSteps({ deltaY }) + 0, 0)
})

test('a pinch zooms by its own scale', () => {
  // Browsers send -100 ln(scale): fingers twice as far apart are one zoom, in however many events.
  const deltaY = -100 * Math.log(2) / 20
  assert.ok(Math.abs(20 * wheelSteps({ deltaY, ctrlKey: true }) - 1) < 1e-9)
  assert.equal(wheelSteps({ deltaY: -120, ctrlKey: true }), 0.5, 'a wheel with the Ctrl key is a wheel')
})

test('gliding ends on the goal, never passes it, and does not hang on the frame rate', () => {
  for (const [from, goal, ms] of [[3, 4.5, 16], [4.5, 3, 8], [10, 10.01, 100], [2, 18, 1000], [5, 6, 0]]) {
    let zoom = from
    let frames = 0
    while (zoom !== goal) {
      const next = glide(zoom, goal, ms)
      assert.ok(Math.abs(goal - next) < Math.abs(goal - zoom) && (goal - next) * (goal - from) >= 0, `${from} to ${goal}: ${zoom} to ${next}`)
      zoom = next
      assert.ok(++frames < 2000)
    }
  }
  const [slow, fast] = [glide(0, 1, 32), glide(glide(0, 1, 16), 1, 16)]
  assert.ok(Math.abs(slow - fast) < 1e-9)
  assert.ok(glide(0, 1, 16, true) > glide(0, 1, 16), 'fingers are followed more closely')
})

test('tiles are of whole zooms, next to the map\'s', () => {
  assert.deepEqual([0, 4.99, 4.9995, 5, 5.5].map(tileZoomOf), [0, 4, 5, 5, 5])
  assert.deepEqual([0, 1, 1.49, 1.5, 5, 5.5, 17.6].map(regionZoomOf), [0, 0, 0, 1, 4, 5, 17])
  for (let zoom = 1; zoom <= 18; zoom += 0.01) {
    const side = 256 * 2 ** (zoom - regionZoomOf(zoom))
    assert.ok(side >= 362 && side <= 725, `${side} pixels at ${zoom}`)
  }
})

test('points of the world in pixels', () => {
  assert.deepEqual(project(0, -180, 0), { x: 0, y: 128 })
  const { x, y } = project(-90, 540, 2.5)
  assert.ok(Math.abs(x - 2 * 256 * 2 ** 2.5) < 1e-6 && Math.abs(y - 256 * 2 ** 2.5) < 1e-6)
})
