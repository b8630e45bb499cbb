// Much work that could begin at once begins one by one, each in a task of its own, so that the page stays ready in between.

const waiting = []
const channel = new MessageChannel()
channel.port1.onmessage = () => {
  waiting.shift()()
  if (waiting.length > 0) channel.port2.postMessage(null)
}

/** Resolves when it is the caller's turn, in a task of its own. */
export function turn() {
  return new Promise(resolve => {
    waiting.push(resolve)
    if (waiting.length === 1) channel.port2.postMessage(null)
  })
}
