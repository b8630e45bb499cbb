// Holds documents of the server whose address is given against their formats.
import { validateStyleMin } from '@maplibre/maplibre-gl-style-spec'
import { Validator } from '@seriousme/openapi-schema-validator'

const site = process.argv[2]
const read = async path => (await fetch(site + path)).json()

let wrong = 0
const complain = (...what) => { wrong++; console.log(...what) }

const validator = new Validator()
const { valid, errors } = await validator.validate(await read('/openapi.json'))
if (!valid || validator.version !== '3.1') complain('/openapi.json', validator.version, JSON.stringify(errors, null, 1))

for (const path of ['/style.json', '/style.json?theme=dark', '/style.json?theme=plain', '/style.json?encoding=mlt', '/style.json?layers=country', '/style.json?layers=places,state&theme=light']) {
  for (const error of validateStyleMin(await read(path))) complain(path, error.message)
}
process.exitCode = wrong ? 1 : 0
