// Bundles the page into dist/: index.html, assets/ with a hash of the content in each name (a server may let browsers
// keep them for ever), and licenses.txt with the licences of what was bundled.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
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
const metafile = { inputs: {}, outputs: {} }

async function bundle(options) {
  const result = await esbuild.build({ ...common, ...options })
  for (const part of ['inputs', 'outputs']) Object.assign(metafile[part], result.metafile[part])
}

await clean(dist)
// No module worker: some browsers of the list above have none, and in one file there is nothing to import.
await bundle({ entryPoints: [{ in: 'src/tileworker.js', out: 'tileworker' }], format: 'iife' })
await bundle({
  entryPoints: [{ in: 'src/main.js', out: 'map' }, { in: 'src/style.css', out: 'map' }, { in: 'src/dark.css', out: 'dark' }, { in: 'src/icon.svg', out: 'icon' },
    { in: 'src/docs/main.js', out: 'docs' }],
  loader: { '.png': 'file', '.svg': 'copy' },
  // Leaflet's main file is a browser global; its module form lets the bundler drop what the page does not use.
  alias: { leaflet: 'leaflet/dist/leaflet-src.esm.js' },
  plugins: [tokensPlugin],
  format: 'esm',
  splitting: true, // the words of another language are a file of their own
  chunkNames: 'assets/[name]-[hash]',
  define: { TILE_WORKER: JSON.stringify(`./${path.posix.basename(built('src/tileworker.js'))}`) }, // beside the main script
})

function built(entry) {
  const [file] = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === entry) ?? []
  if (!file) throw new Error(`the bundler wrote nothing for ${entry}`)
  return path.posix.relative('dist', file)
}

const template = await readFile(path.join(root, 'src/index.html'), 'utf8')
const page = template.replace(/%([\w./]+)%/g, (_, entry) => built(entry))
await writeFile(path.join(dist, 'licenses.txt'), await licenses(Object.keys(metafile.inputs)))
await writeFile(path.join(dist, 'index.html'), page)
// The description of the interface is written by the server, which does not know hashes: it asks for this name.
await writeFile(path.join(dist, 'docs.js'), `import './${built('src/docs/main.js')}'\n`)

for (const [file, { bytes }] of Object.entries(metafile.outputs)) console.log(`${file}  ${(bytes / 1024).toFixed(1)} KiB`)

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
