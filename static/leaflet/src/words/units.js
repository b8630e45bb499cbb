// Kilometres or miles: what the reader chose, else what people of the language and the place reckon in.
import { kept } from '../kept.js'
import { languages } from './language.js'

// Where people reckon in miles. Most browsers of the world say en-US, so the clock must be of such a country too.
const MILES = /-(us|gb|lr|mm)$/i
const CLOCKS = /^(US|Europe\/London|Africa\/Monrovia|Asia\/(Yangon|Rangoon)|Pacific\/Honolulu|America\/(New_York|Detroit|Kentucky|Louisville|Indiana|Chicago|Menominee|North_Dakota|Denver|Boise|Phoenix|Los_Angeles|Anchorage|Juneau|Sitka|Metlakatla|Yakutat|Nome|Adak))/

/** Whether a reader of these languages and this time zone, who chose before or did not, gets miles. */
export function wantsMiles(chosen = kept('units'), [first] = languages, clock = new Intl.DateTimeFormat().resolvedOptions().timeZone) {
  return chosen === 'imperial' || chosen !== 'metric' && MILES.test(first) && CLOCKS.test(clock)
}
