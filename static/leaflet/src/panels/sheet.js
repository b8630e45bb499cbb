// The card of a narrow screen: a sheet that a finger drags between three stops. It peeks out with its head, takes half of the screen, or
// all of it, where its content scrolls. The style sheet says how high each stop is; elsewhere none of this shows.

const STOPS = ['peek', 'half', 'full']
const SLOP = 5 // CSS pixels that a finger moves before it drags
const FLICK = 0.4 // CSS pixels a millisecond that send the sheet to the next stop
const LATELY = 100 // milliseconds before a finger lets go that tell how fast it is

/** The stop that a sheet goes to which is let go at a height, with a speed upwards. heights are those of the stops, from below. */
export function stopAfter(height, speed, heights) {
  const further = speed > 0 ? heights.findIndex(one => one > height) : heights.findLastIndex(one => one < height)
  if (Math.abs(speed) > FLICK && further >= 0) return further
  const away = heights.map(one => Math.abs(one - height))
  return away.indexOf(Math.min(...away))
}

/** Makes a sheet of an element whose handle is a button of the class "handle". */
export function createSheet(root) {
  let stop = 'half'
  let drag = null // { id, x, y, byHandle } of a finger; once it has moved { heights, height } too, and where it was lately
  let moved = false // since the finger came down, so that what it lets go of is not pressed

  // How high a stop is now. What the card has may be less than there is room for.
  function heightOf(one) {
    show(one)
    return root.offsetHeight
  }
  function show(one) {
    for (const name of STOPS) root.classList.toggle(name, name === one)
    const head = one === 'peek' && root.querySelector('header')
    if (head) root.style.setProperty('--peek', `${head.offsetTop + head.offsetHeight + 8}px`)
  }
  function settle(one) {
    if (one !== 'full') root.scrollTop = 0
    stop = one
    drag = null
    root.classList.remove('dragged')
    root.style.maxHeight = ''
    api.fit()
  }
  function begin() {
    root.classList.add('dragged')
    const height = root.offsetHeight
    Object.assign(drag, { height, heights: STOPS.map(heightOf), lately: [] })
    show('full')
    root.setPointerCapture(drag.id)
    moved = true
  }

  const events = {
    pointerdown(event) {
      const { pointerId: id, clientX: x, clientY: y, target, pointerType } = event
      const byHandle = target.closest('.handle') !== null
      if (drag?.heights) settle(stop) // a second finger
      drag = null
      moved = false
      if (event.isPrimary && event.button === 0 && (byHandle || pointerType !== 'mouse' && !target.closest('select, input'))) drag = { id, x, y, byHandle }
    },
    pointermove({ pointerId, clientX, clientY, timeStamp }) {
      if (drag?.id !== pointerId) return
      const [x, y] = [clientX - drag.x, clientY - drag.y]
      if (!drag.heights) {
        if (Math.hypot(x, y) < SLOP) return
        const scrolls = stop === 'full' && !drag.byHandle && (y < 0 || root.scrollTop > 0)
        if (Math.abs(x) > Math.abs(y) || scrolls) drag = null
        else if (getComputedStyle(root.querySelector('.handle')).display !== 'none') begin()
      }
      if (!drag?.heights) return
      const [least, , most] = drag.heights
      root.style.maxHeight = `${Math.min(most, Math.max(least, drag.height - y))}px`
      drag.lately = [...drag.lately.filter(([time]) => timeStamp - time < LATELY), [timeStamp, y]]
    },
    pointerup({ pointerId, timeStamp }) {
      if (drag?.id !== pointerId) return
      const { heights, lately } = drag
      drag = null
      if (!heights) return
      const [[from, start], [to, end]] = [lately[0], lately.at(-1)]
      const speed = timeStamp - to < LATELY && to > from ? (start - end) / (to - from) : 0
      settle(STOPS[stopAfter(root.offsetHeight, speed, heights)])
    },
    pointercancel({ pointerId }) {
      if (drag?.id === pointerId) settle(stop)
    },
    keydown(event) {
      const by = { ArrowUp: 1, ArrowDown: -1 }[event.key]
      if (!by || !event.target.matches('.handle')) return
      event.preventDefault()
      settle(STOPS[STOPS.indexOf(stop) + by] ?? stop)
    },
    // Who comes to the content of a sheet that only peeks out sees it.
    focusin({ target }) {
      if (stop === 'peek' && !drag && target.closest('.chips, .content')) settle('half')
    },
  }
  for (const [name, listener] of Object.entries(events)) root.addEventListener(name, listener)
  // What a finger lets go of is clicked at once, if at all: the next click may be a key's.
  for (const end of ['pointerup', 'pointercancel']) root.addEventListener(end, () => setTimeout(() => { moved = false }))
  // The map is about to fly somewhere, which a sheet over all of it would hide. It is lower at once, since the flight asks how high it is.
  root.addEventListener('uncover', () => {
    if (stop !== 'full') return
    root.classList.add('dragged')
    heightOf('half')
    settle('half')
  })
  // A browser scrolls with a finger unless its first step is taken from it.
  root.addEventListener('touchmove', event => { if (drag?.heights && event.cancelable) event.preventDefault() }, { passive: false })
  root.addEventListener('click', event => {
    if (!moved) return
    event.preventDefault()
    event.stopPropagation()
    moved = false
  }, true)

  const api = {
    /** Whether it is as high as it can be. */
    get full() { return stop === 'full' },

    /** Makes it higher, and from its highest as high as it was before. */
    turn: () => settle({ peek: 'half', half: 'full', full: 'half' }[stop]),

    /** Shows its stop, after what it has was changed. */
    fit() {
      show(stop)
      root.querySelector('.handle')?.setAttribute('aria-expanded', String(stop === 'full'))
    },
  }
  return api
}
