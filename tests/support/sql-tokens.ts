/** Cuts SQL templates into words, values and groups in brackets. */
import ts from 'typescript-5'

/** A value is a `${…}`: its text is that of the expression. A group is what stands between brackets. */
export type Token = { kind: 'word' | 'sign' | 'value'; text: string } | Group
export type Group = { kind: 'group'; tokens: Token[] }

/** Tokens of a template or string, in one group without brackets of its own. */
export function readTemplate(node: ts.TemplateLiteral): Group {
  const flat = tokensOf(node)
  const root: Group = { kind: 'group', tokens: [] }
  const open = [root]
  for (const token of flat) {
    const inner = open.at(-1)!
    if (token.kind === 'sign' && token.text === '(') {
      const group: Group = { kind: 'group', tokens: [] }
      inner.tokens.push(group)
      open.push(group)
    } else if (token.kind === 'sign' && token.text === ')') {
      // A part of a statement may close what another one opened.
      if (open.length > 1) open.pop()
    } else inner.tokens.push(token)
  }
  return root
}

/** The parts of a group between its commas. */
export function itemsOf(tokens: Token[]): Token[][] {
  const items: Token[][] = [[]]
  for (const token of tokens) {
    if (textOf(token) === ',') items.push([])
    else items.at(-1)!.push(token)
  }
  return items
}

/** The word or sign; empty for a value or a group. */
export function textOf(token: Token | undefined): string {
  return token?.kind === 'word' || token?.kind === 'sign' ? token.text : ''
}

function tokensOf(node: ts.TemplateLiteral): Exclude<Token, Group>[] {
  if (ts.isNoSubstitutionTemplateLiteral(node)) return wordsOf(node.text)
  return [
    ...wordsOf(node.head.text),
    ...node.templateSpans.flatMap(({ expression, literal }) => [...partOf(expression), ...wordsOf(literal.text)]),
  ]
}

/** Conditions that the same file holds under a name, or returns from a function, are read in their place. */
function partOf(expression: ts.Expression): Exclude<Token, Group>[] {
  const name = ts.isCallExpression(expression) ? expression.expression : expression
  const held = ts.isIdentifier(name) ? templateOf(declarationOf(name)) : undefined
  // A part with tables is judged where it is written.
  return held && !/\b(from|join)\b/.test(held.getText())
    ? tokensOf(held)
    : [{ kind: 'value', text: expression.getText() }]
}

/** The nearest variable or function of that name. */
function declarationOf(name: ts.Identifier): ts.Node | undefined {
  for (let node: ts.Node = name; node; node = node.parent) {
    if (!ts.isBlock(node) && !ts.isSourceFile(node)) continue
    for (const statement of node.statements) {
      if (ts.isFunctionDeclaration(statement) && statement.name?.text === name.text) return statement.body
      if (!ts.isVariableStatement(statement)) continue
      const found = statement.declarationList.declarations.find((one) => one.name.getText() === name.text)
      if (found) return found.initializer
    }
  }
  return undefined
}

/** The template that a declaration ends with. */
function templateOf(node: ts.Node | undefined): ts.TemplateLiteral | undefined {
  if (!node) return undefined
  if (ts.isTaggedTemplateExpression(node)) return node.template
  if (ts.isArrowFunction(node)) return templateOf(node.body)
  const last = ts.isBlock(node) ? node.statements.at(-1) : undefined
  return last && ts.isReturnStatement(last) ? templateOf(last.expression) : undefined
}

/** `a.b` is one word. Quoted text is a sign. */
function wordsOf(text: string): Exclude<Token, Group>[] {
  const found = text.matchAll(/--.*|'(?:[^']|'')*'|("?[a-z_]\w*"?(?:\."?[a-z_]\w*"?)*)|<=|>=|<>|!=|::|[^\s]/gi)
  return [...found].flatMap(([all, word]) => {
    if (all.startsWith('--')) return []
    return word
      ? { kind: 'word' as const, text: word.toLowerCase().replaceAll('"', '') }
      : { kind: 'sign' as const, text: all }
  })
}
