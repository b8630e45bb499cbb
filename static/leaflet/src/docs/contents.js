// The list of contents: what is read now is marked, and a field finds operations by words of their text.
import { el } from '../dom.js'

const wordsOf = text => text.toLowerCase().split(/\s+/).filter(Boolean)

/** Makes the list work; sections are what it leads to. mark(id) marks the link to what is shown. */
export function createContents(nav, sections) {
  const texts = new Map(sections.map(node => [node.id || node.querySelector('h2')?.id, `${node.id} ${node.textContent}`.toLowerCase()]))
  const details = nav.querySelector('details')
  const narrow = matchMedia('(max-width: 860px)')
  const fold = () => { details.open = !narrow.matches }
  const groups = [...nav.querySelectorAll('h2')].map(heading => ({ heading, list: heading.nextElementSibling }))
  const links = [...nav.querySelectorAll('a[href^="#"]')]
  const field = el('input', { type: 'search', placeholder: 'Search', 'aria-label': 'Search the operations', oninput: () => search(field.value) })
  const none = el('p', { class: 'quiet', role: 'status', hidden: true }, 'Nothing has these words.')
  details.querySelector('summary').after(field, none)
  narrow.addEventListener('change', fold)
  fold()

  function search(text) {
    const words = wordsOf(text)
    for (const link of links) {
      const about = texts.get(link.hash.slice(1)) ?? link.textContent.toLowerCase()
      link.parentElement.hidden = !words.every(word => about.includes(word))
    }
    for (const { heading, list } of groups) heading.hidden = [...list.children].every(item => item.hidden)
    none.hidden = links.some(link => !link.parentElement.hidden)
  }

  field.addEventListener('keydown', event => {
    if (event.key !== 'Enter') return
    const words = wordsOf(field.value)
    const shown = links.filter(link => !link.parentElement.hidden)
    // What is called so comes before what only tells of it.
    const called = shown.find(link => words.every(word => `${link.textContent} ${link.title}`.toLowerCase().includes(word)))
    ;(called ?? shown[0])?.click()
  })
  nav.addEventListener('click', event => { if (event.target.closest('a') && narrow.matches) details.open = false })
  return {
    mark(id) {
      for (const link of links) {
        if (link.hash.slice(1) === id) link.setAttribute('aria-current', 'true')
        else link.removeAttribute('aria-current')
      }
    },
  }
}
