// Text from outside, made fit to be shown.

// Format characters that reorder or hide neighbouring text, beside the control characters: bidirectional overrides and
// isolates, zero-width spaces, the byte order mark. Joiners (U+200C, U+200D) stay: several scripts spell with them.
const unseen = /[\p{Cc}\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF]+/gu

/** Text from outside made fit for one line: control and reordering characters out, blanks joined, length bounded. */
export function displayText(value, limit = 200) {
  if (typeof value !== 'string' && typeof value !== 'number') return ''
  const text = String(value).slice(0, limit * 8).replace(unseen, ' ').replace(/\s+/g, ' ').trim()
  const characters = Array.from(text)
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join('')}…`
}
