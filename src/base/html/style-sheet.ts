/** Reads the style sheet of a mail, as far as it says what is hidden. Pure. */
import { WorkLimit } from './work-limit'

/** Properties that can hide, and those that show again. */
const PROPERTIES = new Set([
  ...['display', 'visibility', 'mso-hide', 'opacity', 'font-size', 'font', 'overflow'],
  ...['height', 'max-height', 'width', 'max-width'],
])

/** Characters of style sheets that are read. */
const MAX_SHEETS = 200_000
const MAX_RULES = 200
/** Classes of an element. */
const MAX_CLASSES = 30
/** Rules that are compared with elements, in all. */
const MAX_COMPARISONS = 200_000

/** Sheets for Outlook alone stand within a comment. */
const FOR_OUTLOOK = /<!--\[if[\s\S]*?(?:-->|$)/gi
const SHEET = /<style\b([^>]*)>([\s\S]*?)(?:<\/style|$)/gi
const COMMENT = /\/\*[\s\S]*?(?:\*\/|$)|<!--|-->/g
/** One element of its own, by its class or id: `.a`, `td.a.b`, `#c`. */
const SELECTOR = /^([a-z][a-z0-9]*|\*?)((?:[.#][\w-]+)+)$/i

/** Declared values by their property, in lower case. */
type Style = Map<string, string>

type Declaration = { property: string; value: string; is_important: boolean }
type Rule = { tag: string; classes: string[]; id: string | null; weight: number; declarations: Declaration[] }

/** Makes the function that gives the style of an element: of its attribute, and of rules for its classes and id. */
export function sheetOf(html: string): (name: string, attributes: Record<string, string>) => Style {
  const rules = readRules(html)
  const rulesOf = Map.groupBy(rules, ({ classes, id }) => (id === null ? `.${classes[0]}` : `#${id}`))
  const limit = new WorkLimit()
  let comparisons = 0
  return (name, { class: given = '', id = '', style = '' }) => {
    const own = style !== '' && limit.canRead(style) ? readDeclarations(style) : []
    if (rules.length === 0 || (given === '' && id === '')) return cascade([own])
    const classes = new Set(given.split(/\s+/, MAX_CLASSES))
    const found = [...classes].map((one) => `.${one}`).concat(`#${id}`)
    const candidates = found.flatMap((key) => rulesOf.get(key) ?? [])
    comparisons += candidates.length
    if (comparisons > MAX_COMPARISONS) return cascade([own])
    const fitting = candidates.filter((rule) => fits(rule, name, classes, id)).sort((a, b) => a.weight - b.weight)
    return cascade([...fitting.map(({ declarations }) => declarations), own])
  }
}

function fits(rule: Rule, name: string, classes: Set<string>, id: string): boolean {
  if (rule.id !== null && rule.id !== id) return false
  return (rule.tag === '' || rule.tag === name) && rule.classes.every((one) => classes.has(one))
}

/** Lets the last declaration of a property win, and important ones before all others. */
function cascade(declared: Declaration[][]): Style {
  const style: Style = new Map()
  for (const is_important of [false, true]) {
    for (const declaration of declared.flat()) {
      if (declaration.is_important === is_important) style.set(declaration.property, declaration.value)
    }
  }
  return style
}

/** Reads the rules for all screens, those that weigh more behind the others. */
function readRules(html: string): Rule[] {
  const sheets = html
    .replace(FOR_OUTLOOK, '')
    .matchAll(SHEET)
    .filter(([, attributes = '']) => !/\bmedia\s*=(?!\s*["']?(?:all|screen)\b["']?)/i.test(attributes))
    .map(([, , css = '']) => css)
  const css = [...sheets].join('\n').slice(0, MAX_SHEETS).replace(COMMENT, ' ')
  const rules: Rule[] = []
  let [depth, selectors] = [0, '']
  for (const [, text = '', brace] of css.matchAll(/([^{}]*)([{}])/g)) {
    if (brace === '{') {
      // Rules for some screens are within other braces.
      if (depth === 0) selectors = text
      depth += 1
      continue
    }
    if (depth === 1) rules.push(...rulesFor(selectors, text, rules.length))
    depth = Math.max(0, depth - 1)
    if (rules.length >= MAX_RULES) break
  }
  return rules
}

function rulesFor(selectors: string, body: string, position: number): Rule[] {
  // An at-rule of one line stands before the selector.
  const list = selectors.slice(selectors.lastIndexOf(';') + 1)
  if (list.trim().startsWith('@')) return []
  const declarations = readDeclarations(body)
  if (declarations.length === 0) return []
  return list.split(',', MAX_RULES).flatMap((selector) => {
    const [, tag = '', names = ''] = SELECTOR.exec(selector.trim()) ?? []
    if (names === '') return []
    const ids = [...names.matchAll(/#([\w-]+)/g)].map(([, id]) => id!)
    const classes = [...names.matchAll(/\.([\w-]+)/g)].map(([, one]) => one!)
    const weight = (ids.length * 100 + classes.length * 10 + (tag === '' ? 0 : 1)) * MAX_RULES + position
    return [{ tag: tag.replace('*', '').toLowerCase(), classes, id: ids[0] ?? null, weight, declarations }]
  })
}

function readDeclarations(style: string): Declaration[] {
  return style.split(';').flatMap((declaration) => {
    const colon = declaration.indexOf(':')
    const property = declaration.slice(0, colon).trim().toLowerCase()
    if (!PROPERTIES.has(property)) return []
    const written = declaration.slice(colon + 1).toLowerCase()
    const value = written.replace(/!\s*important\s*$/, '').trim()
    return [{ property, value, is_important: written.trimEnd().length > value.length + 1 && written.includes('!') }]
  })
}
