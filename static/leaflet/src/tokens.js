// The design tokens: every colour and size of the page, of the styles for other clients and of the PNG tiles is written in
// tokens.json, and only there.
import tokens from './tokens.json' with { type: 'json' }

/** Colours by theme: { map, label, ui }, as #rrggbb or #rrggbbaa. Only "light" and "dark" have an interface. */
export const themes = tokens.themes

/** Fonts, sizes in CSS pixels and weights of the interface. */
export const type = tokens.type
