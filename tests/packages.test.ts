/** The packages that the service is asked to be made of: declared for production, and imported for what each is for. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { dependencies } from '../package.json'
import { readSources } from './support/sources'

const ROOT = path.join(import.meta.dir, '..')

/** Each package with a file that does with it what it is there for, and names that this file takes. */
const PURPOSES: Record<string, [use: string, file: string, names: string[]]> = {
  elysia: ['the HTTP app', 'app', []],
  '@elysiajs/jwt': ['access tokens', 'http/admission/tokens', ['jwt']],
  '@elysiajs/swagger': ['the OpenAPI document', 'http/openapi/document', ['registerSchemaPath']],
  'drizzle-orm': ['statements and tables', 'base/db/driver-client', ['drizzle']],
  postgres: ['the driver', 'base/db/driver-client', []],
  '@sinclair/typebox': ['models', 'desk/labels/model', ['Type']],
  'smtp-server': ['mail that comes in', 'mail/smtp/protocol', ['SMTPServer']],
  mailparser: ['the parts of mail that comes in', 'base/mime/splitter', ['MailParser']],
  nodemailer: ['mail that goes out', 'mail/outbound/transport', ['createTransport']],
  croner: ['the poll of the outbox', 'delivery/outbox/drain', ['Cron']],
}

const sources = readSources(path.join(ROOT, 'src'))

test.each(Object.entries(PURPOSES))('%s is a dependency, and made use of', (name, [, file, names]) => {
  expect(dependencies).toHaveProperty([name])
  const imports = sources.get(file)!.imports.filter(({ to, is_type }) => !is_type && packageOf(to) === name)
  expect(imports).not.toEqual([])
  expect(imports.flatMap((taken) => taken.names ?? [])).toEqual(expect.arrayContaining(names))
})

test('bun-types is a dependency, and the types of the compiler', () => {
  expect(dependencies).toHaveProperty('bun-types')
  const { compilerOptions, include } = JSON.parse(readFileSync(path.join(ROOT, 'tsconfig.json'), 'utf8'))
  expect(compilerOptions.types).toContain('bun-types')
  expect(include).toContain('src')
})

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
