// Keys for the whole page.
import { t } from '../words/words.js'

/** What the help lists: keys and what they do. */
export const SHORTCUTS = [
  ['/', t('search')], ['Enter', t('what is at the centre of the map, or pin its tile')], ['Esc', t('close the answer')], ['Left Up Down Right', t('move the map')], ['+ −', t('zoom')],
  ['l', t('layers')], ['m', t('where am I')], ['n N', t('next or previous name on the map')], ['p', t('measure or draw an area')], ['s', t('share')], ['g', t('tile grid')], ['r', t('measure the tile again')], ['t', t('light or dark')], ['u', t('use this map')], ['?', t('this help')],
]

/** Whether a key pressed is meant for the page: no modifier that browsers use, and nobody is typing. */
export function isShortcut({ ctrlKey, metaKey, altKey, defaultPrevented, isComposing, repeat, target }) {
  if (ctrlKey || metaKey || altKey || defaultPrevented || isComposing || repeat) return false
  return !(target?.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target?.tagName ?? '') && target.type !== 'checkbox')
}

/** Calls actions, a map from key to function, for keys pressed anywhere outside an open dialog. */
export function listen(actions) {
  addEventListener('keydown', event => {
    const action = isShortcut(event) && !document.querySelector('dialog[open]') && actions[event.key]
    if (!action) return
    event.preventDefault()
    action()
  })
}
