/** Reads source files without running them: their imports, exports and functions. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript-5'

/** `names` are those that the importing file takes; undefined when it takes everything. */
export type Import = { from: string; to: string; is_type: boolean; names: string[] | undefined }
export type SourceFunction = { name: string; lines: number }
export type Source = { text: string; lines: number; imports: Import[]; functions: SourceFunction[]; exported: string[] }

/**
 * Every TypeScript and .mjs file of a folder, declarations excepted, by its path without folder and `.ts` or `.tsx`.
 * Own files are imported by that name, packages as they are written.
 */
export function readSources(folder: string): Map<string, Source> {
  const files = [...new Bun.Glob('**/*.{ts,tsx,mjs}').scanSync(folder)].filter((file) => !file.endsWith('.d.ts')).sort()
  return new Map(
    files.map((file) => [file.replace(/\.tsx?$/, ''), readSource(file, readFileSync(path.join(folder, file), 'utf8'))]),
  )
}

/** Parses the text when something is asked that needs it: most tests only search it. */
export function readSource(file: string, text: string): Source {
  let parsed: Pick<Source, 'imports' | 'functions' | 'exported'> | undefined
  const parse = () => (parsed ??= parseSource(file, text))
  return {
    text,
    lines: text.trimEnd().split('\n').length,
    get imports() {
      return parse().imports
    },
    get functions() {
      return parse().functions
    },
    get exported() {
      return parse().exported
    },
  }
}

function parseSource(file: string, text: string) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const from = file.replace(/\.tsx?$/, '')
  const nodes = nodesOf(source)
  const imports = nodes.flatMap((node) => importOf(node, from) ?? [])
  const functions = nodes.flatMap((node) => functionOf(node, source) ?? [])
  return { imports, functions, exported: source.statements.flatMap(exportsOf) }
}

/**
 * The text of each comment that has lines to itself, without its marks; lines with `//` that follow each other are one.
 */
export function commentsOf(text: string): string[] {
  const found = text.matchAll(/^[ \t]*(?:\/\*\*([\s\S]*?)\*\/|((?:\/\/.*\n\s*)+))/gm)
  return [...found].map(([, block, lines]) => (block ?? lines!).replace(/^\s*(\*|\/\/)\s?/gm, '').trim())
}

/** A node and all that is in it. */
export function nodesOf(node: ts.Node, found: ts.Node[] = []): ts.Node[] {
  found.push(node)
  ts.forEachChild(node, (child) => void nodesOf(child, found))
  return found
}

/** `import`, `export … from`, `import('…')` as a call and as a type, `require('…')` and that of `createRequire`. */
function importOf(node: ts.Node, from: string): Import | undefined {
  const found = (specifier: ts.Node | undefined, is_type: boolean, names?: string[]) => {
    if (!specifier || !ts.isStringLiteralLike(specifier)) return undefined
    const { text } = specifier
    return { from, to: text.startsWith('.') ? path.join(path.dirname(from), text) : text, is_type, names }
  }
  if (ts.isImportDeclaration(node)) {
    return found(node.moduleSpecifier, isTypeImport(node.importClause), takenBy(node.importClause?.namedBindings))
  }
  if (ts.isExportDeclaration(node)) return found(node.moduleSpecifier, node.isTypeOnly, takenBy(node.exportClause))
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    return found(node.argument.literal, true, node.qualifier && [node.qualifier.getText()])
  }
  if (ts.isCallExpression(node) && isLoader(node.expression)) return found(node.arguments[0], false)
  return undefined
}

function isLoader(callee: ts.Expression): boolean {
  if (ts.isCallExpression(callee)) return callee.expression.getText() === 'createRequire'
  return callee.kind === ts.SyntaxKind.ImportKeyword || callee.getText() === 'require'
}

function takenBy(names: ts.NamedImportBindings | ts.NamedExportBindings | undefined): string[] | undefined {
  if (!names || !('elements' in names)) return undefined
  return names.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
}

function isTypeImport(clause: ts.ImportClause | undefined): boolean {
  if (!clause || clause.isTypeOnly) return clause !== undefined
  const names = clause.namedBindings
  if (clause.name || !names || !ts.isNamedImports(names)) return false
  return names.elements.length > 0 && names.elements.every((one) => one.isTypeOnly)
}

/** Lines of a function from its first to its last, without its comment; those of functions within it count too. */
function functionOf(node: ts.Node, source: ts.SourceFile): SourceFunction | undefined {
  if (!ts.isFunctionLike(node) || !('body' in node) || !node.body) return undefined
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line
  return { name: nameOf(node), lines: lineOf(node.getEnd()) - lineOf(node.getStart()) + 1 }
}

/** The name of a function, or what it is held by. */
export function nameOf(node: ts.SignatureDeclaration): string {
  const { parent } = node
  const is_value =
    ts.isVariableDeclaration(parent) || ts.isPropertyDeclaration(parent) || ts.isPropertyAssignment(parent)
  const name = node.name ?? (is_value ? parent.name : undefined)
  return name?.getText() ?? (ts.isConstructorDeclaration(node) ? 'constructor' : 'a function without a name')
}

/**
 * Names that a statement of the top level exports under `export const`, `function`, `class`, `type`, or `export { … }`.
 */
function exportsOf(statement: ts.Statement): string[] {
  if (ts.isExportDeclaration(statement)) {
    const clause = statement.exportClause
    return clause && ts.isNamedExports(clause) ? clause.elements.map(({ name }) => name.text) : []
  }
  const is_exported =
    ts.canHaveModifiers(statement) &&
    ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  if (!is_exported) return []
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) => namesOf(name))
  }
  const { name } = statement as ts.Statement & { name?: ts.Node }
  return name && ts.isIdentifier(name) ? [name.text] : []
}

function namesOf(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text]
  return name.elements.flatMap((one) => (ts.isBindingElement(one) ? namesOf(one.name) : []))
}
