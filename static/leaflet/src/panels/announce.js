// Short sentences for screen readers, at most one at a time.

/** A function that lets screen readers say a sentence, also the same once more. root is an empty live region. */
export function createAnnouncer(root) {
  let timer = 0
  return sentence => {
    root.textContent = ''
    clearTimeout(timer)
    timer = setTimeout(() => { root.textContent = sentence }, 50) // a change of nothing is not said
  }
}
