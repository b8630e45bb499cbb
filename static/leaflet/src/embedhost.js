// What the map in a frame and the page around it tell each other: messages { type: "quadrille:…" }. What is told is what that page could ask
// the server itself, so it goes only to origins that may read the server's answers, which the server writes into this page.

/**
 * Listens to the page around this one; on has a function for each type that it may send, called with the message. Returns what tells it something.
 */
export function createHost(on) {
  const named = document.querySelector('meta[name=quadrille-hosts]')?.content ?? ''
  const hosts = [...named.split(/[\s,]+/).filter(Boolean), location.origin]
  const open = hosts.includes('*')
  const target = open ? '*' : hosts.find(host => URL.canParse(document.referrer) && host === new URL(document.referrer).origin)
  const framed = window !== window.parent
  addEventListener('message', ({ source, origin, data }) => {
    if (!framed || source !== window.parent || !(open || hosts.includes(origin))) return
    const name = /^quadrille:([a-z]+)$/.exec(data?.type)?.[1]
    if (name && Object.hasOwn(on, name)) on[name](data)
  })
  return (name, message) => {
    if (framed && target) window.parent.postMessage({ type: `quadrille:${name}`, ...message }, target)
  }
}
