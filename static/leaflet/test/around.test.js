import assert from 'node:assert/strict'
import test from 'node:test'
import { answerWith, element } from './document.js'

const { aboutCountry, localTime, regionRows } = await import('../src/panels/around.js')
const { createRegionCard } = await import('../src/panels/regioncard.js')
const settled = () => new Promise(resolve => setTimeout(resolve, 5))
const buttons = node => node.all.filter(({ tagName }) => tagName === 'button')

test('a country has its facts in words, and links', async () => {
  answerWith({ body: JSON.stringify({
    code: 'FR', capital: 'Paris', capital_id: 2988507, population: 64768389, area_km2: 547030, languages: ['fr-FR', 'br'], currency_code: 'EUR', neighbours: ['CH', 'DE'], numeric: 250,
  }) })
  const opened = []
  const about = aboutCountry('fr', { open: selection => opened.push(selection) })
  await settled()
  assert.equal(about.textContent, 'CapitalParisPopulation64,768,389Area547,030 km²LanguagesFrench, BretonCurrencyEuro · EURNeighboursSwitzerland, Germany')
  for (const button of buttons(about)) button.listeners.click()
  assert.deepEqual(opened, [{ kind: 'place', id: '2988507' }, { kind: 'region', type: 'country', id: 'ch' }, { kind: 'region', type: 'country', id: 'de' }])
})

test('a country of which nothing is known has no facts', async () => {
  answerWith({ status: 404, body: '{"type":"country-not-found","title":"x"}' })
  const about = aboutCountry('zz', {})
  await settled()
  assert.equal(about.textContent, '')
  assert.equal(aboutCountry('qe', {}), '', 'no country has the code')
})

test('regions around are linked where they have cards', () => {
  const rows = regionRows([{ type: 'city', id: '5', name: 'Zürich' }, { type: 'admin1', id: 'CH.ZH', name: 'Zurich' }, { type: 'country', id: 'ch' }, { type: 'gebiet', id: 'x', name: 'X' },
    { type: 'timezone', id: 'europe-zurich', name: 'Europe/Zurich' }], () => {})
  assert.deepEqual(rows.map(([term, value]) => [term, value.textContent ?? value, value.tagName]), [['City', 'Zürich', 'button'], ['Division', 'Zurich', undefined], ['Country', 'Switzerland', 'button']])
})

test('a clock stands only where the time is known', () => {
  const clocks = (...what) => localTime(...what).all.filter(({ className }) => className === 'clock').length
  assert.equal(clocks({ timezone: { id: 'Europe/Zurich' } }), 1)
  assert.equal(clocks({ timezone: { id: 'Mars/Olympus' } }), 0, 'the browser does not know it')
  assert.equal(clocks({ timezone: { id: 'Europe/Zurich', match: 'nearest', distance_m: 90_000 } }), 0)
  assert.equal(clocks({}), 0)
})

test('cards of regions show no raw columns, and own columns as their owner has them', async () => {
  const show = async (record, selection) => {
    answerWith({ body: JSON.stringify(record) })
    let shown = ''
    const colours = { complete: async (_, known) => known, valueOf: () => [], others: (_, properties) => properties }
    const card = { show: ({ kicker, title }, ...content) => { shown = [kicker, title, ...content.filter(Boolean).flat().map(part => part.textContent ?? '')].join('|') } }
    const nothing = () => {}
    await createRegionCard({ card, pin: nothing, select: nothing, offer: () => element('p'), flyToBox: nothing, signal: () => new AbortController().signal, announce: nothing, colours, open: nothing })(selection, false)
    return shown
  }
  const raw = { map_color: 5, iso_a2: 'FR', iso_n3: '250', min_zoom: 2, LABEL_X: 2, LABELRANK: 61, scale_rank: 3, wikidata: 'Q1' }
  assert.equal(await show({ type: 'marine', id: 'gulf-of-bothnia', name: 'Gulf of Bothnia', kind: 'gulf', ...raw }, { type: 'marine', id: 'gulf-of-bothnia' }), 'Gulf|Gulf of Bothnia||')
  assert.equal(await show({ type: 'state', id: 'us-ks', name: 'Kansas', country: 'US', iso_3166_2: 'US-KS', postal: 'KS', fips: '20', Turnover: 7, ...raw }, { type: 'state', id: 'us-ks' }),
    'State|Kansas|CountryUnited StatesCodeUS-KSTurnover7|')
  assert.equal(await show({ type: 'gebiet', id: 'de-44', map_color: 2, merged: 1, postal: '8000', Umsatz_EUR: 12 }, { type: 'gebiet', id: 'de-44' }), 'Gebiet|de-44|Postal8000Umsatz EUR12|')
})
