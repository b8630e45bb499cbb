import assert from 'node:assert/strict'
import test from 'node:test'
import './document.js'

const { collectionLayers } = await import('../src/server/collections.js')
const { createNews, crossingOf, MOST_WATCHED } = await import('../src/server/news.js')

// Streams that do nothing by themselves: those that are opened are noted, and a test sends what they tell.
function streams() {
  const opened = []
  const open = (path, { last = '', event, lost }) => {
    const stream = { path, last, event, lost, closed: false }
    opened.push(stream)
    return () => {
      stream.closed = true
      return stream.last
    }
  }
  return { opened, open }
}

const live = names => collectionLayers({ collections: names.map(name => ({ name, live: true })) })
const page = hidden => Object.assign(new EventTarget(), { hidden })
const nothing = { changed: () => {}, crossed: () => {}, missed: () => {}, connected: () => {}, interval: 1000, page: null }

test('news of live collections that are on are told at most once in the interval, the last ones too', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { opened, open } = streams()
  const layers = collectionLayers({ collections: [{ name: 'cars', live: true }, { name: 'shops' }, { name: 'vans', live: true }] })
  layers[2].on = false
  const told = []
  const news = createNews(layers, { ...nothing, changed: ({ name, revision }) => told.push(`${name} ${revision}`), open })
  news.update()
  news.update()
  assert.deepEqual(opened.map(({ path }) => path), ['points/cars/events'])
  const move = () => opened[0].event('move', '{}')
  move()
  move()
  move()
  assert.deepEqual(told, ['cars 1'])
  t.mock.timers.tick(1000)
  assert.deepEqual(told, ['cars 1', 'cars 2'])
  t.mock.timers.tick(5000)
  assert.deepEqual(told, ['cars 1', 'cars 2'])
  opened[0].lost() // what was missed may have changed it
  move()
  layers[0].on = false
  layers[2].on = true
  news.update()
  t.mock.timers.tick(5000)
  assert.deepEqual(told, ['cars 1', 'cars 2', 'cars 3'])
  assert.deepEqual(opened.map(({ path, closed }) => [path, closed]), [['points/cars/events', true], ['points/vans/events', false]])
})

test('two live collections are followed, others are asked anew, and none while nobody looks', t => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const { opened, open } = streams()
  const tab = page(false)
  const told = []
  createNews(live(['a', 'b', 'c']), { ...nothing, changed: ({ name }) => told.push(name), open, page: tab }).update()
  assert.deepEqual(opened.map(({ path }) => path), ['points/a/events', 'points/b/events'])
  t.mock.timers.tick(10_000)
  assert.deepEqual(told, ['c'])
  tab.hidden = true
  tab.dispatchEvent(new Event('visibilitychange'))
  assert.deepEqual(opened.map(({ closed }) => closed), [true, true])
  t.mock.timers.tick(60_000)
  assert.deepEqual(told, ['c'])
  tab.hidden = false
  tab.dispatchEvent(new Event('visibilitychange'))
  assert.deepEqual(told, ['c', 'a', 'b', 'c'])
  assert.equal(opened.length, 4)
})

test('the fences of a collection share a stream, which goes on where it was', () => {
  const { opened, open } = streams()
  const layers = live(['cars'])
  const tab = page(false)
  const crossed = []
  const missed = []
  const news = createNews(layers, { ...nothing, crossed: (layer, crossing) => crossed.push([layer.name, crossing]), missed: ({ name }) => missed.push(name), open, page: tab })
  news.update()
  const fences = () => opened.filter(({ path, closed }) => path.includes('?') && !closed).map(({ path, last }) => [path.split('?')[1], last])
  news.watch(layers[0], ['state:us-ks'])
  assert.deepEqual(fences(), [['enter=state%3Aus-ks&leave=state%3Aus-ks', '']])
  opened.at(-1).event('enter', '{"id":"t-7","fence":"state:us-ks","lat":38,"lon":-98,"version":1}')
  opened.at(-1).event('enter', '{"id":')
  opened.at(-1).event('move', '{"id":"t-7","lat":38,"lon":-98}')
  assert.deepEqual(crossed, [['cars', { id: 't-7', fence: 'state:us-ks', enters: true, at: { lat: 38, lon: -98 }, why: '' }]])
  opened.at(-1).last = '17'
  news.watch(layers[0], ['state:us-ks', 'a&b:c=d'])
  assert.deepEqual(fences(), [['enter=state%3Aus-ks,a%26b%3Ac%3Dd&leave=state%3Aus-ks,a%26b%3Ac%3Dd', '17']])
  opened.at(-1).last = '18'
  tab.hidden = true
  tab.dispatchEvent(new Event('visibilitychange'))
  assert.deepEqual(fences(), [])
  tab.hidden = false
  tab.dispatchEvent(new Event('visibilitychange'))
  assert.equal(fences()[0][1], '18')
  opened.findLast(({ path }) => path.includes('?')).lost()
  assert.deepEqual(missed, ['cars'])
  news.watch(layers[0], [])
  assert.deepEqual(fences(), [])
})

test('changes and fences together take three streams at most', t => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const { opened, open } = streams()
  const layers = live(['a', 'b', 'c'])
  const news = createNews(layers, { ...nothing, open })
  news.update()
  const now = () => opened.filter(({ closed }) => !closed).map(({ path }) => path.replace(/points.(\w).events/, '$1').replace(/&.*/, ''))
  for (const layer of layers.slice(0, MOST_WATCHED)) news.watch(layer, ['x:y'])
  assert.deepEqual(now(), ['a', 'a?enter=x%3Ay', 'b?enter=x%3Ay'])
  news.watch(layers[0], [])
  assert.deepEqual(now(), ['a', 'b?enter=x%3Ay', 'b'])
})

test('what is no crossing is none', () => {
  assert.deepEqual(crossingOf('leave', '{"id":"a","fence":"x:y","gone":true,"expired":true}'), { id: 'a', fence: 'x:y', enters: false, at: null, why: 'expired' })
  assert.equal(crossingOf('leave', '{"id":"a","fence":"x:y","gone":true}').why, 'removed')
  for (const [name, data] of [['move', '{"id":"a"}'], ['enter', 'null'], ['enter', '[]'], ['enter', '{"id":5,"fence":"x"}'], ['enter', '{"id":"a"}'], ['enter', 'x']]) {
    assert.equal(crossingOf(name, data), null, data)
  }
})
