/**
 * Finds tables that a SQL template names without their organization. It reads words and brackets, not a grammar,
 * because most templates are parts of statements, which no parser takes. So a template that names a table names its
 * organization too, in the same query: in `where`, or in the `on` of its own join.
 */
import ts from 'typescript-5'
import { nameOf, nodesOf } from './sources'
import { type Group, itemsOf, readTemplate, type Token, textOf } from './sql-tokens'

/** A table that is named without its organization. `within` is the function around it. */
export type Unbound = { table: string; within: string; line: number; why: string }

/** Tables with their columns that have the organization's id. */
export type TenantTables = ReadonlyMap<string, string>

type Reference = { table: string; alias: string; query: number; join: number }
type Condition = { column: string; query: number; clause: 'where' | number }
type Missing = Pick<Unbound, 'table' | 'why'>

/** Only such an expression is the organization of the request. */
const ORGANIZATION = /^(\w+[!?]?\.)*organization_id$/
/** A table that only the running program knows. */
const NAMED_LATER = /^(\w+\.)*sql\(/
const QUERY = /^(select|with|values|insert|update|delete|from|join|left|inner|cross)$/
const AFTER_TABLES =
  /^(select|where|group|order|having|limit|offset|for|returning|set|values|window|union|intersect|except)$/
const NO_ALIAS = /^(on|using|join|left|right|inner|cross|full|natural|lateral|default|overriding|tablesample)$/

/** Every table of the templates and of Drizzle's calls in a file that is named without its organization. */
export function findUnbound(text: string, tables: TenantTables): Unbound[] {
  // No statement is written without one of these words: half of the files are not parsed.
  if (!/sql|db|select|insert|update|delete/i.test(text)) return []
  const source = ts.createSourceFile('file.ts', text, ts.ScriptTarget.Latest, true)
  return nodesOf(source).flatMap((node) => {
    const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1
    return missingAt(node, tables).map((missing) => ({ ...missing, within: functionAround(node), line }))
  })
}

/** The lines of a file whose templates have an array slice without a beginning or an end, such as `a[2:]`. */
export function findOpenSlices(text: string): number[] {
  if (!/:\s*\]|\[\s*:/.test(text)) return []
  const source = ts.createSourceFile('file.ts', text, ts.ScriptTarget.Latest, true)
  return nodesOf(source).flatMap((node) => {
    const template = templateAt(node)
    if (!template || !hasOpenSlice(readTemplate(template))) return []
    return source.getLineAndCharacterOfPosition(node.getStart()).line + 1
  })
}

function hasOpenSlice({ tokens }: Group): boolean {
  return tokens.some((token, at) => {
    if (token.kind === 'group') return hasOpenSlice(token)
    return textOf(token) === ':' && (textOf(tokens[at - 1]) === '[' || textOf(tokens[at + 1]) === ']')
  })
}

/** The SQL at a node, if there is some. */
function templateAt(node: ts.Node): ts.TemplateLiteral | undefined {
  if (ts.isTaggedTemplateExpression(node)) return node.template
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined
  const [argument] = node.arguments
  const is_sql = node.expression.name.text === 'unsafe' && argument && ts.isTemplateLiteral(argument)
  return is_sql ? argument : undefined
}

function missingAt(node: ts.Node, tables: TenantTables): Missing[] {
  const template = templateAt(node)
  if (template) return missingInTemplate(template, tables)
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return []
  const [argument] = node.arguments
  const method = node.expression.name.text
  const table = argument?.getText() ?? ''
  return /^(update|delete|insert)$/.test(method) && tables.has(table) ? missingInCall(node, method, table, tables) : []
}

function missingInTemplate(template: ts.TemplateLiteral, tables: TenantTables): Missing[] {
  const root = readTemplate(template)
  const organizations = [...new Set(organizationsIn(root))]
  const several = organizations.length > 1 ? [{ table: organizations.join(', '), why: 'several organizations' }] : []
  return [...several, ...missingIn(root, tables, true)]
}

function organizationsIn({ tokens }: Group): string[] {
  return tokens.flatMap((token) => {
    if (token.kind === 'group') return organizationsIn(token)
    return token.kind === 'value' && ORGANIZATION.test(token.text) ? [token.text] : []
  })
}

/** Drizzle: the first condition is that of the organization. */
function missingInCall(node: ts.Node, method: string, table: string, tables: TenantTables): Missing[] {
  let chain = node
  while (ts.isPropertyAccessExpression(chain.parent) || ts.isCallExpression(chain.parent)) chain = chain.parent
  const column = tables.get(table)!
  const names =
    method === 'insert'
      ? /\.values\(\{[^}]*\borganization_id\b|\.values\(\w+/
      : new RegExp(`\\.where\\(\\s*(and\\(\\s*)?eq\\(${table}\\.${column}, (\\w+\\.)*organization_id\\)`)
  return column === 'id' && method === 'insert'
    ? []
    : names.test(chain.getText())
      ? []
      : [{ table, why: `Drizzle's ${method}` }]
}

/** Reads one level: brackets without a query of their own belong to it. */
function missingIn(group: Group, tables: TenantTables, is_root = false): Missing[] {
  const level = new Level(tables)
  const { tokens } = group
  tokens.forEach((_, index) => {
    level.read(tokens, index, is_root)
  })
  return [...level.inner.flatMap((inner) => missingIn(inner, tables)), ...level.missing()]
}

class Level {
  readonly inner: Group[] = []
  private readonly references: Reference[] = []
  private readonly conditions: Condition[] = []
  private readonly wrong: Missing[] = []
  private query = 0
  private clause: 'tables' | 'on' | 'where' | 'other' = 'other'
  private has_or = new Set<string>()

  constructor(private readonly tables: TenantTables) {}

  read(tokens: Token[], index: number, is_root: boolean): void {
    const token = tokens[index]!
    if (token.kind === 'group') {
      if (isQuery(token) || this.clause !== 'tables') this.inner.push(token)
      else this.readJoins(token)
      return
    }
    const before = textOf(tokens[index - 1])
    if (this.isTablePlace(token, before, index === 0 && is_root && tokens.length < 4)) this.add(tokens, index)
    else this.enter(textOf(token), before, textOf(tokens[index + 1]))
    this.note(tokens, index)
  }

  /** `from (a join b on …) join c`. */
  private readJoins(group: Group): void {
    group.tokens.forEach((_, index) => {
      this.read(group.tokens, index, false)
    })
    this.clause = 'tables'
  }

  private enter(word: string, before: string, next: string): void {
    if (/^(union|intersect|except)$/.test(word)) this.query++
    if (/^(select|insert|delete)$/.test(word) || (word === 'update' && !/^(for|key|do)$/.test(before))) this.query++
    if (word === 'or') this.has_or.add(this.place())
    if (/^(from|join)$/.test(word) && before !== 'distinct') this.clause = 'tables'
    else if (word === 'using' || word === 'into' || (word === 'update' && !/^(for|key|do)$/.test(before)))
      this.clause = 'tables'
    else if (word === 'on') this.clause = next === 'conflict' || before === 'distinct' ? 'other' : 'on'
    else if (word === ',' && this.clause === 'on') this.clause = 'tables'
    else if (word === 'where') this.clause = 'where'
    else if (AFTER_TABLES.test(word)) this.clause = 'other'
  }

  private isTablePlace(token: Token, before: string, is_bare: boolean): boolean {
    const is_place = this.clause === 'tables' && /^(from|join|update|into|using|,|only|lateral)$/.test(before)
    if (token.kind === 'value') return is_place && NAMED_LATER.test(token.text)
    return token.kind === 'word' && (is_place || is_bare) && this.tables.has(nameIn(token.text))
  }

  private add(tokens: Token[], index: number): void {
    const token = tokens[index] as { text: string }
    const table = nameIn(token.text)
    const next = textOf(tokens[index + 1])
    const named = next === 'as' ? textOf(tokens[index + 2]) : next
    const alias = /^[a-z_]\w*$/.test(named) && !AFTER_TABLES.test(named) && !NO_ALIAS.test(named) ? named : table
    if (textOf(tokens[index - 1]) === 'into') {
      this.clause = 'other'
      this.wrong.push(...missingInInsert(tokens, index, table, this.tables))
    } else this.references.push({ table, alias, query: this.query, join: this.references.length })
  }

  /** `x.organization_id = ${organization_id}`, after `where`, `and` or `on`. */
  private note(tokens: Token[], index: number): void {
    const value = tokens[index]!
    if (value.kind !== 'value' || !ORGANIZATION.test(value.text)) return
    const [start, name, sign] = tokens.slice(Math.max(index - 3, 0), index).map(textOf)
    if (sign !== '=' || !/^(where|and|on)$/.test(start ?? '') || !name) return
    const clause = this.clause === 'on' ? this.references.length - 1 : this.clause
    if (clause === 'where' || typeof clause === 'number')
      this.conditions.push({ column: name, query: this.query, clause })
  }

  missing(): Missing[] {
    const unbound = this.references.filter((reference) => !this.isBound(reference))
    return [...this.wrong, ...unbound.map(({ table, alias }) => ({ table, why: `as ${alias}` }))]
  }

  private isBound({ table, alias, query, join }: Reference): boolean {
    const column = this.tables.get(table) ?? 'organization_id'
    return this.conditions.some(
      (one) =>
        one.query === query &&
        (one.clause === 'where' || one.clause === join) &&
        (one.column === `${alias}.${column}` || one.column === column) &&
        !this.has_or.has(`${one.query} ${one.clause}`),
    )
  }

  private place(): string {
    return `${this.query} ${this.clause === 'on' ? this.references.length - 1 : this.clause}`
  }
}

/** The row's organization is the parameter, in `values` and in `select`. Rows that the program makes are not read. */
function missingInInsert(tokens: Token[], index: number, table: string, tables: TenantTables): Missing[] {
  if (tables.get(table) === 'id') return []
  const rest = tokens.slice(index + 1)
  const columns = rest.find((token) => token.kind === 'group')
  const place = columns ? itemsOf(columns.tokens).findIndex(([name]) => textOf(name) === 'organization_id') : -1
  if (place < 0)
    return rest.some((token) => token.kind === 'value' && /^(\w+\.)?sql\(/.test(token.text))
      ? []
      : [{ table, why: 'insert' }]
  const after = rest.slice(rest.indexOf(columns!) + 1)
  const rows = textOf(after[0]) === 'values' ? valuesOf(after.slice(1)) : [selectedBy(after)]
  const is_given = rows.every((row) => {
    const [item] = itemsOf(row)[place] ?? []
    return item?.kind === 'value' && ORGANIZATION.test(item.text)
  })
  return is_given && rows.length > 0 ? [] : [{ table, why: 'insert' }]
}

function valuesOf(tokens: Token[]): Token[][] {
  const end = tokens.findIndex((token) => token.kind === 'word')
  const rows = tokens.slice(0, end < 0 ? undefined : end)
  return rows.flatMap((token) => (token.kind === 'group' ? [token.tokens] : []))
}

function selectedBy([first, ...tokens]: Token[]): Token[] {
  if (textOf(first) !== 'select') return []
  const end = tokens.findIndex((token) => /^(from|where|returning|on)$/.test(textOf(token)))
  return tokens.slice(0, end < 0 ? undefined : end)
}

function isQuery({ tokens: [first] }: Group): boolean {
  return QUERY.test(textOf(first))
}

function nameIn(text: string): string {
  return text.replace(/^public\./, '')
}

/** The outermost function with a name. */
function functionAround(node: ts.Node): string {
  let name = ''
  for (let at: ts.Node | undefined = node.parent; at; at = at.parent) {
    if (ts.isFunctionLike(at) && 'body' in at && !nameOf(at).includes(' ')) name = nameOf(at)
  }
  return name
}
