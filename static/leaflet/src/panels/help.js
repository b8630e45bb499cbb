// The help: keys, where the API is described, and whose data these are, with their licences.
import { splitLinks } from '../server/attribution.js'
import { closer } from './card.js'
import { el, fill, icon } from '../dom.js'
import { keep, kept } from '../kept.js'
import { title } from '../words/format.js'
import { displayText } from '../words/text.js'
import { SHORTCUTS } from './shortcuts.js'
import { SPOKEN, t } from '../words/words.js'

const links = [['docs', t('API documentation')], ['openapi.json', t('OpenAPI')], ['status', t('Server status')], ['licenses.txt', t('Licences of the software')]]

/** Fills the dialog; the returned function opens it. status is /status's answer, or undefined when there is none. */
export function createHelp(dialog, status) {
  fill(dialog,
    el('h2', {}, 'Quadrille'),
    el('p', { class: 'quiet' }, t('Click the map to learn what is there. Search for places, airports and IP addresses, by name, code or number.')),
    el('p', { class: 'chips' }, ...links.map(([href, words]) => el('a', { class: 'chip', href, target: '_blank', rel: 'noopener' }, words))),
    el('div', { class: 'help-columns' },
      el('section', {}, el('h3', {}, t('Keys')), el('dl', { class: 'keys' },
        ...SHORTCUTS.map(([key, words]) => el('div', {}, el('dt', {}, ...key.split(' ').map(cap)), el('dd', {}, words))))),
      el('section', {}, el('h3', {}, t('Data')), datasets(status))),
    el('p', { class: 'help-foot' }, languageChoice(), closer(dialog)))
  return () => { if (!dialog.open) dialog.showModal() }
}

// The page is loaded anew in the language that is chosen: so every part of it speaks it, names of places too.
function languageChoice() {
  const select = el('select', { onchange: () => {
    keep('language', select.value)
    location.reload()
  } }, el('option', { value: '' }, t('As the browser')), ...Object.entries(SPOKEN).map(([code, name]) => el('option', { value: code, lang: code, selected: code === kept('language') }, name)))
  return el('label', {}, t('Language'), ' ', select)
}

// Not every phone has a font with arrows.
const arrows = { Left: 'M19 12H5M11 6l-6 6 6 6', Up: 'M12 19V5M6 11l6-6 6 6', Right: 'M5 12h14M13 6l6 6-6 6', Down: 'M12 5v14M6 13l6 6 6-6' }

function cap(key) {
  const arrow = arrows[key]
  return arrow ? el('kbd', { title: key }, icon(arrow, 12), el('span', { class: 'visually-hidden' }, key)) : el('kbd', {}, key)
}

function datasets(status) {
  const sets = Array.isArray(status?.datasets) ? status.datasets.filter(set => typeof set?.name === 'string') : []
  if (sets.length === 0) return el('p', { class: 'quiet' }, t('The server does not tell.'))
  return el('ul', { class: 'datasets' }, ...sets.map(set => {
    const sources = sourcesOf(set)
    const state = set.state === 'serving' || set.state === 'missing' ? '' : displayText(set.state, 40)
    return el('li', {}, el('b', {}, nameOf(set.name)), state && el('small', {}, ` ${state}`),
      ...sources.length > 0 ? sources : [el('span', { class: 'quiet' }, set.state === 'missing' ? t('not published on this server') : t('no source named'))])
  }))
}

const names = { ip: t('IP addresses'), timezones: t('Time zones'), stations: t('Weather stations'), weather: t('Weather observations') }
const nameOf = name => Object.hasOwn(names, name) ? names[name] : title(name)

// Each source once, though it may be made of many files.
function sourcesOf(set) {
  const lines = new Map()
  for (const source of Array.isArray(set.sources) ? set.sources : []) {
    const who = displayText(source?.attribution) || displayText(source?.name)
    const licence = displayText(source?.license ?? source?.licence, 100)
    if (who) lines.set(`${who}\n${licence}`, [who, licence])
  }
  return [...lines.values()].slice(0, 40).map(([who, licence]) => el('span', {},
    ...splitLinks(who).map(({ text, href }) => href ? el('a', { href, target: '_blank', rel: 'noopener' }, text) : text),
    licence && el('small', {}, ` ${licence}`)))
}
