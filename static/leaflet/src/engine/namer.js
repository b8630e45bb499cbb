// What regions and places are called in the reader's language: by the data where they say so, countries also by the browser.
import { displayText } from '../words/text.js'

const LONGEST = 60 // characters

/**
 * A function (type, id, properties) → name, or ''. languages are codes, the most wanted first; none for the data's own name.
 * Of a country with an ISO code for id the browser knows the names too.
 */
export function namer(languages) {
  const wanted = [...new Set(languages.flatMap(code => [code, code.split('-')[0]]))]
  const countries = languages.length > 0 ? countryNames(languages) : () => undefined
  return (type, id, properties) => {
    for (const code of wanted) {
      const name = displayText(properties[`name:${code}`] ?? properties[`name_${code}`], LONGEST)
      if (name) return name
    }
    return (type === 'country' && /^[a-z]{2}$/i.test(id) && countries(id.toUpperCase())) || displayText(properties.name, LONGEST)
  }
}

function countryNames(languages) {
  try {
    const [short, long] = ['short', 'long'].map(style => new Intl.DisplayNames(languages, { type: 'region', style, fallback: 'none' }))
    return code => /^\p{Lu}+$/u.test(short.of(code)) ? long.of(code) : short.of(code) // no map says US or UK
  } catch {
    return () => undefined
  }
}
