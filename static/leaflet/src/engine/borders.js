// How strong borders are.

/** Width in CSS pixels of a type's border at a zoom. */
export function borderWidth(type, zoom) {
  const [thin, thick] = { continent: [1, 2], country: [0.8, 2], state: [0.6, 1.4], county: [0.5, 1], river: [0.6, 1.8], road: [0.6, 1.6] }[type] ?? [0.6, 1.2]
  const grown = Math.min(1, Math.max(0, (zoom - 3) / 7))
  return thin + (thick - thin) * grown
}

/** Width in CSS pixels of the coast at a zoom: far out about that of a border. A shore is long, and bays and islands make it heavy. */
export function coastWidth(zoom) {
  return 0.9 * borderWidth('continent', zoom) * (1 - 0.5 * Math.min(1, Math.max(0, zoom - 6)))
}
