// Just enough of a document for elements to be made and read in tests.
class FakeElement {
  constructor(name) {
    this.tagName = name
    this.attributes = new Map()
    this.childNodes = []
    this.listeners = {}
    this.hidden = false
    this.classList = { add: () => {}, toggle: () => {} }
  }

  setAttribute(name, value) { this.attributes.set(name, String(value)) }
  addEventListener(name, listener) { this.listeners[name] = listener }
  append(...children) { this.childNodes.push(...children.map(child => child instanceof FakeElement ? child : String(child))) }
  replaceChildren(...children) {
    this.childNodes = []
    this.append(...children)
  }

  contains() { return false }
  querySelector() { return null }
  get className() { return this.attributes.get('class') ?? '' }
  set textContent(text) { this.childNodes = [text] }
  get textContent() { return this.childNodes.map(child => child.textContent ?? child).join('') }
  get all() { return [this, ...this.childNodes.flatMap(child => child.all ?? [])] }
}

process.env.TZ = 'UTC' // where nobody reckons in miles

globalThis.document = {
  baseURI: 'http://maps.example/',
  createElement: name => new FakeElement(name),
  createElementNS: (_, name) => Object.assign(new FakeElement(name), { namespaceURI: 'svg' }),
}

export const element = name => new FakeElement(name)

/** Lets fetch give one answer, { status, headers, body }, or fail with an error. */
export function answerWith(answer) {
  globalThis.fetch = async (_, { signal } = {}) => {
    signal?.throwIfAborted()
    if (answer instanceof Error) throw answer
    const { status = 200, headers = {}, body = '', broken } = answer
    return {
      ok: status >= 200 && status < 300, status, headers: new Headers(headers),
      text: async () => { if (broken) throw broken; return body },
      arrayBuffer: async () => { if (broken) throw broken; return new TextEncoder().encode(body).buffer },
      json: async () => JSON.parse(body),
    }
  }
}
