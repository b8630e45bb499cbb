// Elements built without markup: text from outside only ever becomes a text node.

/**
 * A new element. Properties are set as attributes, functions under "on…" become listeners, undefined and false ones are
 * left out; children are nodes or text, as for fill.
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value === true ? '' : value)
  }
  return fill(element, ...children)
}

/** Gives an element these children and no others; those that are nothing, such as false and undefined, are left out. */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter(child => child !== undefined && child !== null && child !== '' && typeof child !== 'boolean'))
  return element
}

/** An icon of one stroked path in a 24 × 24 box, hidden from screen readers. */
export function icon(path, size = 20) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.setAttribute('width', size)
  svg.setAttribute('height', size)
  svg.setAttribute('aria-hidden', 'true')
  const shape = document.createElementNS(svg.namespaceURI, 'path')
  shape.setAttribute('d', path)
  svg.append(shape)
  return svg
}
