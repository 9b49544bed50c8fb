/**
 * Nothing that a client of the last release may rely on is gone (`guide/api.md`, "What stays, and what may go"). Its
 * document was kept by `support/keep-document.ts`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { api, startApi, stopApi } from '../support/api'
import { breaksBetween, type Document } from '../support/document-breaks'

/** Breaks that are meant, and why. They go when the next release is kept. */
const ON_PURPOSE: Record<string, string> = {
  'POST /api/v1/mailboxes/{mailbox_id}/inlet: security: needs inbound_messages:write':
    'Security: who opens an inlet brings mail in, which the other permission alone allows',
  'DELETE /api/v1/mailboxes/{mailbox_id}/inlet: security: needs inbound_messages:write':
    'Security: who ends an inlet keeps mail out',
}

beforeAll(() => startApi())
afterAll(stopApi)

test('the document breaks no client of the last release, but for what is listed', async () => {
  const file = path.join(import.meta.dir, 'released-document.json.gz')
  const released = JSON.parse(gunzipSync(readFileSync(file)).toString())
  const present = await (await api().handle(new Request('http://localhost/swagger/json'))).json()
  expect(Object.keys(released.paths).length).toBeGreaterThan(110)
  expect(breaksBetween(released, present)).toEqual(Object.keys(ON_PURPOSE))
})

describe('a break is named:', () => {
  const label = {
    type: 'object',
    required: ['id', 'name'],
    properties: {
      id: { type: 'string', format: 'uuid' },
      name: { type: 'string' },
      kind: { type: 'string', enum: ['plain', 'loud'] },
      uses: { type: ['integer', 'null'] },
      owner: { anyOf: [{ type: 'object', properties: { email: { type: 'string' } } }, { type: 'null' }] },
    },
  }
  const body = {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 64 },
      kind: { type: 'string', enum: ['plain', 'loud'] },
      uses: { type: ['integer', 'null'] },
      tags: { type: 'array', items: { type: 'string' }, maxItems: 10 },
      code: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    },
  }
  const failed = {
    type: 'object',
    properties: { error: { type: 'object', properties: { code: { enum: ['A', 'B'] } } } },
  }
  const json = (schema: object) => ({ content: { 'application/json': { schema } } })
  const document = {
    paths: {
      '/labels': {
        get: {
          security: [{ bearer: [] }, { apiKey: ['labels:read'] }],
          parameters: [
            { $ref: '#/components/parameters/Organization' },
            { name: 'sort', in: 'query', schema: { type: 'string', enum: ['name', 'uses'] } },
          ],
          responses: { 200: json({ type: 'array', items: { $ref: '#/components/schemas/Label' } }) },
        },
        post: {
          parameters: [],
          requestBody: { required: false, ...json(body) },
          responses: { 201: json(label), 422: { $ref: '#/components/responses/A.B' } },
        },
      },
    },
    components: {
      schemas: { Label: label },
      responses: { 'A.B': json(failed) },
      parameters: { Organization: { name: 'X-Organization-Id', in: 'header', schema: { type: 'string' } } },
    },
  }

  /** The faults after the text of the document was changed. */
  function faultsAfter(...changes: [before: string, after: string][]): string[] {
    let text = JSON.stringify(document)
    for (const [before, after] of changes) {
      expect(text).toContain(before)
      text = text.replace(before, after)
    }
    return breaksBetween(document as unknown as Document, JSON.parse(text))
  }
  const LABEL = '"Label":{"type":"object","required":["id","name"],"properties":{'
  const BODY = '"schema":{"type":"object","required":["name"],"properties":{'

  test.each<[string, [string, string][], string]>([
    ['an operation that is gone', [['"get":', '"put":']], 'GET /labels: the operation is gone'],
    ['a path that is gone', [['"/labels":', '"/marks":']], 'GET /labels: the operation is gone'],
    ['a parameter that is gone', [['"name":"sort"', '"name":"order"']], 'GET /labels: query sort: is gone'],
    [
      'a parameter that must be there',
      [['"name":"sort",', '"name":"sort","required":true,']],
      'GET /labels: query sort: must be there',
    ],
    [
      'a word that a parameter takes no more',
      [['["name","uses"]', '["name"]']],
      'GET /labels: query sort: takes no "uses"',
    ],
    [
      'a header that must be there',
      [['"name":"X-Organization-Id",', '"name":"X-Organization-Id","required":true,']],
      'GET /labels: header X-Organization-Id: must be there',
    ],
    ['a key that needs more', [['["labels:read"]', '["labels:read","x:read"]']], 'GET /labels: security: needs x:read'],
    ['keys that are refused', [[',{"apiKey":["labels:read"]}', '']], 'GET /labels: security: apiKey is refused'],
    ['a status that is gone', [['"201":', '"202":']], 'POST /labels: 201: is gone'],
    ['a code that is gone', [['["A","B"]', '["A"]']], 'POST /labels: 422: B is gone'],
    ['all codes of a status', [['"422":', '"409":']], 'POST /labels: 422: A is gone'],
    ['a field of an answer that is gone', [[`${LABEL}"id":`, `${LABEL}"key":`]], 'GET /labels: 200/-/id: is gone'],
    [
      'a field that may be missing',
      [['"required":["id","name"]', '"required":["id"]']],
      'POST /labels: 201/name: may be missing',
    ],
    [
      'a field that may be null',
      [[`"name":{"type":"string"}`, '"name":{"type":["string","null"]}']],
      'POST /labels: 201/name: may be null',
    ],
    [
      'another type of a field',
      [['"uses":{"type":["integer","null"]},"owner"', '"uses":{"type":["number","null"]},"owner"']],
      'POST /labels: 201/uses: may be number',
    ],
    [
      'a list of words that is open',
      [
        [
          '"enum":["plain","loud"]},"uses":{"type":["integer","null"]},"owner"',
          '"x":1},"uses":{"type":["integer","null"]},"owner"',
        ],
      ],
      'POST /labels: 201/kind: may be other than the words of its list',
    ],
    ['another format of a field', [['"format":"uuid"', '"format":"uri"']], 'POST /labels: 201/id: is no uuid'],
    ['a field of a nullable object', [['"email":', '"mail":']], 'POST /labels: 201/owner/email: is gone'],
    ['a body that must be there', [['"required":false,', '']], 'POST /labels: body: must be there'],
    [
      'a media type that is gone',
      [
        [
          '"requestBody":{"required":false,"content":{"application/json"',
          '"requestBody":{"required":false,"content":{"text/csv"',
        ],
      ],
      'POST /labels: body: application/json is gone',
    ],
    ['a field of a body that is gone', [[`${BODY}"name":`, `${BODY}"title":`]], 'POST /labels: body/name: is gone'],
    [
      'a new field that a body must have',
      [['"required":["name"]', '"required":["name","owner_id"]']],
      'POST /labels: body/owner_id: must be there',
    ],
    [
      'a field that a body must have now',
      [['"required":["name"]', '"required":["name","kind"]']],
      'POST /labels: body/kind: must be there',
    ],
    [
      'a word that a body takes no more',
      [
        [
          '"enum":["plain","loud"]},"uses":{"type":["integer","null"]},"tags"',
          '"enum":["plain"]},"uses":{"type":["integer","null"]},"tags"',
        ],
      ],
      'POST /labels: body/kind: takes no "loud"',
    ],
    [
      'a list of words for what was free',
      [['"items":{"type":"string"}', '"items":{"type":"string","enum":["a"]}']],
      'POST /labels: body/tags/-: takes only words of a list',
    ],
    [
      'a type that a body takes no more',
      [['"uses":{"type":["integer","null"]},"tags"', '"uses":{"type":"integer"},"tags"']],
      'POST /labels: body/uses: takes no null',
    ],
    [
      'a form that a body takes no more',
      [['"code":{"anyOf":[{"type":"string"},{"type":"number"}]}', '"code":{"type":"string"}']],
      'POST /labels: body/code: takes no number',
    ],
    ['a tighter limit', [['"maxItems":10', '"maxItems":5']], 'POST /labels: body/tags: maxItems is 5'],
    ['a higher least', [['"minLength":1', '"minLength":2']], 'POST /labels: body/name: minLength is 2'],
    ['a pattern', [['"minLength":1', '"minLength":1,"pattern":"^a"']], 'POST /labels: body/name: must match ^a'],
    [
      'a format of a body',
      [['"minLength":1', '"minLength":1,"format":"email"']],
      'POST /labels: body/name: must be email',
    ],
  ])('%s', (_, changes, fault) => {
    expect(faultsAfter(...changes)).toContain(fault)
  })

  test.each<[string, [string, string][]]>([
    ['the same', []],
    ['a new operation', [['"get":', '"put":{"responses":{}},"get":']]],
    ['a parameter more', [['{"name":"sort"', '{"name":"q","in":"query","schema":{}},{"name":"sort"']]],
    ['a field more of an answer', [[LABEL, `${LABEL}"color":{"type":"string"},`]]],
    [
      'a word more of an answer and of a body',
      [
        ['["plain","loud"]', '["plain","loud","x"]'],
        ['["plain","loud"]', '["plain","loud","x"]'],
        ['["plain","loud"]', '["plain","loud","x"]'],
      ],
    ],
    ['a field more that a body may have', [[BODY, `${BODY}"color":{"type":"string"},`]]],
    ['a looser limit', [['"maxItems":10', '"maxItems":20']]],
    [
      'a body that takes more',
      [['"uses":{"type":["integer","null"]},"tags"', '"uses":{"type":["number","null"]},"tags"']],
    ],
    [
      'a field that is never null any more',
      [['"uses":{"type":["integer","null"]},"owner"', '"uses":{"type":"integer"},"owner"']],
    ],
    ['a code more', [['["A","B"]', '["A","B","C"]']]],
    ['less that a key needs', [['["labels:read"]', '[]']]],
  ])('%s is none', (_, changes) => {
    expect(faultsAfter(...changes)).toEqual([])
  })
})
