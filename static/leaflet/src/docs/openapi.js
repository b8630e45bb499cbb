// What an OpenAPI document says of requests.

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/**
 * The operations of a document by "METHOD /path": { parameters, bodyType }. Parameters are { name, in, required, choices, many, free, hint,
 * example }, all texts but for the flags; free stands for parameters of any other names, written as a query. bodyType is the media type of
 * the request's body, or ''.
 */
export function operationsOf(description) {
  const found = new Map()
  for (const [path, item] of Object.entries(description?.paths ?? {})) {
    for (const method of METHODS) {
      const operation = item?.[method]
      if (!operation) continue
      const parameters = (operation.parameters ?? []).map(one => resolved(one, description)).filter(one => one?.in === 'path' || one?.in === 'query')
      const [bodyType = ''] = Object.keys(resolved(operation.requestBody, description)?.content ?? {})
      found.set(`${method.toUpperCase()} ${path}`, { parameters: parameters.map(one => fieldOf(one, description)), bodyType })
    }
  }
  return found
}

// A reference within the document; others there are none.
function resolved(node, description) {
  const path = node?.$ref?.match(/^#\/(.+)$/)?.[1]
  if (!path) return node
  return path.split('/').reduce((at, key) => at?.[decodeURIComponent(key).replace(/~1/g, '/').replace(/~0/g, '~')], description)
}

function fieldOf({ name, in: place, required = false, schema, example, description: text = '' }, description) {
  const shape = resolved(schema, description) ?? {}
  const many = shape.type === 'array'
  const one = many ? resolved(shape.items, description) ?? {} : shape
  const choices = one.type === 'boolean' ? ['true', 'false'] : (one.enum ?? []).map(String)
  const free = shape.type === 'object'
  const usual = shape.default ?? example
  return {
    name, in: place, required, many, choices, free,
    hint: text.replaceAll('`', ''),
    example: usual === undefined ? '' : free ? queryOf(Object.entries(usual)) : [usual].flat().join(','),
  }
}

/**
 * The values that a request has for the parameters of a path, by their names: of /tiles/{z}.png and /tiles/3.png?theme=dark those of z and
 * theme. What none of the parameters is called goes to the free one.
 */
export function valuesOf(request, path, parameters = []) {
  const [address, query = ''] = request.split('?')
  const names = []
  const pattern = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, (_, name) => {
    names.push(name)
    return '([^/]+?)'
  })
  const values = new Map(new URLSearchParams(query))
  const match = new RegExp(`^${pattern}$`).exec(address)
  names.forEach((name, i) => { if (match) values.set(name, decodeURIComponent(match[i + 1])) })
  const free = parameters.find(one => one.free)
  const others = [...values].filter(([name]) => !parameters.some(one => one.name === name))
  if (free && others.length > 0) values.set(free.name, queryOf(others))
  return values
}

// Commas, colons and the like stay as they are, to be read; an apostrophe would end a word of the shell.
const encode = text => encodeURIComponent(text).replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%40', '@').replaceAll("'", '%27')

const queryOf = pairs => pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encode(value)}`).join('&')

/** The address of a request, relative to the service: path with its parameters filled in, and those of the query that have a value. */
export function addressOf(path, parameters, values) {
  const address = path.replace(/\{(\w+)\}/g, (_, name) => encode(values.get(name) ?? ''))
  const query = queryOf(parameters.filter(({ in: place, name }) => place === 'query' && values.get(name))
    .flatMap(({ name, free }) => free ? [...new URLSearchParams(values.get(name))] : [[name, values.get(name)]]))
  return address.slice(1) + (query && `?${query}`)
}
