/** Tells where a statement of SQL ends. Pure. */

/** What may hold a semicolon that ends nothing: strings, names, bodies of functions, comments. Unfinished ones too. */
const ENCLOSED =
  /'(?:[^']|'')*('|$)|"(?:[^"]|"")*("|$)|\$(\w*)\$[\s\S]*?(\$\3\$|$)|--[^\n]*(\n|$)|\/\*[\s\S]*?(\*\/|$)/g

/** True when the text ends with the semicolon of a statement, and not in the middle of a string or a comment. */
export function isWhole(text: string): boolean {
  let is_open = false
  const outside = text.replace(ENCLOSED, (found, ...ends: string[]) => {
    const end = ends.slice(0, 6)
    if (end[0] === '' || end[1] === '' || end[3] === '' || end[5] === '') is_open = true
    return found.startsWith('--') || found.startsWith('/*') ? ' ' : '_'
  })
  return !is_open && /;\s*$/.test(outside)
}
