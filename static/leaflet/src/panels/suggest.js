// The box at the top: names as they are typed, codes, coordinates, and IP addresses. A combobox with a list, as the ARIA
// practices describe it: the text field keeps the focus, the arrows move a choice through the list.
import { search } from '../server/api.js'
import { el, fill, icon } from '../dom.js'
import { marked } from '../words/format.js'
import { displayText } from '../words/text.js'
import { contextOf, iconOf, isGuess, isHit, kindOf, named } from './hit.js'
import { t } from '../words/words.js'

const PAUSE = 90 // milliseconds without a key before the server is asked
const MOST = 8

/** Whether a text is meant as an IP address: digits with dots, or anything with a colon that could be IPv6. */
export function isAddress(text) {
  return /^[\d.]*\.[\d.]*$/.test(text) && /\d/.test(text) || /^\[?[0-9a-f:.]*:[0-9a-f:.]*(%\w+)?\]?$/i.test(text)
}

/**
 * Makes the box work. input is its text field, list the empty list below it. choose(hit) is called with what was chosen,
 * lookup(text) with an address, fail(text, error, retry) when there is nothing to choose: because nothing has that name, or with the
 * error that kept the page from knowing. near() is the point that what is found should be near to, or null. Where the best result is
 * a guess the list asks whether it is meant, announce(sentence) says so to those who do not see it, and Enter chooses nothing.
 */
export function createSuggest({ form, input, list, choose, lookup, fail, announce, near = () => null }) {
  let hits = [] // as listed
  let asked = '' // the text they answer
  let active = -1
  let timer = 0
  let question = new AbortController()

  function close() {
    clearTimeout(timer)
    list.hidden = true
    active = -1
    input.setAttribute('aria-expanded', 'false')
    input.removeAttribute('aria-activedescendant')
  }

  function activate(index) {
    active = index
    for (const [i, option] of [...list.children].entries()) option.setAttribute('aria-selected', String(i === index))
    const option = list.children[index]
    if (option) {
      input.setAttribute('aria-activedescendant', option.id)
      option.scrollIntoView({ block: 'nearest' })
    } else {
      input.removeAttribute('aria-activedescendant')
    }
  }

  const guessed = () => hits.length > 0 && isGuess(hits[0])

  function show() {
    list.dataset.heading = guessed() ? t('Did you mean') : ''
    list.setAttribute('aria-label', list.dataset.heading || t('Search results'))
    fill(list, ...hits.map((hit, i) => {
      const [before, match, after] = marked(named(hit))
      const around = contextOf(hit)
      return el('li', {
        role: 'option', id: `suggestion-${i}`, 'aria-selected': 'false',
        // A press would take the focus from the field and close the list before the click.
        onpointerdown: event => event.preventDefault(),
        onclick: () => take(hit),
      },
      icon(iconOf(hit)),
      el('bdi', { class: 'suggestion-name' }, before, match ? el('mark', {}, match) : '', after),
      el('span', { class: 'suggestion-detail' }, around && el('bdi', {}, around), around && ' · ', el('span', {}, kindOf(hit))))
    }))
    list.hidden = hits.length === 0
    input.setAttribute('aria-expanded', String(hits.length > 0))
    activate(-1)
  }

  async function ask(text) {
    question.abort()
    question = new AbortController()
    const { signal } = question
    const answer = await search(text, near(), { signal })
    if (signal.aborted) return
    hits = answer.results.filter(isHit).slice(0, MOST)
    asked = text
  }

  function take(hit) {
    question.abort()
    close()
    if (hit.kind !== 'position') input.value = displayText(hit.name)
    asked = ''
    input.blur() // folds a phone's keyboard away
    choose(hit)
  }

  input.addEventListener('input', () => {
    clearTimeout(timer)
    question.abort()
    const text = input.value.trim()
    if (text === '' || isAddress(text)) {
      hits = []
      asked = ''
      close()
      return
    }
    // What cannot be had while typing is no news; Enter says it.
    timer = setTimeout(() => ask(text).then(() => {
      if (asked === text && document.activeElement === input) show()
    }, error => {
      if (error.name === 'AbortError') return
      hits = [] // those of the text before
      close()
    }), PAUSE)
  })

  input.addEventListener('keydown', event => {
    if (event.key === 'Escape') {
      clearTimeout(timer)
      question.abort() // its answer would open the list again
      asked = ''
      if (list.hidden) input.value = ''
      close()
      return
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (!step || hits.length === 0) return
    event.preventDefault()
    if (list.hidden) show()
    // One past either end is the field itself.
    activate((active + 1 + step + hits.length + 1) % (hits.length + 1) - 1)
  })

  input.addEventListener('blur', close)

  form.addEventListener('submit', async event => {
    event.preventDefault()
    clearTimeout(timer)
    const text = input.value.trim()
    if (text === '' || isAddress(text)) {
      question.abort()
      close()
      input.blur()
      lookup(text)
      return
    }
    if (active >= 0 && !list.hidden) {
      take(hits[active])
      return
    }
    try {
      if (asked !== text) await ask(text)
      if (input.value.trim() !== text || asked !== text) return // typed on meanwhile
      if (guessed()) {
        input.focus() // of which the button took it: the list closes when the field loses it
        show()
        announce(`${t('Did you mean')}: ${hits.map(hit => displayText(named(hit).name)).join(', ')}`)
      } else if (hits.length > 0) take(hits[0])
      else {
        close()
        fail(text)
      }
    } catch (error) {
      if (error.name === 'AbortError') return
      close()
      fail(text, error, () => form.requestSubmit())
    }
  })
}
