// What the reader chose on an earlier visit. Storage may be forbidden, and then a choice is for this visit only.

/** The choice of a name, or ''. */
export function kept(name) {
  try {
    return localStorage.getItem(`quadrille-${name}`) ?? ''
  } catch {
    return ''
  }
}

/** Keeps a choice, or none where it is ''. */
export function keep(name, choice) {
  try {
    if (choice) localStorage.setItem(`quadrille-${name}`, choice)
    else localStorage.removeItem(`quadrille-${name}`)
  } catch { /* then for this visit only */ }
}
