// "Use this map": what other programs need to draw what the map shows now.
import { closer } from './card.js'
import { copyButton } from './copy.js'
import { el, fill } from '../dom.js'
import { snippets } from './snippets.js'
import { frameOf } from './share.js'
import { show, walk } from './tabs.js'
import { SPOKEN, t } from '../words/words.js'

const advice = {
  qgis: t('Add a vector tile layer by a new generic connection of these values. For pictures, add a new connection below XYZ Tiles.'),
  iframe: t('Put this line into any page.'),
}
const PAGE = t('Save this as an HTML file and open it: it shows the layers of this map where you look now.')

/**
 * Returns a function that opens the dialog with the snippets for what shown() says the map shows: { lat, lon, zoom, layers, colours, filters, theme, rows },
 * rows being those of the layer switch that are on and have columns. The tab that was open last is open again.
 */
export function createUse(dialog, { shown, announce }) {
  let chosen = 0
  const close = closer(dialog)
  return () => {
    if (dialog.open) return
    const view = { base: new URL('.', document.baseURI).href, ...shown() }
    const list = snippets(view)
    const panels = list.map(one => panelOf(one, announce, view))
    const tabs = list.map((one, i) => el('button', {
      type: 'button', role: 'tab', id: `use-${one.id}`, 'aria-controls': `use-${one.id}-panel`, onclick: () => choose(i),
    }, one.name))

    function choose(i) {
      chosen = i
      show(tabs, i)
      panels.forEach((panel, j) => { panel.hidden = i !== j })
    }

    const row = el('div', { class: 'tabs', role: 'tablist', 'aria-labelledby': 'use-title', onkeydown: event => walk(event, tabs, chosen, choose) }, ...tabs)
    fill(dialog, el('h2', { id: 'use-title' }, t('Use this map')), row, ...panels, el('p', { class: 'use-foot' }, close))
    choose(chosen)
    dialog.showModal()
    tabs[chosen].focus()
  }
}

function panelOf({ id, name, text, frame }, announce, view) {
  const code = el('code', {}, text)
  return el('section', { role: 'tabpanel', id: `use-${id}-panel`, 'aria-labelledby': `use-${id}` },
    el('p', {}, advice[id] ?? PAGE),
    frame && frameForm(frame, view, line => fill(code, line)),
    el('pre', { tabindex: 0, role: 'region', 'aria-label': name }, code),
    el('p', {}, copyButton(t('Copy'), () => code.textContent, announce)))
}

const MOST = 12 // columns that are offered

// What a frame can be besides the map as it is. changed is called with the line of it.
function frameForm(frame, { base, rows, colours, filters }, changed) {
  const field = (label, input) => el('label', {}, el('span', {}, label), input)
  const choice = (name, pairs) => el('select', { name }, ...pairs.map(([value, text]) => el('option', { value }, text)))
  const popup = el('input', { name: 'popup', maxlength: 1000, placeholder: '{name}: {price} €', dir: 'ltr' })
  const own = rows.filter(({ type, role }) => role === 'points' || type === colours?.layer)
  const columns = [...new Set(['name', ...own.flatMap(row => row.columns.map(({ property }) => property))])].slice(0, MOST)
  const add = column => {
    popup.value = popup.value.includes('{') ? `${popup.value} {${column}}` : [popup.value, column].filter(Boolean).join(',')
    write()
  }
  const form = el('form', { class: 'frame-form', oninput: write, onsubmit: event => event.preventDefault() },
    field(t('Title'), el('input', { name: 'title', maxlength: 120 })),
    field(t('Width'), el('input', { name: 'width', value: '600', pattern: '[0-9]{1,4}%?' })),
    field(t('Height'), el('input', { name: 'height', value: '400', pattern: '[0-9]{1,4}' })),
    field(t('Begins with'), choice('fit', [['', t('This view')], ...rows.filter(({ role }) => role === 'points' || role === 'overlay').map(({ type, label }) => [type, label])])),
    field(t('Language'), choice('lang', [['', t('The reader’s')], ...Object.entries(SPOKEN)])),
    field(t('On the card'), popup),
    el('p', { class: 'chips' }, ...columns.map(column => el('button', { type: 'button', class: 'chip', onclick: () => add(column) }, el('bdi', {}, column)))),
    colours && field(t('Colours'), el('input', { type: 'checkbox', name: 'colours', checked: true })),
    filters.length > 0 && field(t('Filters'), el('input', { type: 'checkbox', name: 'filters', checked: true })))

  function write() {
    const { width, height, title, colours: coloured, filters: filtered, ...more } = Object.fromEntries(new FormData(form))
    const values = { ...frame, title, ...more }
    for (const [name, without] of [['color', !coloured], ['classes', !coloured], ['scheme', !coloured], ['center', more.fit], ['zoom', more.fit]]) {
      if (without) delete values[name]
    }
    for (const [name] of filtered ? [] : filters) delete values[name]
    const kept = Object.entries(values).filter(([name, value]) => value !== '' || name.includes('.'))
    changed(frameOf(Object.fromEntries(kept), base, { width: /^\d+%?$/.test(width) ? width : '600', height: /^\d+$/.test(height) ? height : '400', title }))
  }
  return form
}
