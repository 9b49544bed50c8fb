/** The declarations of routes beside their paths: the start ends when one declares too little. */
import { describe, expect, test } from 'bun:test'
import Elysia, { type DocumentDecoration } from 'elysia'
import { type Declarations, declarationOf, readDeclarations } from '../../src/http/request/declarations'

const LABELS = { summary: 'List labels', permission: 'labels:read' } as const
const CREATE = { summary: 'Create label', permission: 'labels:write', idempotency: 'with the change' } as const

describe('a route', () => {
  test.each<[string, string, string, DocumentDecoration | undefined]>([
    ['GET', '/labels', 'declares no permission in its detail', undefined],
    ['GET', '/labels', 'declares no permission in its detail', { summary: 'List labels' }],
    ['GET', '/healthz', 'declares no permission in its detail', { hide: true }],
    ['GET', '/labels', 'declares no summary in its detail', { permission: 'labels:read' }],
    ['POST', '/labels', 'declares no idempotency in its detail', { ...CREATE, idempotency: undefined }],
    ['GET', '/labels', 'declares an idempotency: only a POST in an organization has one', { ...CREATE }],
    [
      'POST',
      '/login',
      'declares an idempotency: only a POST in an organization has one',
      { ...CREATE, permission: 'anyone' },
    ],
    [
      ...['GET', '/labels', 'is deprecated for less than 12 months'],
      { ...LABELS, deprecation: { since: '2027-01-31', sunset: '2028-01-30' } },
    ] as [string, string, string, DocumentDecoration],
    ['GET', '/labels/:id', 'names id in its path, which http/request/resources.ts does not know', LABELS],
    [
      'GET',
      '/tickets/:ticket_id/x/:x_id',
      'names x_id in its path, which http/request/resources.ts does not know',
      LABELS,
    ],
  ])('%s %s that %s ends the start with a line that says so', (method, path, fault, detail) => {
    const app = new Elysia().route(method, path, () => 'ok', { detail })
    const expected = `the route ${method} ${path} ${fault}`
    expect(() => readDeclarations(app, new Map())).toThrow(new Error(expected))
  })

  test('that declares everything is found by its method and pattern, HEAD as GET', () => {
    const declarations: Declarations = new Map()
    const app = new Elysia({ prefix: '/api' })
      .get('/labels/:label_id', () => 'ok', { detail: LABELS })
      .post('/labels', () => 'ok', { detail: CREATE })
    readDeclarations(app, declarations)
    const read = {
      permission: 'labels:read',
      idempotency: 'never',
      link: undefined,
      body: 'json',
      has_optional_body: false,
      is_for_providers: false,
      success: 200,
    } as const
    expect(declarationOf(declarations, 'GET', '/api/labels/:label_id')).toEqual(read)
    expect(declarationOf(declarations, 'HEAD', '/api/labels/:label_id')).toEqual(read)
    expect(declarationOf(declarations, 'POST', '/api/labels').idempotency).toBe('with the change')
  })

  test('that nobody declared lets nobody in', () => {
    expect(() => declarationOf(new Map(), 'GET', '/labels')).toThrow('the route GET /labels has not been declared')
  })
})
