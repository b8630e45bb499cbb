// What the page says, in the reader's language. The English words are the keys; src/words has a plain file for every other
// language, of English words and what they are called there.
import { kept } from '../kept.js'
import { languages } from './language.js'

const files = {
  de: () => import('./de.json', { with: { type: 'json' } }),
  fr: () => import('./fr.json', { with: { type: 'json' } }),
  es: () => import('./es.json', { with: { type: 'json' } }),
  pt: () => import('./pt.json', { with: { type: 'json' } }),
  it: () => import('./it.json', { with: { type: 'json' } }),
  nl: () => import('./nl.json', { with: { type: 'json' } }),
  pl: () => import('./pl.json', { with: { type: 'json' } }),
  ru: () => import('./ru.json', { with: { type: 'json' } }),
  tr: () => import('./tr.json', { with: { type: 'json' } }),
  ar: () => import('./ar.json', { with: { type: 'json' } }),
  hi: () => import('./hi.json', { with: { type: 'json' } }),
  zh: () => import('./zh.json', { with: { type: 'json' } }),
  ja: () => import('./ja.json', { with: { type: 'json' } }),
  ko: () => import('./ko.json', { with: { type: 'json' } }),
}

/** The languages that the page speaks, as codes, each with its own name for itself. */
export const SPOKEN = Object.freeze({
  en: 'English', de: 'Deutsch', fr: 'Français', es: 'Español', pt: 'Português', it: 'Italiano', nl: 'Nederlands', pl: 'Polski',
  ru: 'Русский', tr: 'Türkçe', ar: 'العربية', hi: 'हिन्दी', zh: '中文', ja: '日本語', ko: '한국어',
})

/** The language that the page speaks to a reader who prefers these: what was chosen before, else the first that it can. */
export function spoken(preferred, chosen = '') {
  return [chosen, ...preferred].map(code => code.toLowerCase().split('-')[0]).find(code => Object.hasOwn(SPOKEN, code)) ?? 'en'
}

// The language that the page's own address asks for by lang=, which comes before what the reader keeps, or ''.
const asked = new URLSearchParams(globalThis.location?.search).get('lang') ?? ''
const wanted = Object.hasOwn(SPOKEN, asked.toLowerCase().split('-')[0]) ? asked : Object.hasOwn(SPOKEN, kept('language')) ? kept('language') : ''

/** The code of the page's language. */
export const language = spoken(languages, wanted)

// Loaded before any module that says something; the page speaks English rather than nothing.
const words = await (files[language]?.() ?? Promise.resolve({ default: {} })).then(file => file.default, () => ({}))

/** The languages for names of places: the page's before the others that the reader prefers. */
export const nameLanguages = wanted ? [language, ...languages.filter(code => code.split('-')[0] !== language)] : languages

/** The BCP 47 tag for numbers and dates: English readers get 24 hours and days before months. */
export const locale = language === 'en' ? 'en-GB' : preferredTag()

/** ltr or rtl, how the page's language is written. */
export const direction = language === 'ar' ? 'rtl' : 'ltr'

const plurals = new Intl.PluralRules(locale)
/** How numbers are written. */
export const number = new Intl.NumberFormat(locale)

// What English says differently for one thing; the other languages' files hold all their forms.
const ones = {
  '{count} points': '{count} point', '{count} corners': '{count} corner', '{count} more places': '{count} more place', '{count} people': '{count} person',
  '{count} seconds': '{count} second', '{count} minutes': '{count} minute', '{count} hours': '{count} hour',
}

/**
 * What an English sentence is in the page's language. Each {name} in it is replaced by the value of that name; a number called
 * count also chooses the form for one thing or for many. A sentence without a translation stays as it is.
 */
export function t(english, values = {}) {
  const known = Object.hasOwn(words, english) ? words[english] : { one: ones[english], other: english }
  const text = typeof known === 'string' ? known : known[plurals.select(values.count ?? 2)] ?? known.other
  return text.replace(/\{(\w+)\}/g, (all, name) => {
    const value = values[name]
    return value === undefined ? all : typeof value === 'number' ? number.format(value) : String(value)
  })
}

/** Puts the document in the page's language: its tag, its direction, and the texts that its markup has in English. */
export function translate(root) {
  root.lang = language
  root.dir = direction
  for (const node of root.querySelectorAll('[data-words]')) {
    for (const name of node.dataset.words.split(' ')) {
      if (name === 'text') node.textContent = t(node.textContent.trim().replace(/\s+/g, ' '))
      else node.setAttribute(name, t(node.getAttribute(name).replace(/\s+/g, ' ')))
    }
  }
}

// The reader's own way with numbers, where the browser names a country too: de-CH, not de.
function preferredTag() {
  return languages.find(code => code.toLowerCase().split('-')[0] === language) ?? language
}
