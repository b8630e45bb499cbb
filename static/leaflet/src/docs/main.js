// The description of the interface, one thing at a time, with a form for each request. The page is whole without this.
import { decoded } from '../hash.js'
import { operationsOf } from './openapi.js'
import { createDesk } from './desk.js'
import { createContents } from './contents.js'

const START = 'start'
const ELSEWHERE = 'http://127.0.0.1:8080' // what stands for a server that was not told its address
const sections = [...document.querySelectorAll('main.text > section, main.text > section > article')]
const contents = createContents(document.querySelector('.contents'), sections)

document.body.classList.add('alone')
// Without the chapters' headings above them, those of operations move up.
for (const [selector, level] of [['article h3', 2], ['article h4', 3]]) {
  for (const heading of document.querySelectorAll(selector)) heading.setAttribute('aria-level', level)
}
addEventListener('hashchange', show)
show()

// Commands are for the server that was asked for this page.
for (const code of document.querySelectorAll('#start code')) for (const node of code.childNodes) {
  if (node.nodeType === Node.TEXT_NODE) node.data = node.data.replaceAll(ELSEWHERE, new URL('.', document.baseURI).href.replace(/\/$/, ''))
}

// Where the description cannot be had, the text is still there to read.
fetch('openapi.json').then(answer => answer.json()).then(addDesks, () => {})

// Shows what the address names: an operation, or a part of the last chapters and its whole chapter.
function show() {
  const id = decoded(location.hash.slice(1)) || START
  const target = document.getElementById(id) ?? document.getElementById(START)
  const chapter = target.closest('main.text > section')
  const article = target.closest('article[data-method]')
  for (const node of sections) node.classList.toggle('shown', article ? node === article || node === chapter : chapter.contains(node))
  document.body.classList.toggle('deep', chapter.id !== START)
  contents.mark(article?.id ?? target.id)
  target.scrollIntoView({ block: article || id === START ? 'nearest' : 'start' })
  if (article || id === START) scrollTo(0, 0)
}

function addDesks(description) {
  const operations = operationsOf(description)
  for (const article of document.querySelectorAll('article[data-method]')) {
    const { method, path, request, body } = article.dataset
    const operation = operations.get(`${method} ${path}`)
    if (!operation) continue
    article.querySelector('.summary').after(createDesk({ method, path, request, body, ...operation }, new URL('.', document.baseURI).href))
  }
}
