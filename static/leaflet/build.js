// Bundles the pages into dist/: index.html, embed.html, assets/ with a hash of the content in each name (a server may let browsers
// keep them for ever) and the same packed with brotli beside it, and licenses.txt with the licences of what was bundled.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { fileURLToPath } from 'node:url'
import * as esbuild from 'esbuild'
import { tokensPlugin } from './tokens-css.js'

const root = path.dirname(fileURLToPath(import.meta.url))
const dist = path.join(root, 'dist')

const common = {
  absWorkingDir: root,
  outdir: 'dist',
  entryNames: 'assets/[name]-[hash]',
  assetNames: 'assets/[name]-[hash]',
  bundle: true,
  minify: true,
  target: ['es2022', 'chrome111', 'firefox113', 'safari16.4'],
  charset: 'utf8',
  legalComments: 'none', // licenses.txt holds the full texts
  metafile: true,
  logLevel: 'warning',
}
const inputs = new Set()

await clean(dist)
// No module worker: some browsers of the list above have none, and in one file there is nothing to import.
const worker = await bundle({ entryPoints: [{ in: 'src/engine/tileworker.js', out: 'tileworker' }], format: 'iife' })
const modules = {
  loader: { '.png': 'file', '.svg': 'copy' },
  // Leaflet's main file is a browser global; its module form lets the bundler drop what the page does not use.
  alias: { leaflet: 'leaflet/dist/leaflet-src.esm.js' },
  plugins: [tokensPlugin],
  format: 'esm',
  splitting: true, // the words of another language are a file of their own
  chunkNames: 'assets/[name]-[hash]',
  define: { TILE_WORKER: JSON.stringify(`./${path.posix.basename(built(worker, 'src/engine/tileworker.js'))}`) }, // beside the main script
}

// The map page, the map that other pages embed and the documents are bundled apart: a browser that embeds has no use for the rest,
// and none waits for a part that they share.
const shared = [{ in: 'src/dark.css', out: 'dark' }, { in: 'src/icon.svg', out: 'icon' }]
const pages = {
  'index.html': [{ in: 'src/main.js', out: 'map' }, { in: 'src/style.css', out: 'map' }, ...shared],
  'embed.html': [{ in: 'src/embed.js', out: 'embed' }, { in: 'src/embed.css', out: 'embed' }, ...shared],
}
for (const [page, entryPoints] of Object.entries(pages)) {
  const metafile = await bundle({ ...modules, entryPoints })
  const template = await readFile(path.join(root, 'src', page), 'utf8')
  await writeFile(path.join(dist, page), template.replace(/%([\w./]+)%/g, (_, entry) => built(metafile, entry)))
}
// The description of the interface is written by the server, which does not know hashes: it asks for this name.
const docs = await bundle({ ...modules, entryPoints: [{ in: 'src/docs/main.js', out: 'docs' }] })
await writeFile(path.join(dist, 'docs.js'), `import './${built(docs, 'src/docs/main.js')}'\n`)
await writeFile(path.join(dist, 'licenses.txt'), await licenses([...inputs]))

// What is sent to every reader is packed once, as small as it can be.
for (const name of await readdir(path.join(dist, 'assets'))) {
  const file = path.join(dist, 'assets', name)
  if (/\.(js|css|svg)$/.test(name)) await writeFile(`${file}.br`, brotliCompressSync(await readFile(file)))
}

// bundle writes the entry points and what they import, and returns what esbuild says of it.
async function bundle(options) {
  const { metafile } = await esbuild.build({ ...common, ...options })
  for (const input of Object.keys(metafile.inputs)) inputs.add(input)
  for (const [file, { bytes }] of Object.entries(metafile.outputs)) console.log(`${file}  ${(bytes / 1024).toFixed(1)} KiB`)
  return metafile
}

// built is what the bundler made of an entry point, as an address below the page.
function built(metafile, entry) {
  const [file] = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === entry) ?? []
  if (!file) throw new Error(`the bundler wrote nothing for ${entry}`)
  return path.posix.relative('dist', file)
}

// clean removes the last build and keeps the one file that is under version control.
async function clean(dir) {
  for (const name of await readdir(dir)) {
    if (name !== 'README.md') await rm(path.join(dir, name), { recursive: true })
  }
}

// licenses joins the licence texts of every package that one of the input files came from.
async function licenses(inputs) {
  const packages = new Set(inputs.map(file => file.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]).filter(Boolean))
  const texts = await Promise.all([...packages].sort().map(async name => {
    const dir = path.join(root, 'node_modules', name)
    const { version, license } = JSON.parse(await readFile(path.join(dir, 'package.json'), 'utf8'))
    const file = (await readdir(dir)).find(entry => /^licen[sc]e/i.test(entry))
    if (!file) throw new Error(`${name} is bundled but carries no licence text`)
    return `${name} ${version} (${license})\n\n${(await readFile(path.join(dir, file), 'utf8')).trim()}\n`
  }))
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}
