import assert from 'node:assert/strict'
import test from 'node:test'
import { displayText } from '../src/words/text.js'
import { arrange, importance, placeOf, tier, worthShowing } from '../src/engine/labels.js'

const measure = name => ({ width: 7 * name.length, height: 14 })
const types = [{ type: 'country', role: 'land' }, { type: 'state', role: 'land' }, { type: 'lake', role: 'water' }]

// A seeded generator, so that a failure repeats.
function random(seed) {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return seed / 2 ** 32
  }
}

const shuffle = (list, next) => list.map(item => [next(), item]).sort(([a], [b]) => a - b).map(([, item]) => item)

test('names never overlap each other nor another place\'s dot, whatever the order of the input', () => {
  const next = random(7)
  for (let round = 0; round < 20; round++) {
    const places = Array.from({ length: 150 }, (_, i) => ({
      id: String(i), name: 'x'.repeat(3 + Math.floor(next() * 12)), x: next() * 600, y: next() * 400,
      code: next() < 0.05 ? 'PPLC' : 'PPL', population: Math.floor(10 ** (next() * 7)),
    }))
    const regions = Array.from({ length: 40 }, (_, i) => ({
      id: `r${i}`, name: ['Land', 'United Territories', 'Sea of Something'][i % 3], x: next() * 600, y: next() * 400, rank: i,
      across: next() < 0.1 ? Infinity : next() * 250, down: next() * 100, type: types[Math.floor(next() * 3)],
    }))
    const obstacles = [{ left: 250, top: 100, right: 330, bottom: 180 }]
    const arranged = arrange(places, regions, measure, { obstacles })
    const boxes = arranged.filter(({ lines }) => lines.length > 0).map(({ box }) => box)
    assert.ok(boxes.length > 13)
    const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top
    boxes.forEach((a, i) => [...boxes.slice(i + 1), ...obstacles].forEach(b => assert.ok(apart(a, b), 'two names overlap, or one what lies over the map')))
    for (const { dot, box: own } of arranged) {
      if (dot) assert.ok(boxes.every(box => box === own || dot.x < box.left || dot.x > box.right || dot.y < box.top || dot.y > box.bottom), 'a name covers a dot')
    }
    for (const { region, box: { left, right, top, bottom } } of arranged.filter(({ region }) => region)) {
      assert.ok(Math.abs((left + right) / 2 - region.x) < 1e-9 && Math.abs((top + bottom) / 2 - region.y) <= Math.max(region.down / 2, 40), 'a name left its region')
    }
    assert.deepEqual(arrange(shuffle(places, next), shuffle(regions, next), measure, { obstacles }), arranged)
  }
})

const split = arranged => ({
  places: arranged.filter(({ place }) => place).map(({ place, look, lines, dot, box }) => ({ place, tier: look, side: lines.length === 0 ? 'none' : box.left > dot.x ? 'right' : box.right < dot.x ? 'left' : 'middle' })),
  regions: arranged.filter(({ region }) => region).map(({ region, look, box: { left, right, top, bottom } }) => ({ region, look, x: (left + right) / 2, y: (top + bottom) / 2 })),
})

test('the important place wins, and the neighbour steps aside', () => {
  const { places: [first, second] } = split(arrange([
    { id: 'town', name: 'Smallville', x: 80, y: 112, population: 900 },
    { id: 'seat', name: 'Seat', x: 100, y: 112, code: 'PPLC', population: 200_000 },
  ], [], measure))
  assert.deepEqual([first.place.id, first.tier, first.side], ['seat', 'capital', 'right'])
  assert.deepEqual([second.place.id, second.side], ['town', 'left'])
})

test('a name that is pointed at stays, whatever else there is room for now', () => {
  const town = { id: 'town', name: 'Smallville', x: 100, y: 100, population: 9_000 }
  const country = { id: 'land', name: 'Land', x: 100, y: 100, rank: 1, across: 200, down: 20, type: types[0] }
  const near = { id: 'near', name: 'Nearer', x: 103, y: 100, population: 90_000 }
  const shown = first => arrange([town, near], [country], measure, { zoom: 7, first }).map(({ id }) => id)
  assert.ok(!shown().includes('town'), 'it has no room otherwise')
  assert.ok(shown('town').includes('town'))
  assert.deepEqual(shown('elsewhere'), shown())
})

test('a country\'s name goes first, steps aside for a city, and leaves towns out', () => {
  const country = { id: 'c', name: 'Country', x: 200, y: 100, across: 300, down: 80, rank: 3, type: types[0] }
  const city = { id: 'city', name: 'City', x: 200, y: 100, population: 400_000 }
  const beside = split(arrange([city], [country], measure))
  assert.deepEqual(beside.places.map(({ place }) => place.id), ['city'])
  assert.equal(beside.regions[0].y, 86)
  const over = split(arrange([{ ...city, population: 20 }], [country], measure))
  assert.deepEqual([over.places.length, over.regions[0].y], [0, 100])
  const low = { ...country, down: 30 }
  assert.equal(split(arrange([city], [low], measure)).regions[0].y, 100, 'for a city a small country\'s name stays')
  assert.equal(split(arrange([{ ...city, population: 9_000_000 }], [low], measure)).regions[0].y, 85, 'for one of the world\'s greatest it steps out')
  assert.equal(split(arrange([{ ...city, population: 9_000_000 }], [{ ...country, down: 15 }], measure)).regions.length, 0, 'but not with its middle')
  const aside = split(arrange([{ id: 'l', name: 'Large', x: 100, y: 100, population: 9e6 }, { id: 'p', name: 'P', x: 125, y: 100, population: 4e6 }], [], measure))
  assert.deepEqual(aside.places.map(({ side }) => side), ['left', 'right'], 'a city\'s name leaves its neighbour\'s dot free')
  const seat = { id: 'seat', name: 'Seat', x: 200, y: 120, code: 'PPLC', population: 300_000 }
  const lesser = { id: 'lesser', name: 'Lesser', x: 200, y: 79, population: 100_000 }
  const between = split(arrange([city, seat, lesser], [country], measure))
  assert.deepEqual([between.places.map(({ place }) => place.id), between.regions[0].y], [['seat', 'city'], 86], 'the least city goes')
})

test('a country without room is named from zoom 4, after the capitals and where it covers no city', () => {
  const country = { id: 'c', name: 'Luxembourg', x: 200, y: 100, across: 20, down: 25, rank: 3, type: types[0] }
  const seat = { id: 'seat', name: 'Seat', x: 200, y: 100, code: 'PPLC', population: 230_000 }
  const at = (places, zoom) => split(arrange(places, [country], measure, { zoom }))
  assert.equal(at([seat], 3).regions.length, 0)
  const named = at([seat], 4)
  assert.deepEqual([named.places.length, Math.abs(named.regions[0].y - 100)], [1, 21])
  const crowd = [0, 14, -14, 21, -21].map((y, i) => ({ id: `p${i}`, name: 'P', x: 200, y: 100 + y, population: 500_000 }))
  assert.equal(at(crowd, 4).regions.length, 0)
})

test('of many cities in one the dominant is named, and its neighbours kilometres away are not', () => {
  const city = { id: 'city', name: 'C', x: 200, y: 100, lat: 51.5, lon: 0, population: 8_900_000 }
  const at = (other, zoom = 9) => split(arrange([city, { id: 'o', name: 'O', x: 224, y: 100, lat: 51.5, lon: 0.2, ...other }], [], measure, { zoom })).places.length
  assert.equal(at({ population: 300_000 }), 1, '14 km away')
  assert.equal(at({ population: 300_000, x: 240 }), 2, 'but further on the map')
  assert.equal(at({ population: 300_000, lon: 0.4 }), 2, '28 km away')
  assert.equal(at({ population: 3_900_000 }), 2, 'half as large')
  assert.equal(at({ population: 300_000, code: 'PPLC' }), 2, 'a capital')
  assert.equal(at({ population: 300_000 }, 11), 2, 'close up')
  assert.equal(at({ population: 3_900_000, x: 209 }), 1, 'within a few pixels')
})

test('a village keeps its distance from what is more important, up to zoom 10', () => {
  const town = { id: 't', name: 'T', x: 200, y: 100, population: 20_000 }
  const at = (x, zoom, population = 500) => split(arrange([town, { id: 'v', name: 'V', x, y: 100, population }], [], measure, { zoom })).places.length
  assert.deepEqual([at(230, 9), at(240, 9), at(230, 11), at(230, 9, 15_000)], [1, 2, 2, 2])
})

test('a place under the pin has its name, beside it', () => {
  const town = { id: 't', name: 'Town', x: 100, y: 100, population: 400_000 }
  const over = { left: 90, top: 70, right: 110, bottom: 100 }
  assert.equal(split(arrange([town], [], measure, { obstacles: [over] })).places.length, 0)
  const { box } = arrange([town], [], measure, { obstacles: [{ ...over, pin: true }] })[0]
  assert.ok(box.left >= 110 || box.right <= 90 || box.top >= 100, 'the name is clear of the pin')
})

test('a place under a disc has its name beside the disc, and no dot', () => {
  const city = { id: 'c', name: 'City', x: 100, y: 100, population: 400_000 }
  const disc = { left: 90, top: 84, right: 118, bottom: 112, disc: true }
  const [{ box, dot, lines }] = arrange([city], [], measure, { obstacles: [disc] })
  assert.deepEqual([lines, dot], [['City'], undefined])
  assert.ok(box.left >= 118 && box.left < 126, 'beside the disc')
})

test('of two regions in one spot the larger is named, and a country before a state', () => {
  const at = { x: 100, y: 100, across: 90, down: 40 }
  const [state, small, large] = [[types[1], 0], [types[0], 9], [types[0], 2]]
    .map(([type, rank]) => ({ ...at, id: `${type.type}${rank}`, name: 'Somewhere', rank, type }))
  assert.deepEqual(split(arrange([], [state, small, large], measure)).regions.map(({ region }) => region.id), ['country2'])
  assert.deepEqual(split(arrange([], [state, small], measure)).regions.map(({ region }) => region.id), ['country9'])
})

test('importance and tiers', () => {
  assert.ok(importance({ code: 'PPLC', population: 2_000_000 }) < importance({ code: 'PPL', population: 8_000_000 }), 'great cities come before small capitals')
  assert.ok(importance({ code: 'PPLC', population: 200_000 }) > importance({ code: 'PPLA', population: 700_000 }))
  assert.ok(importance({ code: 'PPLC', population: 1_000 }) < importance({ code: 'PPLA', population: 9_000_000 }))
  assert.ok(importance({ code: 'PPLX', population: 300_000 }) < importance({ code: 'PPL', population: 100_000 }))
  assert.deepEqual(['PPLC', 'PPL', 'PPL', 'PPL'].map((code, i) => tier({ code, population: [3e5, 2e6, 2e5, 10][i] })), ['capital', 'major', 'city', 'village'])
  assert.deepEqual([14_000, 15_000, 4e6].map(population => tier({ population })), ['village', 'town', 'metropolis'])
  assert.equal(tier({}), 'village')
})

test('a world map shows great cities and capitals, a close view everything', () => {
  assert.deepEqual([0, 3, 5, 6, 18].map(zoom => worthShowing({ population: 60_000 }, zoom)), [false, false, false, true, true])
  assert.deepEqual([4, 5].map(zoom => worthShowing({ code: 'PPLC', population: 60_000 }, zoom)), [false, true])
  assert.deepEqual([7, 8].map(zoom => worthShowing({}, zoom)), [false, true])
})

test('of cities that grew together the dominant one is named, and a capital beside any', () => {
  const at = (id, x, population, code = 'PPL') => ({ id, name: id, x, y: 0, lat: 28.6, lon: 77 + x / 1000, code, population })
  const named = (places, zoom) => split(arrange(places, [], measure, { zoom })).places.map(({ place }) => place.id)
  const cities = [at('Delhi', 0, 1e7, 'PPLA'), at('New Delhi', 2, 3e5, 'PPLC'), at('Noida', 20, 6e5), at('Agra', 60, 1e6)]
  assert.deepEqual(named(cities, 6), ['New Delhi', 'Agra'], 'the capital stands for the city around it')
  assert.deepEqual(named(cities, 11), ['New Delhi', 'Agra', 'Noida'])
  assert.deepEqual(named([at('Kinshasa', 0, 1e7, 'PPLC'), at('Brazzaville', 20, 1e6, 'PPLC')], 6), ['Kinshasa', 'Brazzaville'])
  const [{ dot }] = arrange([at('Bern', 0, 120_000, 'PPLC')], [], measure, { zoom: 6 })
  assert.ok(dot.ring, 'small capitals are marked too')
})

test('far out a dot whose name finds no room is left out, close up it stays', () => {
  const wall = [{ left: -500, right: 500, top: 6, bottom: 60 }, { left: -500, right: 500, top: -60, bottom: -6 }]
  const place = { id: 'a', name: 'A long name', x: 0, y: 0, population: 3e5 }
  assert.deepEqual([8, 9].map(zoom => arrange([place], [], measure, { zoom, obstacles: wall }).map(({ lines }) => lines)), [[], [[]]])
})

test('features become places; what is no named point does not', () => {
  const feature = { geometry: { type: 'Point', coordinates: [8.54, 47.37] }, properties: { id: 2657896, name: 'Zürich\u202E', code: 'PPLA', population: 341730 } }
  assert.deepEqual(placeOf(feature, displayText), { id: '2657896', name: 'Zürich', lat: 47.37, lon: 8.54, code: 'PPLA', population: 341730 })
  for (const bad of [
    null, {}, { geometry: null }, { geometry: { type: 'Point' }, properties: { name: 'x' } },
    { geometry: { type: 'Point', coordinates: ['8', 47] }, properties: { name: 'x' } },
    { geometry: { type: 'Point', coordinates: [8, 47] }, properties: { name: '\u0007' } },
    { geometry: { type: 'LineString', coordinates: [8, 47] }, properties: { name: 'x' } },
  ]) assert.equal(placeOf(bad, displayText), null)
})

test('a capital of few people is no capital of the world', () => {
  const capital = population => ({ code: 'PPLC', population })
  assert.deepEqual([46, 150_000, 200_000, 9_000_000].map(people => tier(capital(people))), ['village', 'city', 'capital', 'capital'])
  assert.ok(importance(capital(46)) < importance({ code: 'PPL', population: 1000 }))
  assert.deepEqual([5, 6].map(zoom => worthShowing(capital(46), zoom)), [false, true])
})

test('a region in view has its name on the first of its spots that is free', () => {
  const spot = (x, y) => ({ x, y, across: 200, down: 60 })
  const region = { id: 'r', name: 'Country', rank: -9, type: types[0], spots: [spot(100, 100), spot(100, 300)] }
  const blocked = { id: 'b', name: 'Blocked', x: 100, y: 100, across: 300, down: 15, rank: -10, type: types[0] }
  assert.deepEqual(split(arrange([], [region], measure)).regions.map(({ x, y }) => [x, y]), [[100, 100]])
  const both = split(arrange([], [region, { ...blocked, down: 100 }], measure)).regions
  assert.deepEqual(both.map(({ region: { id } }) => id), ['b', 'r'])
  assert.ok(both[1].y > 120 || both[1].y < 90)
})
