// "Use this map": what other programs need to draw what the map shows now.
import { closer } from './card.js'
import { copyButton } from './copy.js'
import { el, fill } from '../dom.js'
import { snippets } from './snippets.js'
import { show, walk } from './tabs.js'
import { t } from '../words/words.js'

const advice = {
  qgis: t('Add a vector tile layer by a new generic connection of these values. For pictures, add a new connection below XYZ Tiles.'),
  iframe: t('Put this line into any page.'),
}
const PAGE = t('Save this as an HTML file and open it: it shows the layers of this map where you look now.')

/**
 * Returns a function that opens the dialog with the snippets for what shown() says the map shows: { lat, lon, zoom, layers, colours, filters, theme }. The tab
 * that was open last is open again.
 */
export function createUse(dialog, { shown, announce }) {
  let chosen = 0
  const close = closer(dialog)
  return () => {
    if (dialog.open) return
    const list = snippets({ base: new URL('.', document.baseURI).href, ...shown() })
    const panels = list.map(one => panelOf(one, announce))
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

function panelOf({ id, name, text }, announce) {
  return el('section', { role: 'tabpanel', id: `use-${id}-panel`, 'aria-labelledby': `use-${id}` },
    el('p', {}, advice[id] ?? PAGE),
    el('pre', { tabindex: 0, role: 'region', 'aria-label': name }, el('code', {}, text)),
    el('p', {}, copyButton(t('Copy'), () => text, announce)))
}
