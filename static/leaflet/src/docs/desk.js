// A request to fill in, send, and take along as a program.
import { copyButton } from '../panels/copy.js'
import { el, fill } from '../dom.js'
import { show, walk } from '../panels/tabs.js'
import { keep, kept } from '../kept.js'
import { ask } from './answer.js'
import { addressOf, valuesOf } from './openapi.js'
import { languages } from './snippets.js'

// All desks of a page speak one language and send one key, which is kept nowhere else.
let key = ''
let chosen = languages.has(kept('snippet')) ? kept('snippet') : 'curl'
const desks = new Set()

/**
 * The desk of an operation { method, path, request, body, parameters, bodyType }: request and body are those of its example. base is the
 * address of the service.
 */
export function createDesk({ method, path, request, body, parameters, bodyType }, base) {
  const id = `${method}${path}`
  const given = valuesOf(request, path, parameters)
  const fields = parameters.map(parameter => fieldOf(parameter, given.get(parameter.name) ?? (parameter.in === 'path' ? parameter.example : '')))
  const text = bodyType && el('textarea', { class: 'code', rows: 5, spellcheck: 'false', 'aria-label': 'Body of the request' }, body)
  const secret = el('input', { type: 'password', autocomplete: 'off', id: `${id}-key`, placeholder: 'only where the server asks for one', oninput: shareKey })
  let pictured = '' // the address of the picture that is shown
  const answer = el('div', { role: 'status', 'aria-live': 'polite' })
  const names = [...languages.keys()]
  const tabs = names.map(name => el('button', { type: 'button', role: 'tab', id: `${id}-${name}`, 'aria-controls': `${id}-code`, onclick: () => speak(name) }, name))
  const row = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Language', onkeydown: event => walk(event, tabs, names.indexOf(chosen), i => speak(names[i])) }, ...tabs)
  const code = el('pre', { tabindex: '0', role: 'tabpanel', id: `${id}-code` })
  const send = el('button', { type: 'submit', class: 'strong' }, method === 'GET' ? 'Send' : `Send (${method})`)
  const form = el('form', { class: 'panel', onsubmit: submit, oninput: write },
    el('div', { class: 'fields' },
      ...fields.flatMap(({ label, control }) => [label, control]),
      text && el('span', {}, 'body'), text,
      el('label', { for: secret.id }, 'API key'), secret),
    el('div', { class: 'send' }, send, answer))
  const root = el('div', { class: 'desk' }, form, el('div', { class: 'panel' }, el('div', { class: 'tabs-row' }, row, copyButton('Copy', () => code.textContent, announce)), code))

  function requested() {
    const values = new Map(fields.map(({ name, control }) => [name, control.value.trim()]))
    return { method, url: new URL(addressOf(path, parameters, values), base).href, body: text?.value ?? '', type: bodyType, key }
  }
  function write() {
    code.textContent = languages.get(chosen)(requested())
  }
  function draw() {
    if (secret.value !== key) secret.value = key
    show(tabs, names.indexOf(chosen))
    code.setAttribute('aria-labelledby', `${id}-${chosen}`)
    write()
  }
  async function submit(event) {
    event.preventDefault()
    const wanted = requested()
    send.disabled = true
    fill(answer, 'Waiting…')
    const { status, figures, text: shown, image } = await ask(wanted)
    send.disabled = false
    fill(answer, el('p', { class: 'figures' }, el('span', { class: `badge ${status >= 200 && status < 400 ? 'ok' : 'bad'}` }, status || 'failed'),
      ...figures.map(figure => el('span', { class: 'badge' }, figure))))
    root.querySelector('.answer')?.remove()
    URL.revokeObjectURL(pictured)
    pictured = image ? URL.createObjectURL(image) : ''
    const picture = image && el('img', { alt: 'The picture that the server sent', src: pictured })
    form.append(el('div', { class: 'answer' }, picture || el('pre', { tabindex: '0', 'aria-label': 'Answer' }, shown)))
  }
  function announce(words) {
    fill(answer, words)
  }
  desks.add(draw)
  draw()
  return root
}

function fieldOf({ name, in: place, required, choices, many, hint, example }, value) {
  const id = `field-${Math.random().toString(36).slice(2)}`
  const label = el('label', { for: id }, name, (required || place === 'path') && el('b', { title: 'required' }, ' *'))
  const usual = { id, name, title: hint, required: required || place === 'path' }
  const control = choices.length > 0 && !many
    ? el('select', usual, !usual.required && el('option', { value: '' }, ''), ...choices.map(choice => el('option', { value: choice, selected: choice === value }, choice)))
    : el('input', { ...usual, type: 'text', value, placeholder: example || hint.slice(0, 80), spellcheck: 'false', autocomplete: 'off' })
  return { name, label, control }
}

function shareKey({ target }) {
  key = target.value
  for (const draw of desks) draw()
}

function speak(name) {
  chosen = name
  keep('snippet', name)
  for (const draw of desks) draw()
}
