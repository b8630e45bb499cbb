// Copying to the clipboard, also where the page is not served securely and the browser withholds its clipboard.
import { el } from '../dom.js'
import { t } from '../words/words.js'

const THANKS = 1600 // milliseconds that a button says it worked

/** Copies a text; resolves to whether it worked. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

function copyBySelection(text) {
  const focused = document.activeElement
  const field = el('textarea', { class: 'visually-hidden', readonly: true, 'aria-hidden': 'true' }, text)
  const host = document.querySelector('dialog[open]') ?? document.body
  host.append(field)
  field.select()
  let copied = false
  try {
    copied = document.execCommand('copy')
  } catch { /* told by the result */ }
  field.remove()
  focused?.focus?.({ preventScroll: true })
  return copied
}

/** A button that copies what text() gives and says so, in itself and by announce(message). */
export function copyButton(label, text, announce) {
  const face = el('span', {}, label)
  let timer = 0
  const button = el('button', { type: 'button', class: 'chip', onclick: async () => {
    const worked = await copyText(text())
    face.textContent = worked ? t('Copied') : t('Not allowed here')
    announce(worked ? t('Copied') : t('The browser does not let the page copy'))
    clearTimeout(timer)
    timer = setTimeout(() => { face.textContent = label }, THANKS)
  } }, face)
  return button
}
