/**
 * Declarations: what a route says of itself in its `detail`, beside its path. Authentication, idempotency and the
 * OpenAPI document read it here, so that nothing else has to be changed for a new route.
 */
import type { TSchema } from '@sinclair/typebox'
import type { AnyElysia } from 'elysia'
import type { ErrorCode } from '../../base/errors'
import type { Permission, Standing } from './permissions'
import { isPathName } from './resources'

/**
 * The access that a route asks of its caller. With a permission, `member`, `admin` or `customer` the request acts in an
 * organization.
 * - a permission: in that organization, by role
 * - `member`, `admin`: the same, and only for people who signed in, whatever other kinds of callers there are
 * - `customer`: the same, and only for contacts with a token
 * - `account`: an access token; it is about the caller's own account
 * - `anyone`: nothing
 */
type Access = Permission | Standing | 'account' | 'anyone'

/**
 * The way in which a POST gives a repeated Idempotency-Key its first answer.
 * - `with the change`: the handler only writes to the database. It runs inside one transaction, which stores the
 *   answer.
 * - `by its command`: the command waits for something before or after its one transaction. The result of that
 *   transaction is the `data` of its answer, and the transaction stores it. A request with a key fails if that does not
 *   hold.
 * - `afterwards`: the handler sends something or stores bytes. Its answer is stored when it has returned; after a crash
 *   before that it runs again.
 * - `never`: the key is ignored.
 */
type Idempotency = 'with the change' | 'by its command' | 'afterwards' | 'never'

type Deprecation = { since: string; sunset: string }

type OtherAccess = Permission | 'member' | readonly Permission[]

/** The fields of `detail` besides OpenAPI's own words. */
export type Declared = {
  /** One sentence about the whole section, beside its tag. */
  about?: string
  permission?: Access
  /** Other permissions, of which each is enough; with `member` the command judges what a person may do. */
  or_permission?: OtherAccess
  /** Other permissions that are all needed, too. */
  and_permission?: Permission | readonly Permission[]
  /** Errors that follow from neither the path, nor the permission, nor the models: what the command finds. */
  codes?: readonly ErrorCode[]
  /** The same for ids that are not in the path, which are 422. */
  codes_422?: readonly ErrorCode[]
  /** Needed by every POST in an organization. */
  idempotency?: Idempotency
  /** A repeated Idempotency-Key gets the first answer although the request has removed what its path names. */
  removes_path?: true
  /** The command compares the header If-Match itself, behind locks of its own. So a POST can heed it. */
  if_match?: 'by its command'
  /** The route takes a request without a body for one with an empty object. */
  has_optional_body?: true
  /** A route about the own account that sessions of an identity provider may call, too. */
  is_for_providers?: true
  /** It only reads although it is no GET, and is bounded like one; `dry run`: when body or query asks for that. */
  reads?: true | 'dry run'
  /** The media type of the file that it answers in place of JSON when a parameter asks for it. */
  file?: 'text/csv'
  /** The days from which the route is deprecated, and from which it may be gone: at least 12 months later. */
  deprecation?: Deprecation
  /** Admits callers with a signed link instead of a token. @returns the organization that the link vouches for */
  link?: (url: string) => string | undefined
}

// With this, a wrong word in a route's `detail` does not compile.
declare module 'elysia' {
  interface DocumentDecoration extends Declared {}
}

export type Declaration = {
  permission: Access
  or_permission?: OtherAccess
  and_permission?: Permission | readonly Permission[]
  removes_path?: true
  if_match?: 'by its command'
  reads?: true | 'dry run'
  /** `never` for all that is no POST. */
  idempotency: Idempotency
  link?: (url: string) => string | undefined
  deprecation?: Deprecation
  /** The body, by its declared media type. */
  body: 'json' | 'form' | 'bytes'
  /** The model of a JSON body. */
  model?: TSchema
  has_optional_body: boolean
  is_for_providers: boolean
  /** The status of its answer when nothing goes wrong. */
  success: number
  /** A PUT that answers 201 when it has made what it names, and 200 when it has changed it. */
  may_create?: boolean
}

/** By method and pattern of the path, such as `GET /api/v1/labels/:label_id`. */
export type Declarations = Map<string, Declaration>

/** Tells whether requests of a route act in an organization. */
export function isInOrganization(permission: Access | undefined): permission is Permission | Standing {
  return permission !== undefined && permission !== 'anyone' && permission !== 'account'
}

/**
 * Fills `declarations` with what all routes of `app` declare.
 * @throws Error with one line for the first route that declares too little, or has an unknown id in its path
 */
export function readDeclarations(app: AnyElysia, declarations: Declarations): void {
  for (const { method, path, hooks } of app.routes) {
    const name = `${method} ${path}`
    const detail: Detail = hooks.detail ?? {}
    const fault = detailFault(method, path, detail)
    if (fault) throw new Error(`the route ${name} ${fault}`)
    const { permission, idempotency = 'never', has_optional_body = false, is_for_providers = false } = detail
    const { or_permission, and_permission, removes_path, if_match, reads, link, deprecation } = detail
    const [body, success] = [bodyOf(detail), successOf(hooks.response)]
    const model = hooks.body as TSchema | undefined
    const may_create = method === 'PUT' && success === 201 ? true : undefined
    const said = { or_permission, and_permission, removes_path, if_match, reads, link, deprecation }
    const plain = { ...said, has_optional_body, may_create }
    declarations.set(name, { ...plain, permission: permission!, idempotency, body, model, success, is_for_providers })
  }
}

/**
 * Finds what the route of a request declares.
 * @param route the pattern of its path
 * @throws Error when `app` got the route after its declarations were read
 */
export function declarationOf(declarations: Declarations, method: string, route: string): Declaration {
  const found = declarations.get(`${method === 'HEAD' ? 'GET' : method} ${route}`)
  if (!found) throw new Error(`the route ${method} ${route} has not been declared`)
  return found
}

/** Finds the pattern of a path; null when no route has it. */
export function routeOf(declarations: Declarations, method: string, pathname: string): string | null {
  const parts = pathname.split('/')
  const prefix = `${method === 'HEAD' ? 'GET' : method} `
  const names = [...declarations.keys()]
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
  const found = names.filter((name) => {
    const wanted = name.split('/')
    return (
      wanted.length === parts.length && wanted.every((part, index) => part === parts[index] || part.startsWith(':'))
    )
  })
  // A path with fewer parameters is more exact: the `summary` of `/time-entries/summary` is not an id.
  return found.sort((a, b) => a.split(':').length - b.split(':').length)[0] ?? null
}

type Detail = Declared & { hide?: boolean; summary?: string; requestBody?: { content?: Record<string, unknown> } }

function detailFault(method: string, path: string, detail: Detail): string | undefined {
  const { hide, summary, permission, idempotency, deprecation } = detail
  if (!permission) return 'declares no permission in its detail'
  if (!hide && !summary) return 'declares no summary in its detail'
  if (deprecation && !isLongEnough(deprecation)) return 'is deprecated for less than 12 months'
  const needs_idempotency = method === 'POST' && isInOrganization(permission)
  if (needs_idempotency && !idempotency) return 'declares no idempotency in its detail'
  if (!needs_idempotency && idempotency) return 'declares an idempotency: only a POST in an organization has one'
  if (!isInOrganization(permission)) return undefined
  const unknown = [...path.matchAll(/:(\w+)/g)].find(([, id]) => !isPathName(id!))
  return unknown && `names ${unknown[1]} in its path, which http/request/resources.ts does not know`
}

function isLongEnough({ since, sunset }: Deprecation): boolean {
  const end = new Date(since)
  end.setUTCFullYear(end.getUTCFullYear() + 1)
  return new Date(sunset) >= end
}

/**
 * The higher 2xx where there are two: the 200 of a dry run changes nothing.
 * @param response the models of the answers by their status, or the model of a 200
 */
function successOf(response: unknown): number {
  const statuses = Object.keys(response ?? {}).map(Number)
  return statuses.findLast((status) => status >= 200 && status < 300) ?? 200
}

function bodyOf({ requestBody }: Detail): Declaration['body'] {
  const [type = 'application/json'] = Object.keys(requestBody?.content ?? {})
  if (type === 'multipart/form-data') return 'form'
  return type === 'application/json' ? 'json' : 'bytes'
}
