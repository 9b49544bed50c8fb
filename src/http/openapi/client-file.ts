/** The typed client as one file: its licence, the types of this version, and what `deskwire*.mts` do with them. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { version } from '../../../package.json'
import { clientTypes, type TypedDocument } from './client-types'

/** The service has no licence yet: this one is of the file alone. */
const LICENCE = `/*
 * A client of the API of Deskwire ${version} for programs: typed requests with an API key, repeated safely, walks
 * through lists, all events as they happen, and the check of webhooks. The service serves it at /client.ts. It needs
 * the package openapi-fetch, and runs where \`fetch\` and Web Crypto are: Node.js 20, Bun, Deno, workers.
 *
 * SPDX-License-Identifier: MIT
 * Copyright (c) the authors of Deskwire
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
 * documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
 * rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to
 * permit persons to whom the Software is furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all copies or substantial portions of
 * the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO
 * THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
 * TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 */
`

/** The last one uses what stands before it. */
const PARTS = ['deskwire-events', 'deskwire']

/** Makes the file. @param document as JSON */
export async function clientFile(document: string): Promise<string> {
  const texts = await Promise.all(PARTS.map((name) => readFile(pathOf(name), 'utf8')))
  const parts = texts.map((text) => text.replace(/^import [^\n]* from '\.\/.*\n|^export {.*}\n/gm, ''))
  // Imports stand at the top.
  const imports = parts.join('').match(/^import .*\n/gm) ?? []
  const code = parts.map((text) => text.replace(/^import .*\n/gm, ''))
  return [LICENCE, imports.join(''), ...code, clientTypes(JSON.parse(document) as TypedDocument)].join('\n')
}

function pathOf(name: string): string {
  return fileURLToPath(import.meta.resolve(`../../${name}.mts`))
}
