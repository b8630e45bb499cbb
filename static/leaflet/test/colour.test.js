import assert from 'node:assert/strict'
import test from 'node:test'
import { hash, regionColour } from '../src/colour.js'

const palette = { lightness: 0.93, chroma: 0.04, step: 0.02, cast: [0, 0] }

test('a region keeps its colour', () => {
  assert.equal(hash(''), hash(''))
  assert.equal(regionColour('ch', palette), regionColour('ch', palette))
  assert.match(regionColour('ch', palette), /^oklab\(0\.\d+ -?0\.\d+ -?0\.\d+\)$/)
})

test('ids that differ little spread over the whole palette evenly', () => {
  const counts = new Map()
  for (let fips = 1001; fips < 57000; fips += 2) {
    const colour = regionColour(String(fips).padStart(5, '0'), palette)
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  const mean = [...counts.values()].reduce((a, b) => a + b) / counts.size
  assert.equal(counts.size, 27)
  for (const count of counts.values()) assert.ok(Math.abs(count - mean) < mean / 4, `${count} of ${mean}`)
})
