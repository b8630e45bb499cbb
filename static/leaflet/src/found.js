// The card of a place that was searched for.
import { facts, problem } from './card.js'
import { coordinates, countryName, displayText, placeKind, population, title } from './format.js'

/** Answers of the search box. goTo moves the map to a place, pin marks it, signal() ends the question before. */
export function createFound({ card, pin, select, goTo, signal }) {
  return {
    show(place) {
      signal()
      select(null)
      pin(place)
      const kind = placeKind(place.class, place.code, place.population)
      card.show({ kicker: title(kind), title: displayText(place.name), subtitle: coordinates(place.lat, place.lon, 4) }, facts(rows(place)))
      goTo(place)
    },
    nothing(text, message) {
      signal()
      select(null)
      pin(null)
      card.show({ kicker: 'Places', title: displayText(text, 64) }, problem(message))
    },
  }
}

function rows(place) {
  return [
    ['Code', [place.iata, place.icao].map(code => displayText(code, 8)).filter(Boolean).join(' · ')],
    ['Division', displayText(place.admin1_name)],
    ['Country', countryName(place.country)],
    ['Population', population(place.population)],
    ['Time zone', displayText(place.timezone)],
    ['GeoNames id', displayText(place.id)],
  ]
}
