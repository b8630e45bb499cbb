// The design tokens as CSS custom properties. A sheet has those of a theme by @import 'tokens:light' or 'tokens:dark', and
// fonts and sizes by @import 'tokens:type'.
import { themes, type } from './src/tokens.js'

/**
 * The sheet of a name: "light", "dark" or "type".
 *
 * Colours of the interface have their own name: --surface. Those of the map start with --map: --map-water, --map-land-0,
 * --map-border-country. Those of labels start with --ink: --ink-country; their halo is --halo. Sizes are --size-body,
 * weights --weight-strong, fonts --font-text.
 */
export function tokensCSS(name) {
  const rules = name === 'type' ? typeRules() : [`color-scheme: ${name}`, ...colourRules(themes[name])]
  return `:root {\n${rules.map(rule => `  ${rule};\n`).join('')}}\n`
}

function colourRules({ map, label: { halo, ...inks }, ui }) {
  return [...rules('--map', map), ...rules('--ink', inks), `--halo: ${halo}`, ...rules('-', ui)]
}

function typeRules() {
  const quoted = font => /^[\w-]+$/.test(font) ? font : `'${font}'`
  const px = sizes => Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, `${size}px`]))
  return [
    ...Object.entries(type.fonts).map(([name, fonts]) => `--font-${name}: ${fonts.map(quoted).join(', ')}`),
    ...rules('--size', px(type.sizes)), ...rules('--weight', type.weights),
  ]
}

// Nested objects and lists add their keys to the name.
function rules(start, values) {
  return Object.entries(values).flatMap(([name, value]) =>
    typeof value === 'object' ? rules(`${start}-${name}`, value) : [`${start}-${name}: ${value}`])
}

/** esbuild's plugin that answers imports of tokens:NAME. */
export const tokensPlugin = {
  name: 'tokens',
  setup(build) {
    build.onResolve({ filter: /^tokens:/ }, ({ path }) => ({ path: path.slice('tokens:'.length), namespace: 'tokens' }))
    build.onLoad({ filter: /^(light|dark|type)$/, namespace: 'tokens' }, ({ path }) => ({ contents: tokensCSS(path), loader: 'css' }))
  },
}
