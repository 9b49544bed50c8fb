/**
 * `bun run client FOLDER`: writes a typed client of this version of the API into a folder. `schema.ts` has the types,
 * made from the OpenAPI document; `deskwire.ts` and `deskwire-events.ts` are copies of the `.mts` files here.
 * No service needs to run.
 *
 * openapi-typescript is needed here alone, and so it is a development dependency: run this in a checkout with all
 * dependencies. A program with the client needs the package openapi-fetch at run time, and nothing else.
 */
import fs from 'node:fs'
import path from 'node:path'
import { plugin } from 'bun'
import ts from 'typescript-5'

const TYPES = 'schema.ts'
/** Here they are not `.ts`: they import the types, which only their copies have beside them. */
const COPIED = ['deskwire', 'deskwire-events']

const [folder, ...more] = process.argv.slice(2)
if (!folder || more.length > 0 || folder.startsWith('-')) {
  console.error('usage: bun run client FOLDER')
  process.exit(2)
}

fs.mkdirSync(folder, { recursive: true })
fs.writeFileSync(path.join(folder, TYPES), await typesOf(await readDocument()))
for (const name of COPIED) {
  fs.copyFileSync(path.join(import.meta.dirname, `${name}.mts`), path.join(folder, `${name}.ts`))
}
for (const file of [TYPES, ...COPIED.map((name) => `${name}.ts`)]) console.log(path.join(folder, file))
console.log('Install what the client needs at run time: npm install openapi-fetch')
process.exit(0)

/** The document as `/swagger/json` serves it. */
async function readDocument(): Promise<string> {
  // Imported here, because the settings are read when the app is loaded.
  process.env.SWAGGER = 'on'
  process.env.LOG_LEVEL ??= 'warn'
  const { createApp } = await import('./app')
  const answer = await createApp(async () => true).handle(new Request('http://localhost/swagger/json'))
  if (!answer.ok) throw new Error(`the document was answered ${answer.status}`)
  return answer.text()
}

/** The types of a document, as TypeScript. */
async function typesOf(document: string): Promise<string> {
  // The generator prints with the compiler's API, which the native TypeScript does not have.
  plugin({
    name: 'typescript with an API',
    setup(build) {
      build.module('typescript', () => ({ exports: { default: ts, ...ts }, loader: 'object' }))
    },
  })
  const { astToString, default: generate } = await import('openapi-typescript')
  return `/** Types of the Deskwire API, made by \`bun run client\`. */\n\n${astToString(await generate(document))}`
}
