// Calls over a message port: one side asks, the other works through the questions one by one. The map's tiles are decoded and
// painted this way, by a worker or, where there is none, by the page itself.

/**
 * Answers the calls that come in on a port by methods, { name: async args => value }. Each call is work of its own for the
 * event loop, so that a cancellation reaches what still waits. A method's value may be { transfer, … }: what is listed there
 * is handed over and not copied.
 */
export function serve(port, methods) {
  const waiting = new Map() // id → call
  const turn = new MessageChannel()
  let working = false
  const next = () => turn.port2.postMessage(null)
  turn.port1.onmessage = async () => {
    const [call] = waiting.values()
    if (!call) {
      working = false
      return
    }
    waiting.delete(call.id)
    try {
      const value = await methods[call.method](call.args)
      port.postMessage({ id: call.id, value }, value?.transfer ?? [])
    } catch ({ name, message }) {
      port.postMessage({ id: call.id, error: { name, message } })
    }
    next()
  }
  port.onmessage = ({ data: { id, method, args, cancel } }) => {
    if (cancel) {
      waiting.delete(id)
      return
    }
    waiting.set(id, { id, method, args })
    if (!working) next()
    working = true
  }
  port.postMessage({ ready: true })
  return { close: () => turn.port1.close() }
}

/**
 * The asking side of a port: { ready, call, failed }. call(method, args, { transfer, signal }) is the promise of the value; a signal
 * takes the call back. Nothing is sent before the other side is ready, so what was handed over is never lost on the way.
 * failed(error) tells that the other side does not begin; later it does nothing.
 */
export function connect(port) {
  const asked = new Map() // id → { resolve, reject }
  let last = 0
  let begin, failed
  const ready = new Promise((resolve, reject) => { [begin, failed] = [resolve, reject] })
  ready.catch(() => {}) // each call tells of it
  port.onmessage = ({ data: { id, value, error, ready: begun } }) => {
    if (begun) {
      begin()
      return
    }
    const call = asked.get(id)
    asked.delete(id)
    if (error) call?.reject(Object.assign(new Error(error.message), { name: error.name }))
    else if (call) call.resolve(value)
    else value?.transfer?.forEach(part => part.close?.()) // a picture that nobody waits for any more
  }
  return {
    ready,
    failed,

    async call(method, args, { transfer = [], signal } = {}) {
      await ready
      signal?.throwIfAborted()
      const id = ++last
      return new Promise((resolve, reject) => {
        asked.set(id, { resolve, reject })
        port.postMessage({ id, method, args }, transfer)
        signal?.addEventListener('abort', () => {
          if (!asked.delete(id)) return
          port.postMessage({ id, cancel: true })
          reject(signal.reason)
        }, { once: true })
      })
    },
  }
}
