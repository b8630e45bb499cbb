// The colours of the map: those of countries or neutral ones, light or dark. A button of the toolbar opens them.
import { el, fill } from '../dom.js'
import { direction, t } from '../words/words.js'

const APART = 8 // CSS pixels

/**
 * The choices on an element; the returned function opens and closes them. chosen() is { theme, neutral } now, neutral undefined where
 * the land has but one colour; choose({ theme }) or choose({ neutral }) is called with another choice, opened(on) when they open or close.
 */
export function createThemes(root, button, { chosen, choose, opened }) {
  const group = (name, legend, now, choices) => el('fieldset', {}, el('legend', { class: 'visually-hidden' }, legend),
    ...choices.map(([value, words]) => el('label', {}, el('input', { type: 'radio', name, checked: value === now, onchange: () => choose({ [name]: value }) }), words)))

  // Beside the button, or above it where the buttons lie in a row.
  function place() {
    const { left, right, top, bottom } = button.getBoundingClientRect()
    const row = document.documentElement.classList.contains('low')
    root.style.bottom = `${innerHeight - (row ? top - APART : bottom)}px`
    root.style.insetInlineEnd = row ? 'var(--gap)' : `${APART + (direction === 'rtl' ? right : innerWidth - left)}px`
  }
  function toggle(on = root.hidden) {
    if (on === !root.hidden) return
    const { theme, neutral } = chosen()
    if (on) {
      fill(root,
        neutral !== undefined && group('neutral', t('Colours'), neutral, [[false, t('Political colours')], [true, t('Neutral colours')]]),
        group('theme', t('Light or dark'), theme, [['light', t('Light')], ['dark', t('Dark')], ['', t('As the system')]]))
      place()
    }
    root.hidden = !on
    opened(on)
    if (on) root.querySelector(':checked').focus()
  }
  root.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return
    toggle(false)
    button.focus()
  })
  for (const elsewhere of ['pointerdown', 'focusin']) {
    addEventListener(elsewhere, ({ target }) => { if (!root.contains(target) && !button.contains(target)) toggle(false) })
  }
  addEventListener('resize', () => toggle(false))
  return () => toggle()
}
