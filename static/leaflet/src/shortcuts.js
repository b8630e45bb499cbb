// Keys for the whole page.

/** What the help lists: keys and what they do. */
export const SHORTCUTS = [
  ['/', 'search'], ['Enter', 'what is at the centre of the map, or pin its tile'], ['Esc', 'close the answer'], ['Left Up Down Right', 'move the map'], ['+ −', 'zoom'],
  ['l', 'layers'], ['m', 'where am I'], ['g', 'tile grid'], ['r', 'measure the tile again'], ['t', 'light or dark'], ['?', 'this help'],
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
