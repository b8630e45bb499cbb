// The languages the reader prefers. Names of places come in the reader's language where the data have one; words.js has what
// the page itself says.

const LONGEST = 16 // characters of a code that the server takes

/** The codes among the browser's languages that are well formed, the most wanted first; English when it names none. */
export function wellFormed(codes) {
  const good = (Array.isArray(codes) ? codes : []).filter(code => typeof code === 'string' && /^[a-z]{2,3}(-[a-z0-9]{1,8}){0,3}$/i.test(code))
  return good.length > 0 ? good.slice(0, 8) : ['en']
}

/** The reader's languages. */
export const languages = Object.freeze(wellFormed(globalThis.navigator?.languages))

/** The language to ask the server for. All English readers share one, and with it the answers that caches keep. */
export function askedLanguage([first] = languages) {
  if (/^en\b/i.test(first)) return 'en'
  return first.length <= LONGEST ? first : first.split('-')[0]
}

/** One of the names of a record by language code, { en: "Vienna", de: "Wien" }: the first the reader wants, else English. */
export function nameIn(names, wanted = languages) {
  for (const code of [...wanted, 'en']) {
    for (const key of [code, code.split('-')[0]]) {
      if (typeof names?.[key] === 'string' && Object.hasOwn(names, key)) return names[key]
    }
  }
  return ''
}
