import assert from 'node:assert/strict'
import test from 'node:test'
import { roomAround } from '../src/engine/room.js'

const ring = (...numbers) => numbers.flatMap((x, i) => i % 2 === 0 ? [{ x, y: numbers[i + 1] }] : [])
const box = (left, top, right, bottom) => ring(left, top, right, top, right, bottom, left, bottom)

test('room reaches to the nearer border on either side, in row and column', () => {
  assert.deepEqual(roomAround({ x: 30, y: 50 }, [box(20, 10, 90, 70)], 100), { across: 20, down: 40 })
  assert.deepEqual(roomAround({ x: 30, y: 50 }, [box(20, 10, 90, 70), box(35, 45, 60, 55)], 100), { across: 10, down: 40 }, 'a hole is a border')
  assert.deepEqual(roomAround({ x: 30, y: 50 }, [box(20, 10, 90, 70), box(25, 80, 35, 90)], 100), { across: 20, down: 40 }, 'another part is farther')
})

test('a side that runs out of the tile is open', () => {
  assert.deepEqual(roomAround({ x: 95, y: 50 }, [box(60, -6, 106, 106)], 100), { across: 70, down: Infinity })
  assert.deepEqual(roomAround({ x: 50, y: 50 }, [box(-6, -6, 106, 106)], 100), { across: Infinity, down: Infinity })
})

test('outside there is none', () => {
  assert.deepEqual(roomAround({ x: 5, y: 50 }, [box(20, 10, 90, 70)], 100), { across: 0, down: 0 })
  assert.deepEqual(roomAround({ x: 40, y: 50 }, [box(20, 10, 90, 70), box(35, 45, 60, 55)], 100), { across: 0, down: 0 }, 'in a hole')
  assert.deepEqual(roomAround({ x: 40, y: 50 }, [], 100), { across: 0, down: 0 })
})

test('corners in the row of the point count once', () => {
  const diamond = ring(50, 0, 100, 50, 50, 100, 0, 50)
  assert.deepEqual(roomAround({ x: 50, y: 50 }, [diamond], 100), { across: 100, down: 100 })
})
